"""A test message goes the way the portal's mail goes, and what is wrong is said without the password."""

import socket
from collections.abc import Callable, Iterator
from email import message_from_bytes, policy
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult

Run = Callable[..., Any]

PASSWORD = "a password for the mail server"


class Inbox:
    def __init__(self) -> None:
        self.taken: list[tuple[list[str], bytes]] = []
        self.port = 0

    async def handle_RCPT(  # noqa: N802  # aiosmtpd's name
        self, server: Any, session: Any, envelope: Any, address: str, options: Any
    ) -> str:
        if address.startswith("nobody@"):
            return "550 no such mailbox"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:  # noqa: N802  # aiosmtpd's name
        self.taken.append((envelope.rcpt_tos, envelope.content))
        return "250 OK"

    def url(self, password: str = PASSWORD) -> str:
        return f"smtp://portal:{password.replace(' ', '%20')}@127.0.0.1:{self.port}"


@pytest.fixture
def inbox() -> Iterator[Inbox]:
    made = Inbox()

    def check(server: Any, session: Any, envelope: Any, mechanism: str, data: Any) -> AuthResult:
        return AuthResult(success=data.password == PASSWORD.encode(), handled=False)

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        made.port = probe.getsockname()[1]
    controller = Controller(made, hostname="127.0.0.1", port=made.port, authenticator=check, auth_require_tls=False)
    controller.start()
    yield made
    controller.stop()


def test_a_test_message_is_taken_by_the_mail_server(run: Run, data: Callable[..., Any], inbox: Inbox) -> None:
    settings = {"STRONGROOM_SMTP_URL": inbox.url(), "STRONGROOM_MAIL_FROM": "keys@vault.example"}
    sent = data("admin", "mail", "test", "You@vault.example", **settings)
    assert sent == {"to": "you@vault.example", "from": "keys@vault.example", "way": "smtp"}
    ((to, content),) = inbox.taken
    mail = message_from_bytes(content, policy=policy.default)
    assert to == ["you@vault.example"]
    assert mail["From"] == "Strongroom <keys@vault.example>"
    assert "test" in mail["Subject"]


@pytest.mark.parametrize(
    ("password", "to", "said"),
    [("a wrong one", "you@vault.example", "password (535)"), (PASSWORD, "nobody@vault.example", "address (550)")],
)
def test_what_the_mail_server_refuses_is_said(run: Run, inbox: Inbox, password: str, to: str, said: str) -> None:
    refused = run("admin", "mail", "test", to, STRONGROOM_SMTP_URL=inbox.url(password))
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert said in refused.stderr
    assert password not in refused.stderr
    assert inbox.taken == []


def test_without_a_mail_server(run: Run, tmp_path: Path) -> None:
    absent = run("admin", "mail", "test", "you@vault.example", "--data", str(tmp_path / "absent"))
    assert absent.exit_code == 1
    assert not (tmp_path / "absent").exists()
    written = run("admin", "mail", "test", "you@vault.example", "--data", str(tmp_path))
    assert written.exit_code == 0
    assert len(list((tmp_path / "outbox").glob("*.eml"))) == 1
    others = {"STRONGROOM_PUBLIC_URL": "https://vault.example"}
    refused = run("admin", "mail", "test", "you@vault.example", "--data", str(tmp_path), **others)
    assert refused.exit_code == 1
    assert "STRONGROOM_SMTP_URL" in refused.stderr
    assert run("admin", "mail", "test", "no address").exit_code == 2


def test_the_doctor_logs_in_and_sends_nothing(run: Run, inbox: Inbox) -> None:
    def verdict(url: str) -> str:
        found: str = next(
            line for line in run("doctor", STRONGROOM_SMTP_URL=url).stdout.splitlines() if " mail " in line
        )
        return found.split()[0]

    assert verdict(inbox.url()) == "ok"
    assert verdict(inbox.url("a wrong one")) == "failed"
    assert verdict("smtp://127.0.0.1:1") == "failed"
    assert verdict("http://127.0.0.1") == "failed"
    assert inbox.taken == []
