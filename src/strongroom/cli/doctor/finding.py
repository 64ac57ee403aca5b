"""What a check of `strongroom doctor` found."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    ok = "ok"
    warning = "warning"
    failed = "failed"
    skipped = "skipped"


@dataclass(frozen=True, slots=True)
class Finding:
    check: str
    verdict: Verdict
    says: str


def judge(check: str, good: bool, says: str, mend: str = "", *, otherwise: Verdict = Verdict.failed) -> Finding:
    """`ok` with what was seen, or `otherwise` with what was seen and how to mend it."""
    if good:
        return Finding(check, Verdict.ok, says)
    return Finding(check, otherwise, f"{says}: {mend}" if mend else says)


def attempt(check: str, test: Callable[[], str]) -> Finding:
    """`ok` with what the test returns; a test that raises has failed, and only the kind of the error is shown."""
    try:
        return Finding(check, Verdict.ok, test())
    except Exception as error:  # noqa: BLE001  # whatever breaks is what was looked for
        return Finding(check, Verdict.failed, type(error).__name__)
