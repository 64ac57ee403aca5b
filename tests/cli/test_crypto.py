"""`crypto inspect`: explains without a key, recognises secrets and never shows them again."""

from collections.abc import Callable
from typing import Any

import pytest

from strongroom.runtime import tokens


def test_an_encrypted_value(data: Callable[..., Any], sealed: Callable[..., str]) -> None:
    explained = data("crypto", "inspect", sealed(32))
    assert (explained["kind"], explained["strategy"], explained["format"]) == ("encrypted value", "Aes256Gcm", "yaml")
    assert explained["sizes"] == {"data": 32, "iv": 12, "tag": 16}
    assert explained["fields"] == {"ad": "none"}
    assert explained["warnings"]


def test_standard_input_and_the_form_for_people(run: Callable[..., Any], sealed: Callable[..., str]) -> None:
    for arguments in ((), ("-",)):
        result = run("crypto", "inspect", *arguments, given=sealed(48) + "\n")
        assert result.exit_code == 0
        assert result.stdout.splitlines()[0].split() == ["kind", "encrypted", "value"]
        assert "data (bytes)" in result.stdout
        assert "warning:" in result.stderr
        assert "warning:" not in result.stdout


@pytest.mark.parametrize("prefix", list(tokens.Prefix))
def test_a_token_is_recognised_and_not_repeated(run: Callable[..., Any], prefix: tokens.Prefix) -> None:
    token = tokens.mint(prefix)
    result = run("crypto", "inspect", given=token)
    assert token[4:] not in result.output
    assert "secret" in result.stderr


def test_a_private_key_is_recognised_and_not_repeated(run: Callable[..., Any], private_pem: Callable[..., str]) -> None:
    pem = private_pem()
    result = run("crypto", "inspect", given=pem)
    assert "private key in clear" in result.stderr
    assert pem.splitlines()[1] not in result.output


@pytest.mark.parametrize("text", ["hello", "Aes256Gcm.x.y", "\x00", "{}"])
def test_anything_else_is_told(run: Callable[..., Any], text: str) -> None:
    result = run("crypto", "inspect", given=text)
    assert result.exit_code == 1
    assert "unknown" in result.stdout


def test_nothing_is_told(run: Callable[..., Any]) -> None:
    assert run("crypto", "inspect", given=" \n").exit_code == 1
