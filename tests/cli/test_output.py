"""Data on standard output, messages on standard error, colours only where they belong."""

import io
import sys

import pytest

from strongroom.cli import output


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_colours_only_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert output.style("text", Terminal(), fg="red") != "text"
    assert output.style("text", io.StringIO(), fg="red") == "text"


def test_no_color_is_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert output.style("text", Terminal(), fg="red") == "text"


def test_a_table_lines_up(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_table(("A", "LONG"), [("one", "x"), ("two and more", "y")])
    assert capsys.readouterr().out == "A             LONG\none           x\ntwo and more  y\n"


def test_a_failure_is_one_line_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    output.Failed("it did not work").show()
    caught = capsys.readouterr()
    assert (caught.out, caught.err) == ("", "strongroom: it did not work\n")


def test_a_failure_takes_the_place_of_a_progress_line(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    output.Failed("it did not work").show()
    assert terminal.getvalue().startswith("\r\x1b[K")
