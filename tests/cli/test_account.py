"""`register`, `unlock` and `whoami` against a real service, and where their secrets may come from."""

import itertools
import json
from collections.abc import Callable
from typing import Any

import click
import pytest

from strongroom import Progress, Strongroom
from strongroom.cli import access
from strongroom.cli.output import Failed, SettingRefused

PASSPHRASE = "correct horse battery staple"

_numbers = itertools.count()


@pytest.fixture
def client_only(sandbox: dict[str, str]) -> dict[str, str]:
    """Without the provider API key: what a user's device has."""
    return {name: value for name, value in sandbox.items() if name != "STRONGROOM_PROVIDER_API_KEY"}


@pytest.mark.slow
def test_register_unlock_and_whoami(
    run: Callable[..., Any], data: Callable[..., Any], sandbox: dict[str, str], client_only: dict[str, str]
) -> None:
    name = f"Cli {next(_numbers)}"
    made = data("register", name, "--passphrase-stdin", "--iterations", "600000", given=f"{PASSPHRASE}\n", **sandbox)
    assert made["username"] == name
    assert made["data_encryption_keys"] == ["data"]

    opened = data("unlock", name, STRONGROOM_PASSPHRASE=PASSPHRASE, **client_only)
    assert opened == made | {"classification_nodes": opened["classification_nodes"]}
    assert opened["classification_nodes"] > 13
    assert data("whoami", name, STRONGROOM_PASSPHRASE=PASSPHRASE, **client_only) == {
        "username": name,
        "account_tag": made["account_tag"],
        "realm": "http://localhost",
    }

    wrong = run("unlock", name, "--passphrase-stdin", given="another\n", **client_only)
    assert (wrong.exit_code, wrong.stdout) == (1, "")
    assert len(wrong.stderr.splitlines()) == 1
    assert "another" not in wrong.stderr

    with Strongroom(
        sandbox["STRONGROOM_URL"],
        subscription_key=sandbox["STRONGROOM_SUBSCRIPTION_KEY"],
        provider_api_key=sandbox["STRONGROOM_PROVIDER_API_KEY"],
    ) as client:
        token = client.issue_admission_token()
    taken = run("register", name, STRONGROOM_PASSPHRASE="other", STRONGROOM_ADMISSION_TOKEN=token, **client_only)
    assert taken.exit_code == 1
    assert "username_taken" in taken.stderr


@pytest.mark.slow
def test_an_account_secret_is_needed_where_one_was_used(
    run: Callable[..., Any], data: Callable[..., Any], sandbox: dict[str, str]
) -> None:
    name = f"Cli {next(_numbers)}"
    secret = data("crypto", "account-secret")["account_secret"]
    given = sandbox | {"STRONGROOM_PASSPHRASE": PASSPHRASE}
    data("register", name, "--iterations", "600000", STRONGROOM_ACCOUNT_SECRET=secret, **given)
    assert data("whoami", name, STRONGROOM_ACCOUNT_SECRET=secret, **given)["username"] == name
    assert run("whoami", name, **given).exit_code == 1
    torn = run("whoami", name, STRONGROOM_ACCOUNT_SECRET=secret[:-1], **given)
    assert torn.exit_code == 1
    assert secret[:-1] not in torn.stderr


def test_an_unreachable_service_has_its_own_exit_code(run: Callable[..., Any]) -> None:
    result = run(
        "whoami",
        "ada",
        STRONGROOM_URL="http://127.0.0.1:1",
        STRONGROOM_SUBSCRIPTION_KEY="srk_x",
        STRONGROOM_PASSPHRASE=PASSPHRASE,
    )
    assert result.exit_code == 3
    assert PASSPHRASE not in result.output


@pytest.mark.parametrize("missing", ["STRONGROOM_URL", "STRONGROOM_SUBSCRIPTION_KEY", "STRONGROOM_PASSPHRASE"])
def test_what_is_missing_is_named(run: Callable[..., Any], missing: str) -> None:
    given = {
        "STRONGROOM_URL": "http://127.0.0.1:1",
        "STRONGROOM_SUBSCRIPTION_KEY": "srk_x",
        "STRONGROOM_PASSPHRASE": PASSPHRASE,
    }
    del given[missing]
    result = run("unlock", "ada", **given)
    assert result.exit_code == 2
    assert missing in result.stderr


def test_registering_asks_for_a_token_before_a_passphrase(run: Callable[..., Any]) -> None:
    result = run("register", "ada", STRONGROOM_URL="http://127.0.0.1:1", STRONGROOM_SUBSCRIPTION_KEY="srk_x")
    assert result.exit_code == 2
    assert "STRONGROOM_ADMISSION_TOKEN" in result.stderr


def test_plain_http_to_another_machine_is_refused(run: Callable[..., Any]) -> None:
    result = run(
        "unlock",
        "ada",
        "--url",
        "http://vault.example",
        STRONGROOM_SUBSCRIPTION_KEY="srk_x",
        STRONGROOM_PASSPHRASE=PASSPHRASE,
    )
    assert result.exit_code == 1
    assert "https" in result.stderr


def test_the_passphrase_is_asked_for_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []

    def prompt(text: str, **options: Any) -> str:
        asked.append(options)
        return PASSPHRASE

    monkeypatch.delenv(access.PASSPHRASE, raising=False)
    monkeypatch.setattr(access, "is_terminal", lambda stream: True)
    monkeypatch.setattr(click, "prompt", prompt)
    assert access.passphrase(False, confirm=True) == PASSPHRASE
    assert asked == [{"hide_input": True, "confirmation_prompt": True, "err": True}]


def test_standard_input_gives_one_line_and_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    import io

    monkeypatch.setenv(access.PASSPHRASE, "of the environment")
    monkeypatch.setattr("sys.stdin", io.StringIO(" spaces stay \r\nsecond line\n"))
    assert access.passphrase(True) == " spaces stay "
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    with pytest.raises(Failed):
        access.passphrase(True)
    assert access.passphrase(False) == "of the environment"
    monkeypatch.delenv(access.PASSPHRASE)
    with pytest.raises(SettingRefused):
        access.passphrase(False)


def test_progress_is_one_line_that_is_wiped(capsys: pytest.CaptureFixture[str]) -> None:
    access.show_progress(Progress(7, "Generate the keypair", None, 0.4, "work"))
    access.show_progress(Progress(7, "Store the keypair tagged vault", 1.0, 1.0))
    caught = capsys.readouterr()
    assert caught.out == ""
    assert caught.err == "\r7/11 Generate the keypair ... 0.4 s\r"  # click takes the wiping out: this is no terminal


def test_json_is_one_line(run: Callable[..., Any]) -> None:
    result = run("crypto", "account-secret", "--json")
    assert len(result.stdout.splitlines()) == 1
    assert json.loads(result.stdout)["account_secret"].startswith("srx1_")
