"""Headers of answers: nothing that came in with a request can end a line or make another header."""

import pytest

from strongroom.http.header_lines import CONSTANT, constant, line


def test_a_header_is_written_with_a_name_in_small_letters() -> None:
    assert line(b"X-Request-Id", b"abc \t\xe9") == b"x-request-id: abc \t\xe9\r\n"


@pytest.mark.parametrize("value", [b"a\r\nb: c", b"a\n", b"\r", b"\x00", b"a\x7f", b"\x0b"])
def test_a_value_that_could_end_its_line_is_not_written(value: bytes) -> None:
    with pytest.raises(RuntimeError):
        line(b"x", value)


@pytest.mark.parametrize("name", [b"", b"a b", b"a:", b"a\r\nb", b"a\xe9"])
def test_what_cannot_be_a_name_is_not_written(name: bytes) -> None:
    with pytest.raises(RuntimeError):
        line(name, b"x")


def test_a_constant_is_checked_when_it_is_made() -> None:
    header = constant(b"X-Test", b"1")
    assert CONSTANT.pop(header) == b"x-test: 1\r\n"
    with pytest.raises(RuntimeError):
        constant(b"x-test", b"\r\n")


@pytest.mark.parametrize("name", [b"Content-Length", b"connection", b"Transfer-Encoding"])
def test_what_says_where_an_answer_ends_is_no_constant(name: bytes) -> None:
    with pytest.raises(ValueError, match="one answer"):
        constant(name, b"1")
