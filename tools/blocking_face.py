"""The client's blocking face, written from its async core so that no signature and no docstring stands twice by hand.

`python -m tools.blocking_face` writes the modules. Every public coroutine of a class becomes an ordinary method that
runs it; where the core has a plain twin (`_seal` for `seal`), which needs no event loop, that one is called.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CLIENT = Path(__file__).parents[1] / "src" / "strongroom" / "client"
PACKAGE = "strongroom.client"
RENAMED = {
    "AsyncStrongroom": "Strongroom",
    "AsyncAccount": "Account",
    "AsyncBaseTransport": "BaseTransport",
    "for asyncio; use it with `async with`.": "for blocking code; use it as a context manager.",
}

Method = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Face:
    """One class of the blocking face, made of the public methods of a class of the core and of its bases."""

    name: str
    core: str
    sources: tuple[str, ...]
    uses: tuple[str, ...] = ()


FACES = {
    "account.py": Face("Account", "AsyncAccount", ("account",)),
    "calls.py": Face("Calls", "AsyncCalls", ("calls.keystore", "calls.vault", "calls.system", "calls")),
    "service.py": Face(
        "Strongroom",
        "AsyncStrongroom",
        ("service",),
        (
            "blocking.account import Account",
            "blocking.calls import Calls",
            "blocking.transport import in_callers_thread",
        ),
    ),
}


def render(name: str) -> str:
    """The text of one module, checked in as `blocking/NAME`."""
    face = FACES[name]
    trees = [_parsed(source) for source in face.sources]
    classes = {node.name: node for tree in trees for node in tree.body if isinstance(node, ast.ClassDef)}
    members = [node for found in classes.values() for node in found.body if isinstance(node, Method)]
    imports = [node for tree in trees for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    used = (f"{face.sources[-1]} import {face.core}", "blocking.background import Background", *face.uses)
    text = "\n".join(
        [
            f'"""`{face.name}`, for blocking code. Written by `make docs` from the async core: change that one."""',
            *(ast.unparse(node) for node in imports),
            *(f"from {PACKAGE}.{line}" for line in used),
            f"@final\nclass {face.name}:",
            _docstring(classes[face.core]),
            *_constructor(face, members),
            "    def __repr__(self) -> str:\n        return repr(self._core).removeprefix('Async')",
            *(line for method in members for line in _method(method, {node.name for node in members})),
        ]
    )
    return _tidy(text)


def _parsed(source: str) -> ast.Module:
    path = CLIENT / source.replace(".", "/")
    text = (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text("utf-8")
    for core, blocking in RENAMED.items():
        text = text.replace(f"-> {core}", f"-> {blocking}").replace(f"httpx.{core}", f"httpx.{blocking}")
        text = text.replace(core, blocking) if " " in core else text
    return ast.parse(text)


def _docstring(node: ast.ClassDef | Method) -> str:
    text = ast.get_docstring(node, clean=False)
    indent = " " * (4 if isinstance(node, ast.ClassDef) else 8)
    return f'{indent}"""{text}"""' if text else ""


def _constructor(face: Face, members: list[Method]) -> Iterator[str]:
    if face.name != "Strongroom":
        yield f"    def __init__(self, core: {face.core}, background: Background) -> None:"
        yield "        self._core = core\n        self._background = background"
        return
    [init] = [member for member in members if member.name == "__init__"]
    arguments = _arguments(init).replace("transport=transport", "transport=in_callers_thread(transport)")
    yield f"    def __init__({ast.unparse(init.args)}) -> None:"
    yield f"        self._core = {face.core}({arguments})"
    yield "        self._background = Background(self._core.close)"
    yield "        self.calls = Calls(self._core.calls, self._background)"
    yield '        """The single calls underneath."""'


def _method(node: Method, names: set[str]) -> Iterator[str]:
    if node.name == "__aenter__":
        yield "    def __enter__(self) -> Self:\n        return self"
    elif node.name == "__aexit__":
        yield f"    def __exit__({ast.unparse(node.args)}) -> None:\n        self.close()"
    elif not node.name.startswith("_"):
        assert node.returns is not None
        returns = ast.unparse(node.returns)
        is_property = any(ast.unparse(decorator) == "property" for decorator in node.decorator_list)
        yield "    @property" if is_property else ""
        yield f"    def {node.name}({ast.unparse(node.args)}) -> {returns}:"
        yield _docstring(node)
        result = f"self._core.{node.name}" + ("" if is_property else f"({_arguments(node)})")
        if f"_{node.name}" in names:
            result = f"self._core._{node.name}({_arguments(node)})  # noqa: SLF001 - it needs no event loop"
        elif node.name == "close" and isinstance(node, ast.AsyncFunctionDef):
            result = "self._background.close()"
        elif isinstance(node, ast.AsyncFunctionDef):
            result = f"self._background.run({result})"
        if returns == "Account":
            result = f"Account({result}, self._background)"
        yield f"        {result}" if returns == "None" else f"        return {result}"


def _arguments(node: Method) -> str:
    plain = [argument.arg for argument in node.args.args if argument.arg != "self"]
    return ", ".join([*plain, *(f"{argument.arg}={argument.arg}" for argument in node.args.kwonlyargs)])


def _tidy(text: str) -> str:
    """Without the imports that nothing uses, and as `ruff format` writes it."""
    for command in (["check", "--fix-only", "--quiet", "--select", "I,F401,F811"], ["format", "--quiet"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--stdin-filename", "src/strongroom/client/blocking/x.py", "-"]
        text = subprocess.run(
            ruff, input=text, capture_output=True, text=True, check=True, cwd=CLIENT.parents[2]
        ).stdout
    return text


if __name__ == "__main__":
    for name in FACES:
        (CLIENT / "blocking" / name).write_text(render(name), "utf-8")
