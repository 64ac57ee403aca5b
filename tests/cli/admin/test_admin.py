"""The operator's commands on a data folder, for real, and what the service then says to the keys."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from strongroom.testing import Service

Data = Callable[..., Any]
Run = Callable[..., Any]

SCHEME = """
scheme = "colours"
[[node]]
name = "red"
ordinal = 1
label = "Red"
image = "red.png"
[[node]]
name = "dark_red"
ordinal = 2
label = "Dark red"
parent = "red"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> Path:
    """The data folder every command here works on, by its environment variable."""
    monkeypatch.setenv("STRONGROOM_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def scheme_file(tmp_path: Path) -> Path:
    from PIL import Image

    Image.new("RGB", (8, 8), "red").save(tmp_path / "red.png")
    path = tmp_path / "colours.toml"
    path.write_text(SCHEME)
    return path


def ask(service: Service, key: str, provider_api_key: str | None = None) -> str:
    """`ok`, or the code of the refusal."""
    headers = {"Service-Subscription-Key": key, "Authorization": provider_api_key or service.provider_api_key}
    with httpx.Client(transport=service.transport, base_url=service.base_url, headers=headers) as http:
        answer = http.post("/keystore/admission_tokens")
    return "ok" if answer.status_code == 201 else str(answer.json()["code"])


def test_a_subscription_beside_a_running_service(folder: Path, data: Data, run: Run) -> None:
    with Service(folder=folder) as service:
        provider = data("admin", "provider", "create", "acme")
        assert provider["id"] in [one["id"] for one in data("admin", "provider", "list")]
        made = data("admin", "subscription", "create", "acme", "--name", "app")
        provider_key = data("admin", "provider-key", "create", "acme")["provider_api_key"]
        primary, secondary = made["subscription_key"], made["secondary_subscription_key"]
        assert ask(service, primary, provider_key) == "subscription_key_inactive"

        data("admin", "subscription", "activate", "acme", made["id"])
        assert ask(service, primary, provider_key) == ask(service, secondary, provider_key) == "ok"
        assert run("admin", "subscription", "activate", "acme", made["id"]).exit_code == 1

        at_once = data("admin", "subscription", "regenerate", "acme", made["id"], "primary")["subscription_key"]
        assert ask(service, primary, provider_key) == "subscription_key_invalid"
        assert ask(service, at_once, provider_key) == ask(service, secondary, provider_key) == "ok"
        graced = data("admin", "subscription", "regenerate", "acme", made["id"], "secondary", "--grace", "1h")
        assert ask(service, secondary, provider_key) == "ok"
        service.clock.move(3601)
        assert ask(service, secondary, provider_key) == "subscription_key_invalid"
        assert ask(service, graced["secondary_subscription_key"], provider_key) == "ok"

        data("admin", "subscription", "cancel", "acme", made["id"])
        assert ask(service, at_once, provider_key) == "subscription_key_inactive"
        assert run("admin", "subscription", "cancel", "acme", made["id"]).exit_code == 1
        assert run("admin", "subscription", "regenerate", "acme", made["id"], "primary").exit_code == 1
        listed = data("admin", "subscription", "list", "acme")
        assert [(one["name"], one["state"]) for one in listed] == [("app", "cancelled")]
        # Shown once, when made: never again.
        assert not any(key in str(listed) for key in (primary, secondary, at_once))


def test_a_subscription_that_was_not_approved_is_approved_suspended_and_resumed(
    folder: Path, data: Data, run: Run
) -> None:
    with Service(folder=folder) as service:
        data("admin", "provider", "create", "acme")
        provider_key = data("admin", "provider-key", "create", "acme")["provider_api_key"]
        made = data("admin", "subscription", "create", "acme", "--needs-approval")
        assert run("admin", "subscription", "activate", "acme", made["id"]).exit_code == 1
        data("admin", "subscription", "approve", "acme", made["id"])
        assert run("admin", "subscription", "approve", "acme", made["id"]).exit_code == 1
        assert run("admin", "subscription", "suspend", "acme", made["id"]).exit_code == 1
        data("admin", "subscription", "activate", "acme", made["id"])
        assert ask(service, made["subscription_key"], provider_key) == "ok"
        assert data("admin", "subscription", "suspend", "acme", made["id"])["state"] == "suspended"
        assert ask(service, made["subscription_key"], provider_key) == "subscription_key_inactive"
        assert data("admin", "subscription", "resume", "acme", made["id"])["state"] == "active"
        assert ask(service, made["subscription_key"], provider_key) == "ok"
        assert run("admin", "subscription", "resume", "acme", made["id"]).exit_code == 1


def test_the_name_of_the_sandbox_is_kept_for_it(folder: Path, run: Run) -> None:
    refused = run("admin", "provider", "create", "sandbox")
    assert refused.exit_code == 1
    assert "serve --sandbox" in refused.stderr


def test_provider_keys(folder: Path, data: Data, run: Run) -> None:
    with Service(folder=folder) as service:
        key = data("admin", "provider-key", "create", "sandbox", "--name", "next")["provider_api_key"]
        assert ask(service, service.subscription_key, key) == "ok"
        refused = run("admin", "provider-key", "create", "sandbox")
        assert refused.exit_code == 1
        assert "two active keys" in refused.stderr
        listed = {one["name"]: one for one in data("admin", "provider-key", "list", "sandbox")}
        assert key not in str(listed)
        data("admin", "provider-key", "revoke", "sandbox", listed["next"]["id"])
        assert ask(service, service.subscription_key, key) == "provider_key_invalid"
        assert run("admin", "provider-key", "revoke", "sandbox", listed["next"]["id"]).exit_code == 1
        data("admin", "provider-key", "revoke", "sandbox", listed["sandbox"]["id"], "--grace", "1d")
        assert ask(service, service.subscription_key) == "ok"
    # What was refused is not among them.
    assert acts(folder, "api_key_") == ["api_key_created", "api_key_revoked", "api_key_revoked"]


def acts(folder: Path, prefix: str) -> list[str]:
    """What the audit of the access database holds, oldest first."""
    with closing(sqlite3.connect(folder / "access.sqlite")) as connection:
        found = connection.execute("SELECT action FROM audit_events ORDER BY id").fetchall()
    return [action for (action,) in found if action.startswith(prefix)]


def test_a_provider_before_the_first_start(folder: Path, data: Data, run: Run) -> None:
    assert run("admin", "provider", "list").exit_code == 1
    assert not folder.exists()
    data("admin", "provider", "create", "Acme Ltd")
    assert folder.stat().st_mode & 0o077 == 0
    again = run("admin", "provider", "create", "Acme Ltd")
    assert (again.exit_code, again.stdout) == (1, "")
    with Service(folder=folder):
        assert {one["name"] for one in data("admin", "provider", "list")} == {"Acme Ltd", "sandbox"}


def test_derived_only_refuses_raw_passphrases(folder: Path, data: Data) -> None:
    with Service(folder=folder) as service:
        assert (
            data("admin", "provider", "set-login-policy", "sandbox", "derived_only")["login_policy"] == "derived_only"
        )
        body = {"admission_token": service.issue_admission_token(), "username": "ada", "passphrase": "in clear"}
        headers = {"Service-Subscription-Key": service.subscription_key}
        with httpx.Client(transport=service.transport, base_url=service.base_url, headers=headers) as http:
            assert http.post("/keystore/users", json=body).json()["code"] == "derived_secret_required"
            data("admin", "provider", "set-login-policy", "sandbox", "any")
            assert http.post("/keystore/users", json=body).status_code == 201
    assert acts(folder, "login_policy_") == ["login_policy_set", "login_policy_set"]


def test_classification(folder: Path, data: Data, run: Run, scheme_file: Path) -> None:
    assert "start the service once" in run("admin", "classification", "list").stderr
    with Service(folder=folder):
        before = {one["scheme"]: one["nodes"] for one in data("admin", "classification", "list")}
        assert before["esafe_tags"] == 13
        report = data("admin", "classification", "import", str(scheme_file))
        assert (report["scheme"], report["added"], report["unchanged"]) == ("colours", 2, 0)
        assert data("admin", "classification", "import", str(scheme_file))["unchanged"] == 2
        scheme_file.write_text(SCHEME[: SCHEME.rindex("[[node]]")])
        assert data("admin", "classification", "import", str(scheme_file))["kept"] == 1
        assert data("admin", "classification", "import", str(scheme_file), "--replace")["removed"] == 1
        after = {one["scheme"]: one["nodes"] for one in data("admin", "classification", "list")}
        assert after == before | {"colours": 1}

        scheme_file.write_text(SCHEME.replace("ordinal = 2", "ordinal = 1").replace("Dark red", ""))
        refused = run("admin", "classification", "import", str(scheme_file))
        assert refused.exit_code == 1
        assert refused.stdout == ""
        assert refused.stderr.count("dark_red") == 2
        assert {one["scheme"]: one["nodes"] for one in data("admin", "classification", "list")} == after


@pytest.mark.parametrize(
    "arguments",
    [
        ("provider", "create", " spaced"),
        ("provider", "create", "a\nb"),
        ("provider", "create", "x" * 129),
        ("provider", "set-login-policy", "acme", "none"),
        ("subscription", "activate", "acme", "not-an-id"),
        ("subscription", "regenerate", "acme", "01a1fd6f-4d60-7e89-ab92-f6af30781234", "third"),
        ("provider-key", "revoke", "acme", "01a1fd6f-4d60-7e89-ab92-f6af30781234", "--grace", "soon"),
    ],
)
def test_a_wrong_command_line_changes_nothing(folder: Path, run: Run, arguments: tuple[str, ...]) -> None:
    result = run("admin", *arguments)
    assert result.exit_code == 2
    assert not folder.exists()


def test_an_unknown_provider_is_told(folder: Path, data: Data, run: Run) -> None:
    data("admin", "provider", "create", "acme")
    for arguments in (
        ("subscription", "create", "other"),
        ("subscription", "list", "other"),
        ("provider-key", "create", "other"),
        ("provider", "set-login-policy", "other", "any"),
    ):
        result = run("admin", *arguments)
        assert result.exit_code == 1
        assert "no provider of that name" in result.stderr


def test_people_get_tables_and_messages_apart_from_data(folder: Path, data: Data, run: Run) -> None:
    data("admin", "provider", "create", "acme")
    made = run("admin", "subscription", "create", "acme", "--activate")
    assert "srk_" in made.stdout
    assert "never shown again" in made.stderr
    assert "never shown again" not in made.stdout
    assert run("admin", "subscription", "list", "acme").stdout.startswith("NAME")
    assert run("admin", "provider", "list").stdout.splitlines()[1].startswith("acme")
