"""The scalars of YAML: block, plain, single- and double-quoted, folded as other writers fold them."""

import re
from typing import Final

from strongroom.crypto.errors import MalformedArtefacts

# YAML 1.2, 7.3.3: what may start a plain scalar, given that collections, anchors and tags are refused.
_PLAIN: Final = re.compile(r"(?:[^-?:,\[\]{}#&*!|>'\"%@` ]|[-?:](?=[^ ]))[ -~]*")
_PLAIN_BREAK: Final = re.compile(r": | #|:\Z")
_SINGLE: Final = re.compile(r"'((?:[^']|'')*)'")
_DOUBLE: Final = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE: Final = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))")
_SHORT: Final = dict(zip('0abtnvfre "/\\', '\0\a\b\t\n\v\f\r\x1b "/\\', strict=True))


def even_block(lines: list[str], *, folded: bool, chomping: str, indent: str | None) -> str:
    """The text of `|` or `>` whose lines are indented alike; blank ones are allowed at the end only."""
    while lines and not lines[-1].strip(" "):
        lines = lines[:-1]
    if not lines:
        raise MalformedArtefacts
    margin = int(indent) if indent else _indentation(lines[0])
    if margin < 1 or any(line[:margin].strip(" ") or not line[margin:].strip(" ") for line in lines):
        raise MalformedArtefacts
    # Folding keeps the line ends around a line that is indented further: joining it with a space would be misreading.
    if len(lines) > 1 and any(line[margin] == " " for line in lines):
        raise MalformedArtefacts
    text = (" " if folded else "\n").join(line[margin:] for line in lines)
    return text if chomping == "-" else text + "\n"


def literal_block(lines: list[str], *, chomping: str, indent: str | None) -> str:
    """The text of `|`, with any blank and further indented lines in it (YAML 1.2, 8.1)."""
    margin = int(indent) if indent else next((_indentation(line) for line in lines if line.strip(" ")), 0)
    if margin < 1 or any(line[:margin].strip(" ") for line in lines):
        raise MalformedArtefacts
    text = "\n".join(line[margin:] for line in lines)
    content = text.rstrip("\n")
    # Without content the chomping rules differ, and no writer has a field of line ends alone.
    if not content:
        raise MalformedArtefacts
    return {"-": content, "": content + "\n", "+": text + "\n"}[chomping]


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def flow_scalar(lines: list[str]) -> tuple[bool, str]:
    """Whether it is plain, and the text of a scalar that may go on over further indented lines."""
    text = _fold(lines)
    if text[:1] == "'":
        single = _SINGLE.fullmatch(text)
        if single is None:
            raise MalformedArtefacts
        return False, single[1].replace("''", "'")
    if text[:1] == '"':
        double = _DOUBLE.fullmatch(text)
        if double is None:
            raise MalformedArtefacts
        return False, _ESCAPE.sub(_unescape, double[1])
    if _PLAIN.fullmatch(text) is None or _PLAIN_BREAK.search(text):
        raise MalformedArtefacts
    return True, text


def _fold(lines: list[str]) -> str:
    text, blank = lines[0].strip(" "), 0
    for line in lines[1:]:
        content = line.strip(" ")
        if not content:
            blank += 1
            continue
        escaped = text[:1] == '"' and (len(text) - len(text.rstrip("\\"))) % 2 == 1
        if escaped and blank:
            raise MalformedArtefacts
        # A backslash at the end of a line joins without a space; one before a space keeps that space. Each blank line
        # is a line end of the text.
        between = "\n" * blank if blank else " "
        text = text[:-1] + content if escaped else f"{text}{between}{content}" if text else content
        blank = 0
    return text


def _unescape(match: re.Match[str]) -> str:
    code = match[1] or match[2] or match[3]
    if code is not None:
        point = int(code, 16)
        if point > 0x7F:
            raise MalformedArtefacts
        return chr(point)
    short = _SHORT.get(match[4])
    if short is None:
        raise MalformedArtefacts
    return short
