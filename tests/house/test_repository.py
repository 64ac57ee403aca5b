"""What may stand in the repository: the product, and nothing of the machines and people that made it."""

import re
import tomllib
from pathlib import Path

import strongroom
from strongroom import version
from strongroom.crypto.checksum import has_checksum

Texts = dict[str, str]

# Written with an empty group so that this file does not hold what it looks for.
LOCAL_PATHS = re.compile(r"(?<![\w.])/(?:wo()rk|ro()ot|ho()me/\w+|Us()ers/\w+)/|/tm()p/(?!\w*[{%$])")
REGISTRIES = re.compile(r"py()pi\.org|python()hosted|index-()url|trusted-()host|registry\.n()pmjs|crates\.()io")
NO_INDEX = re.compile("--no-emit-index-()url")
TOKENS = re.compile(r"sr[a-z]{1,2}\d?_[0-9A-Za-z_.-]{8,}")
PRIVATE_KEYS = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?:\\r|\\n|\s)+[A-Za-z0-9+/]{60}")
# Published on purpose: test vectors, and keys that the tests share.
PUBLISHED = ("vectors/", "tests/keys/", "src/strongroom/wire/examples.json")

PINNED = re.compile(r"[a-z0-9][a-z0-9._-]*(?:\[[a-z0-9,._-]+\])?==[0-9][0-9A-Za-z.!+]*(?: ; .+)? \\")
HASH = re.compile(r"    --hash=sha256:[0-9a-f]{64}(?: \\)?")
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
CODE_BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
CODE_SPAN = re.compile(r"`[^`\n]*`")


def hits(texts: Texts, pattern: re.Pattern[str], exempt: tuple[str, ...] = ()) -> list[str]:
    return [
        f"{name}: {m[0]}" for name, text in texts.items() if not name.startswith(exempt) for m in pattern.finditer(text)
    ]


def test_no_path_of_a_machine(texts: Texts) -> None:
    assert hits(texts, LOCAL_PATHS) == []


def test_no_registry_is_named(texts: Texts) -> None:
    # The option that keeps index addresses out of the locks names what it keeps out.
    assert hits({name: NO_INDEX.sub("", text) for name, text in texts.items()}, REGISTRIES) == []


def test_no_credential_that_could_be_real(texts: Texts) -> None:
    found = [
        f"{name}: {token[:8]}..."
        for name, text in texts.items()
        if not name.startswith(PUBLISHED)
        for token in TOKENS.findall(text)
        if has_checksum(token)
    ]
    assert found == []


def test_no_private_key_but_the_published_ones(texts: Texts) -> None:
    assert hits(texts, PRIVATE_KEYS, PUBLISHED) == []


def test_the_rules_find_what_they_look_for() -> None:
    planted = {
        "path": "see /ho" + "me/ada/notes",
        "registry": "https://py" + "pi.org/simple",
        "key": "-----BEGIN RSA " + "PRIVATE KEY-----\n" + "A" * 64,
    }
    assert len(hits(planted, LOCAL_PATHS)) == 1
    assert len(hits(planted, REGISTRIES)) == 1
    assert len(hits(planted, PRIVATE_KEYS)) == 1


def test_locks_are_hashed_pins_and_nothing_else(texts: Texts) -> None:
    locks = {name: text for name, text in texts.items() if name.endswith(".lock")}
    assert set(locks) == {"requirements/service.lock", "requirements/dev.lock"}
    for name, text in locks.items():
        hashed = True
        for line in text.splitlines():
            if line.lstrip().startswith("#"):
                continue
            if HASH.fullmatch(line):
                hashed = True
            else:
                assert PINNED.fullmatch(line), f"{name}: {line}"
                assert hashed, f"{name}: no hash above {line}"
                hashed = False
        assert hashed


def test_service_lock_is_part_of_the_other(texts: Texts) -> None:
    def pins(name: str) -> set[str]:
        # Without the markers: they depend on what else asks for the same package.
        return {line.partition(" ")[0] for line in texts[name].splitlines() if PINNED.fullmatch(line)}

    assert pins("requirements/service.lock") <= pins("requirements/dev.lock")


def test_one_version(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["version"] == strongroom.__version__ == version.__version__
    assert project["version"] in (root / "CHANGELOG.md").read_text("utf-8")


def anchors(text: str) -> set[str]:
    """What the headings of a page can be linked by."""
    found = set()
    for heading in HEADING.findall(CODE_BLOCK.sub("", text)):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower().replace("`", "")
        found.add("".join(c for c in plain.replace(" ", "-") if c.isalnum() or c in "-_"))
    return found


def test_links_lead_somewhere(root: Path, texts: Texts) -> None:
    pages = {name: text for name, text in texts.items() if name.endswith(".md")}
    broken = []
    for name, text in pages.items():
        for target in LINK.findall(CODE_SPAN.sub("", CODE_BLOCK.sub("", text))):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            file = (root / name).parent / path if path else root / name
            page = file.resolve().relative_to(root).as_posix() if file.exists() else None
            if page is None or (anchor and anchor not in anchors(pages.get(page, ""))):
                broken.append(f"{name}: {target}")
    assert broken == []


def test_decisions_are_numbered_without_gaps(root: Path) -> None:
    files = sorted(file.name for file in (root / "docs" / "decisions").glob("*.md"))
    assert [name[:4] for name in files] == [f"{number:04d}" for number in range(1, len(files) + 1)]


def test_the_tree_of_the_architecture_page_is_the_tree(root: Path, texts: Texts) -> None:
    page = texts["ARCHITECTURE.md"]
    tree = page.partition("\n## The tree\n")[2].partition("\n## ")[0]
    named = re.findall(r"^\| `([\w/]+)/` \|", tree, re.MULTILINE)
    package = root / "src" / "strongroom"
    packages = sorted(file.parent.relative_to(package).as_posix() for file in package.glob("*/**/__init__.py"))
    assert sorted(named) == packages, "one line for each package in ARCHITECTURE.md, please"
    known = {Path(name).name for name in texts if name.endswith(".py")}
    assert set(re.findall(r"(\w+\.py)`", page)) - known == set(), "ARCHITECTURE.md names modules that are gone"


def test_every_test_the_threat_model_names_exists(root: Path, texts: Texts) -> None:
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", texts["docs/threat-model.md"])
    assert named
    missing = [
        f"{file}::{test}"
        for file, test in named
        if not (root / "tests" / file).is_file() or f"def {test}(" not in (root / "tests" / file).read_text("utf-8")
    ]
    assert missing == []
