"""The error tree."""

import pickle
import re

import pytest

from strongroom.client import errors
from strongroom.crypto.errors import StrongroomError
from strongroom.wire.refusal import Fault

NAMES = {name for name, found in vars(errors).items() if isinstance(found, type) and issubclass(found, StrongroomError)}


def test_the_drawn_tree_is_the_tree() -> None:
    drawn = set(re.findall(r"[├└]── (\w+)", errors.__doc__ or ""))
    assert drawn | {"StrongroomError"} == NAMES


def test_the_drawn_depth_is_the_depth() -> None:
    parents: list[str] = ["StrongroomError"]
    for line in (errors.__doc__ or "").splitlines():
        match = re.match(r"([│ ]*)[├└]── (\w+)", line)
        if match is None:
            continue
        depth = len(match[1]) // 4 + 1
        assert getattr(errors, match[2]).__mro__[1].__name__ == parents[depth - 1]
        parents[depth:] = [match[2]]


@pytest.mark.parametrize("code", ["", "A", "1x", "x" * 65, "a b", "a\n", "username_taken\n"])
def test_a_code_outside_its_grammar_is_unknown(code: str) -> None:
    assert errors.ServiceRefused(code, 400).code == "unknown"


def test_what_the_service_says_is_cut_and_made_printable() -> None:
    fault = Fault("x\x1b", "m" * 1000, "/\u202e")
    error = errors.ServiceRefused("not_found", 404, "\x1b]0;x\x07" + "d" * 1000, "\r\n", (fault,) * 100)
    shown = [str(error), error.detail, error.request_id]
    shown += [text for item in error.errors for text in (item.error, item.message, item.pointer or "")]
    assert all(text.isprintable() and len(text) < 400 for text in shown)


@pytest.mark.parametrize(
    "error",
    [
        errors.UsernameTaken("username_taken", 409, "d", "id", (Fault("a", "b"),)),
        errors.ServiceUnavailable("x", retry_after=3.0, status=503),
        errors.ReadBackMismatch("keypair"),
        errors.UnlockRefused("http://localhost"),
        errors.RollbackDetected("an older generation"),
        errors.AccountClosed(),
        errors.SessionRefused(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_cross_process_boundaries_unchanged(error: errors.ClientError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)
