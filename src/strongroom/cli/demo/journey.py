"""The journey: register, log in from nothing but name and passphrase, seal and open data, list nodes, and the proof."""

import secrets
from collections import Counter
from dataclasses import asdict
from typing import Any

from strongroom.cli.demo import evidence
from strongroom.cli.demo.process import ServiceProcess
from strongroom.cli.demo.recording import Recorder
from strongroom.cli.demo.screen import Screen
from strongroom.cli.output import Failed
from strongroom.client.blocking.account import Account
from strongroom.client.blocking.service import Strongroom
from strongroom.client.errors import UnlockRefused
from strongroom.crypto.errors import DecryptionFailed

_STEPS = tuple(range(1, 12))


class Journey:
    """One user of the demo's service. `Failed` or an error of the client as soon as anything is not as it should be."""

    def __init__(self, service: ServiceProcess, screen: Screen) -> None:
        self._service = service
        self._screen = screen
        self._recorder = Recorder(screen.step, screen.working)
        self._checks: list[str] = []
        self._stored: list[evidence.StoredRow] = []
        # New names and words at every run: what is searched for afterwards can only come from this one.
        self._username = f"Ada-{secrets.token_hex(3)}"
        self._passphrase = f"correct horse battery staple {secrets.token_hex(6)}"
        self._plaintext = f"Dear diary, today I learned {secrets.token_hex(12)}."

    @property
    def report(self) -> dict[str, Any]:
        """The same as on the screen, as data."""
        return {
            "base_url": self._service.base_url,
            "username": self._username,
            "steps": [asdict(step) for step in self._recorder.steps],
            "stored": [asdict(row) for row in self._stored],
            "checks": self._checks,
        }

    def walk(self) -> None:
        self._screen.title(f"Registration of {self._username}, in the eleven steps of the specification")
        self._register()
        self._screen.title("Another device: a new client that knows nothing but name and passphrase")
        with self._client() as client:
            account = client.unlock(self._username, self._passphrase)
            self._screen.title("Data: encrypted and opened on this machine")
            self._seal_and_open(account)
            self._screen.title("Classification nodes of the vault")
            self._list_nodes(account)
            with self._recorder.step("Log out of both areas"):
                account.log_out()
        self._screen.title("What the service has seen")
        self._refuse_a_wrong_passphrase()
        self._search_requests()

    def search_what_was_stored(self) -> None:
        """To be called when the service has ended: its files hold everything then."""
        self._screen.title("What the service has stored")
        self._stored = list(evidence.stored(self._service.data))
        self._screen.stored(self._stored)
        found = evidence.files(self._service.data)
        texts = [path.read_bytes() for path in (*found, self._service.log)]
        self._search(texts, "what the service stored")
        self._check(
            f"Searched {len(found)} files and the log at debug level, in {self._forms} encodings: "
            "the username is there, the passphrase and the data are not."
        )

    def _client(self, *, provider_api_key: str | None = None, silent: bool = False) -> Strongroom:
        return Strongroom(
            self._service.base_url,
            subscription_key=self._service.keys["subscription_key"],
            observer=self._recorder.observe,
            provider_api_key=provider_api_key,
            progress=None if silent else self._recorder.progress,
        )

    def _register(self) -> None:
        with self._client(provider_api_key=self._service.keys["provider_api_key"]) as client:
            client.register(self._username, self._passphrase).close()
        numbers = tuple(step.number for step in self._recorder.steps if step.number is not None)
        if numbers != _STEPS:
            raise Failed("the registration did not take the eleven steps in their order")

    def _seal_and_open(self, account: Account) -> None:
        with self._recorder.step("Encrypt under the data encryption key") as step:
            sealed = account.seal(self._plaintext.encode(), context="diary")
            step.says.append(f"{len(self._plaintext)} bytes became {sealed[:60]}... ({len(sealed)} characters)")
        with self._recorder.step("Open it again") as step:
            if account.open(sealed, context="diary").decode() != self._plaintext:
                raise Failed("what was opened is not what was encrypted")
            step.says.append("the same bytes")
        with self._recorder.step("Open it in another context") as step:
            try:
                account.open(sealed, context="letters")
            except DecryptionFailed as refused:
                step.says.append(f"refused: {refused}")
            else:
                raise Failed("a value opened in a context it does not belong to")

    def _list_nodes(self, account: Account) -> None:
        with self._recorder.step("List them") as step:
            nodes = account.classification_nodes()
            if not nodes:
                raise Failed("the vault lists no classification nodes")
            schemes = Counter(node.scheme for node in nodes)
            step.says.append(f"{len(nodes)} nodes: " + ", ".join(f"{name} {n}" for name, n in schemes.items()))
        with self._recorder.step("Those of esafe_tags") as step:
            names = [node.name for node in account.classification_nodes(scheme_name="esafe_tags")]
            step.says.append(", ".join(names))

    def _refuse_a_wrong_passphrase(self) -> None:
        # The refused login is no step of the journey.
        with self._client(silent=True) as client:
            try:
                client.unlock(self._username, self._passphrase + "!").close()
            except UnlockRefused:
                self._check("A wrong passphrase opens nothing.")
            else:
                raise Failed("a wrong passphrase opened the account")

    def _search_requests(self) -> None:
        raw = self._recorder.raw
        self._search(raw, "a request")
        self._check(
            f"Searched all {len(raw)} requests of this run, in {self._forms} encodings: "
            "neither the passphrase nor the data is in any. What was posted as `passphrase` is a login secret derived "
            "from it, from which the keys do not follow."
        )

    def _search(self, texts: list[bytes], where: str) -> None:
        """`Failed` where a secret is in one of them, or the username, which stands there in clear, is in none."""
        if evidence.occurs(self._username, texts) is None:
            raise Failed(f"the search does not even find the username in {where}: it proves nothing")
        for what, secret in (("passphrase", self._passphrase), ("data", self._plaintext)):
            form = evidence.occurs(secret, texts)
            if form is not None:
                raise Failed(f"the {what} was found in {where}, as {form}")

    @property
    def _forms(self) -> int:
        return len(evidence.forms(self._passphrase))

    def _check(self, text: str) -> None:
        self._checks.append(text)
        self._screen.check(text)
