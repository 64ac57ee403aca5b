"""The same random sequences of operations on both engines: the same answers, and the same rows in the end."""

import asyncio
import hashlib
import re
import secrets
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strongroom.access import providers, subscriptions
from strongroom.crypto.names import realm_tag
from strongroom.crypto.public_keys import PublicKey
from strongroom.http.call import Call
from strongroom.keystore import (
    admission_tokens,
    data_encryption_keys,
    key_encryption_key,
    keypairs,
    maintenance,
    passphrase_derivation_artefact,
    session,
    users,
)
from strongroom.keystore.area import Keystore
from strongroom.runtime.clock import DAY, HOUR, MINUTE
from strongroom.runtime.ids import from_text
from strongroom.runtime.principals import KeystoreSession, Subscription, VaultSession
from strongroom.runtime.secret import ServerSecret
from strongroom.services.passphrase_hashing import PassphraseHasher
from strongroom.storage import Row, Store, Transaction
from strongroom.storage.open import open_store
from strongroom.vault import admission_tokens as vault_admission_tokens
from strongroom.vault import classification_nodes, importing
from strongroom.vault import maintenance as vault_maintenance
from strongroom.vault import session as vault_session
from strongroom.vault.api import VaultApi
from strongroom.vault.area import Vault
from strongroom.wire.keystore import StoreKeypair, StorePassphraseDerivationArtefact
from strongroom.wire.paging import Paging
from strongroom.wire.refusal import Refusal, Refused
from strongroom.wire.vault import ClassificationNodeQuery, CreateVaultSession, CreateVaultUser, NewVaultUser

if TYPE_CHECKING:
    from tools.postgres_server import PostgresServer

KEYS = Path(__file__).parents[1] / "keys"
PROVIDERS = (b"\x01" * 16, b"\x02" * 16)
SECRET = ServerSecret(b"s" * 32)
NAMES = ("ada", "Ada", "bob", "zoë", "ZOË", "密", "a%b_c")
TEXTS = ("", "a", "b", "x" * 3000, "'quoted' :name $1 %s \\", "ä\n密")
TAGS: tuple[list[str], ...] = (["vault"], [], ["a", "b"], ["b", "A"], ["%", "vault"], ["", " "])
WAITS = (1, MINUTE, HOUR, DAY, 40 * DAY)
LIFETIME = 2 * HOUR
SEQUENCES = 150
REFUSALS = list(Refusal.__members__)

Numbers = tuple[int, int, int]


class Steps:
    """A clock that a test moves, and that advances a little with every operation, so that ids are in order."""

    def __init__(self) -> None:
        self.time = 1_800_000_000_000

    def now(self) -> int:
        return self.time


class Actor:
    """Operations on one engine, each given three small numbers to choose its values with."""

    area: str

    def __init__(self, store: Store) -> None:
        self.store, self.clock = store, Steps()

    async def wait(self, a: int, b: int, c: int) -> None:
        self.clock.time += WAITS[a % len(WAITS)]

    @classmethod
    def operations(cls) -> list[str]:
        return [name for name in dir(cls) if not name.startswith("_") and name not in ("operations", "area", "answer")]

    async def answer(self, operation: str, numbers: Numbers) -> Any:
        """What came out, as plain data: a refusal with all it says, or the result."""
        self.clock.time += 1
        call: Callable[..., Awaitable[Any]] = getattr(self, operation)
        try:
            return msgspec.to_builtins(await call(*numbers))
        except Refused as refused:
            return refused.refusal.name, refused.detail, msgspec.to_builtins(refused.faults)
        except (providers.NameTaken, providers.TooManyKeys) as error:
            return type(error).__name__


class KeystoreActor(Actor):
    area = "keystore"

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._tokens = ["unknown"]
        self._sessions = [("unknown", KeystoreSession(PROVIDERS[0], b"\x07" * 16, b"\x08" * 16))]
        self._ids = ["unknown", "00000000-0000-4000-8000-000000000000"]
        self._keystore = Keystore(
            store=store,
            clock=self.clock,
            passphrases=PassphraseHasher(SECRET, 1),
            session_lifetime=LIFETIME,
            admission_token_lifetime=LIFETIME,
            issue_vault_admission_token=cast("Any", None),
        )

    async def issue(self, a: int, b: int, c: int) -> Any:
        now = self.clock.now()
        made = await self.store.write(lambda tx: admission_tokens.issue(tx, PROVIDERS[a % 2], now, LIFETIME))
        self._tokens.append(made.token_value)
        return made

    async def check_token(self, a: int, b: int, c: int) -> None:
        now = self.clock.now()
        await self.store.read(lambda tx: admission_tokens.check(tx, PROVIDERS[a % 2], self._token(b), now))

    async def claim(self, a: int, b: int, c: int) -> None:
        now, token = self.clock.now(), self._token(b)
        await self.store.write(lambda tx: admission_tokens.claim(tx, PROVIDERS[a % 2], token, f"key{c % 2}", now))

    async def create_user(self, a: int, b: int, c: int) -> None:
        now, username = self.clock.now(), NAMES[c % len(NAMES)]
        create = partial(
            users.create,
            provider_id=PROVIDERS[a % 2],
            user_id=hashlib.sha256(f"{now}".encode()).digest()[:16],
            username=username,
            canonical_name=users.canonical(username),
            passphrase_hash=f"hash {b}",
            token=self._token(b),
            now=now,
        )
        await self.store.write(create)

    async def log_in(self, a: int, b: int, c: int) -> Any:
        provider, name, now = PROVIDERS[a % 2], users.canonical(NAMES[c % len(NAMES)]), self.clock.now()
        user = await self.store.read(lambda tx: users.find(tx, provider, name))
        if user is None:
            return None
        create = partial(
            session.create,
            provider_id=provider,
            user=user,
            renewed_hash=f"new hash {b}" if b % 3 == 0 else None,
            now=now,
            lifetime=LIFETIME,
        )
        made = await self.store.write(create)
        who = await self._keystore.authenticate(provider, made.session_authentication_string)
        self._sessions.append((made.session_authentication_string, who))
        return made

    async def authenticate(self, a: int, b: int, c: int) -> Any:
        text, _ = self._session(b)
        return await self._keystore.authenticate(PROVIDERS[a % 2], text)

    async def log_out(self, a: int, b: int, c: int) -> None:
        _, who = self._session(b)
        now = self.clock.now()
        await self.store.write(lambda tx: session.revoke(tx, who, now))

    # These write for a session that may have ended since it was looked at: the transaction has to find out.

    async def store_artefact(self, a: int, b: int, c: int) -> Any:
        given_ = StorePassphraseDerivationArtefact(derivation_artefacts=f"d{a % 2}", verification_artefacts="v")
        return await self._keystore.write_for(
            self._session(b)[1],
            lambda tx, now: passphrase_derivation_artefact.store(tx, self._session(b)[1].user_id, given_, now),
        )

    async def store_key_encryption_key(self, a: int, b: int, c: int) -> Any:
        _, who = self._session(b)
        return await self._keystore.write_for(
            who, lambda tx, now: key_encryption_key.store(tx, who.user_id, TEXTS[a % 2], now)
        )

    async def store_data_encryption_key(self, a: int, b: int, c: int) -> Any:
        _, who = self._session(b)
        made = await self._keystore.write_for(
            who, lambda tx, now: data_encryption_keys.store(tx, who.user_id, TEXTS[a % len(TEXTS)], now)
        )
        self._ids.append(made[0].id)
        return made

    async def store_keypair(self, a: int, b: int, c: int) -> Any:
        _, who = self._session(b)
        given_ = StoreKeypair(
            public_key=f"public {a % 3}",
            encrypted_serialized_key=TEXTS[a % len(TEXTS)],
            external_identifiers=TAGS[c % len(TAGS)],
            metadata={"ä": [1, None, {"b": TEXTS[c % len(TEXTS)]}]},
        )
        made = await self._keystore.write_for(
            who, lambda tx, now: keypairs.store(tx, who.user_id, given_, f"fingerprint {a % 3}", now)
        )
        self._ids.append(made[0].id)
        return made

    async def read_what_is_alone(self, a: int, b: int, c: int) -> Any:
        user_id = self._session(b)[1].user_id
        read = (passphrase_derivation_artefact.read, key_encryption_key.read, keypairs.vault_fingerprint)[a % 3]
        return await self.store.read(lambda tx: cast("Any", read)(tx, user_id))

    async def read_by_id(self, a: int, b: int, c: int) -> Any:
        user_id, text = self._session(b)[1].user_id, self._ids[c % len(self._ids)]
        read = (data_encryption_keys.read, keypairs.read)[a % 2]
        return await self.store.read(lambda tx: cast("Any", read)(tx, user_id, text))

    async def read_tagged(self, a: int, b: int, c: int) -> Any:
        user_id, tag = self._session(b)[1].user_id, ("vault", "a", "A", "%", "", "nul\x00")[a % 6]
        return await self.store.read(lambda tx: keypairs.read_tagged(tx, user_id, tag))

    async def list_all(self, a: int, b: int, c: int) -> Any:
        user_id = self._session(b)[1].user_id
        paging = (Paging(), Paging(page=1, per=2), Paging(page=2, per=1), Paging(page=1_000_000))[c % 4]
        listing = (data_encryption_keys.list_all, keypairs.list_all)[a % 2]
        return await self.store.read_many(lambda tx: cast("Any", listing)(tx, user_id, paging))

    async def prune(self, a: int, b: int, c: int) -> int:
        return await maintenance.prune(self._keystore)

    def _token(self, number: int) -> str:
        return self._tokens[-1 - number % len(self._tokens)]

    def _session(self, number: int) -> tuple[str, KeystoreSession]:
        return self._sessions[-1 - number % len(self._sessions)]


def _subscription(number: int) -> Subscription:
    return Subscription(PROVIDERS[number % 2], b"\x09" * 16, False, "primary")


class VaultActor(Actor):
    area = "vault"

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._tokens = ["unknown"]
        self._strings: list[str] = ["unknown"]
        self._users: list[bytes] = [b"\x07" * 16]
        self._vault = Vault(
            store=store,
            clock=self.clock,
            secret=SECRET,
            public_url="https://vault.example",
            realm_tag=realm_tag("https://vault.example"),
            session_lifetime=LIFETIME,
            admission_token_lifetime=LIFETIME,
            first_use_window=HOUR,
            claim_admission_token=self._claim,
        )
        self._api = VaultApi(self._vault)

    async def issue(self, a: int, b: int, c: int) -> Any:
        now = self.clock.now()
        made = await self.store.write(lambda tx: vault_admission_tokens.issue(tx, PROVIDERS[a % 2], now, LIFETIME))
        self._tokens.append(made.token_value)
        return made

    async def issue_external(self, a: int, b: int, c: int) -> str:
        fingerprint = _public_key(c).fingerprint if b % 2 else None
        made = await self._api.issue_external(PROVIDERS[a % 2], bytes([b % 3]) * 16, fingerprint)
        self._tokens.append(made)
        return made

    async def create_user(self, a: int, b: int, c: int) -> Any:
        body = CreateVaultUser(NewVaultUser(_public_key(c).pem, self._token(b)))
        made = await self._api.create_vault_user(Call(_subscription(a), body=body))
        self._users.append(from_text(made.id) or b"")
        return made.id

    async def log_in(self, a: int, b: int, c: int) -> bool:
        body = CreateVaultSession(_public_key(c).pem)
        return bool(await self._api.create_vault_session(Call(_subscription(a), body=body)))

    async def make_session(self, a: int, b: int, c: int) -> str:
        user_id = self._users[-1 - b % len(self._users)]
        generation, now = vault_session.FIRST_GENERATION, self.clock.now()
        text = vault_session.issue(SECRET, self._vault.realm_tag, user_id, generation, now, LIFETIME)
        self._strings.append(text)
        return text

    async def authenticate(self, a: int, b: int, c: int) -> Any:
        return await self._authenticated(a, b)

    async def log_out(self, a: int, b: int, c: int) -> None:
        await self._revoke(await self._authenticated(a, b))

    async def write_after_a_look(self, a: int, b: int, c: int) -> None:
        who = await self._authenticated(a, b)
        if c % 2:
            await self._revoke(who)
        now = self.clock.now() + (c % 3) * HOUR
        await self.store.write(lambda tx: vault_session.recheck(tx, who, now))
        await self._vault.write_for(who, lambda tx, _: tx.one("SELECT 1"))

    async def list_nodes(self, a: int, b: int, c: int) -> Any:
        query = ClassificationNodeQuery(
            scheme_name=(None, "program", "esafe", "nothing", "", "ä")[a % 6],
            by_name=(None, "a", "A", "%", "_", "", "ä", "\x00")[b],
            page=(None, 1, 2)[c % 3],
            per=(None, 3)[c % 2],
        )
        return await self.store.read(lambda tx: classification_nodes.list_nodes(tx, self._vault.public_url, query))

    async def import_again(self, a: int, b: int, c: int) -> Any:
        return await importing.ensure_shipped(self.store, self.clock.now())

    async def prune(self, a: int, b: int, c: int) -> int:
        return await vault_maintenance.prune(self._vault)

    async def _revoke(self, who: VaultSession) -> None:
        now = self.clock.now()
        await self.store.write(lambda tx: vault_session.revoke(tx, who, now))

    async def _authenticated(self, a: int, b: int) -> VaultSession:
        text = self._strings[-1 - b % len(self._strings)]
        return await self._vault.authenticate(PROVIDERS[a % 2], text)

    async def _claim(self, provider_id: bytes, token_value: str, claimant: str) -> None:
        raise Refused(Refusal.admission_token_invalid)

    def _token(self, number: int) -> str:
        return self._tokens[-1 - number % len(self._tokens)]


class AccessActor(Actor):
    area = "access"

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._providers = [b"\x07" * 16]
        self._subscriptions = [b"\x08" * 16]
        self._keys = ["unknown"]

    async def create_provider(self, a: int, b: int, c: int) -> bytes:
        now, name = self.clock.now(), NAMES[a % len(NAMES)]
        made = await self.store.write(lambda tx: providers.create(tx, name, now, providers.LOGIN_POLICIES[b % 2]))
        self._providers.append(made)
        return made

    async def find(self, a: int, b: int, c: int) -> Any:
        return await self.store.read(lambda tx: providers.find(tx, NAMES[a % len(NAMES)]))

    async def list_providers(self, a: int, b: int, c: int) -> Any:
        return await self.store.read(providers.list_all)

    async def create_key(self, a: int, b: int, c: int) -> str:
        now, provider = self.clock.now(), self._provider(a)
        made = await self.store.write(lambda tx: providers.create_key(tx, provider, NAMES[b % len(NAMES)], now))
        self._keys.append(made)
        return made

    async def revoke_key(self, a: int, b: int, c: int) -> Any:
        provider = self._provider(a)
        known = await self.store.read(lambda tx: providers.keys_of(tx, provider))
        if not known:
            return None
        key_id, at = known[b % len(known)].id, self.clock.now() + (c % 2) * HOUR
        return await self.store.write(lambda tx: providers.revoke_key(tx, provider, key_id, at)), known

    async def authenticate_provider(self, a: int, b: int, c: int) -> Any:
        now, key = self.clock.now(), self._keys[-1 - b % len(self._keys)]
        return await self.store.read(lambda tx: providers.authenticate(tx, self._provider(a), key, now))

    async def subscribe(self, a: int, b: int, c: int) -> Any:
        now, provider = self.clock.now(), self._provider(a)
        made = await self.store.write(lambda tx: subscriptions.create(tx, provider, NAMES[b % len(NAMES)], now))
        self._subscriptions.append(made.id)
        self._keys += [made.primary, made.secondary]
        return made

    async def change_subscription(self, a: int, b: int, c: int) -> Any:
        now, change = self.clock.now(), (subscriptions.activate, subscriptions.cancel)[c % 5 // 4]
        return await self.store.write(lambda tx: change(tx, self._provider(a), self._subscription(b), now))

    async def regenerate(self, a: int, b: int, c: int) -> str:
        now, slot, grace = self.clock.now(), subscriptions.SLOTS[c % 2], (c % 3) * HOUR
        made = await self.store.write(
            lambda tx: subscriptions.regenerate(tx, self._provider(a), self._subscription(b), slot, now, grace)
        )
        self._keys.append(made)
        return made

    async def authenticate(self, a: int, b: int, c: int) -> Any:
        now, key = self.clock.now(), self._keys[-1 - b % len(self._keys)]
        return await self.store.read(lambda tx: subscriptions.authenticate(tx, key, now))

    async def look(self, a: int, b: int, c: int) -> Any:
        async def all_of_it(tx: Transaction) -> Any:
            provider, subscription = self._provider(a), self._subscription(b)
            return (
                await subscriptions.list_of(tx, provider),
                await subscriptions.read(tx, provider, subscription),
                await subscriptions.keys_of(tx, provider, subscription),
            )

        return await self.store.read(all_of_it)

    def _provider(self, number: int) -> bytes:
        return self._providers[-1 - number % len(self._providers)]

    def _subscription(self, number: int) -> bytes:
        return self._subscriptions[-1 - number % len(self._subscriptions)]


def _public_key(number: int) -> PublicKey:
    name = ("ada", "bob", "cleo")[number % 3]
    return PublicKey.parse((KEYS / f"{name}.public.pem").read_text("ascii"))


def _tables(text: str) -> list[str]:
    """What is there after a history of migrations."""
    found: list[str] = []
    for verb, name, renamed in re.findall(r"(CREATE|DROP|ALTER) TABLE (\w+)(?: RENAME TO (\w+))?", text):
        if verb == "CREATE":
            found.append(name)
        elif verb == "DROP" or renamed:
            found.remove(name)
            found += [renamed] * bool(renamed)
    return found


class Both:
    """A store on each engine for one area, and the loop they live in."""

    def __init__(self, actor: type[Actor], folder: Path, url: str) -> None:
        self._actor = actor
        migrations = files(f"strongroom.{actor.area}") / "migrations"
        text = "".join(
            file.read_text("utf-8") for file in sorted(migrations.iterdir(), key=str) if file.name.endswith(".sql")
        )
        self._tables = _tables(text)
        self._runner = asyncio.Runner()
        file = f"sqlite:{folder / actor.area}"
        self._stores = [open_store(database, actor.area, migrations) for database in (file, url)]
        self._runner.get_loop()

    def run(self, sequence: list[tuple[str, Numbers]]) -> list[tuple[list[Any], dict[str, list[Row]]]]:
        """For each engine the answers, and what is in its tables after them."""
        return [self._runner.run(self._on(store, sequence)) for store in self._stores]

    def close(self) -> None:
        for store in self._stores:
            self._runner.run(store.close())
        self._runner.close()

    async def _on(self, store: Store, sequence: list[tuple[str, Numbers]]) -> tuple[list[Any], dict[str, list[Row]]]:
        await store.write(self._empty)
        actor = self._actor(store)
        with pytest.MonkeyPatch.context() as patch:
            answers = []
            for step, (operation, numbers) in enumerate(sequence):
                # Anew for every step: an engine may have begun more of a unit that is refused than the other.
                patch.setattr(secrets, "token_bytes", _Bytes(step))
                answers.append(await actor.answer(operation, numbers))
        return answers, await store.read_many(self._everything)

    async def _empty(self, tx: Transaction) -> None:
        for table in self._tables:
            if table != "store_meta" and table not in ("classification_nodes", "images"):
                await tx.execute(f"DELETE FROM {table}")

    async def _everything(self, tx: Transaction) -> dict[str, list[Row]]:
        return {table: sorted(await tx.all(f"SELECT * FROM {table}"), key=repr) for table in self._tables}


class _Bytes:
    """Random bytes that are the same in every run."""

    def __init__(self, step: int) -> None:
        self._step, self._count = step, 0

    def __call__(self, size: int | None = None) -> bytes:
        self._count += 1
        return hashlib.shake_256(f"{self._step} {self._count}".encode()).digest(size or 32)


@pytest.fixture(scope="module", params=[AccessActor, KeystoreActor, VaultActor])
def both(request: pytest.FixtureRequest, postgres_server: "PostgresServer") -> Iterator[Both]:
    actor: type[Actor] = request.param
    url = f"{postgres_server.url()}&options=-csearch_path%3Dsame_{actor.area}"
    with tempfile.TemporaryDirectory() as folder:
        stores = Both(actor, Path(folder), url)
        yield stores
        stores.close()


def sequences(actor: type[Actor]) -> st.SearchStrategy[list[tuple[str, Numbers]]]:
    number = st.integers(0, 7)
    step = st.tuples(st.sampled_from(actor.operations()), st.tuples(number, number, number))
    return st.lists(step, min_size=4, max_size=30)


def test_both_engines_answer_alike(both: Both) -> None:
    @settings(max_examples=SEQUENCES, deadline=None)
    @given(sequences(both._actor))
    def check(sequence: list[tuple[str, Numbers]]) -> None:
        (answers, rows), (other_answers, other_rows) = both.run(sequence)
        assert answers == other_answers
        assert rows == other_rows

    check()


JOURNEYS: dict[type[Actor], list[tuple[str, Numbers]]] = {
    AccessActor: [
        ("create_provider", (0, 0, 0)),
        ("create_provider", (0, 0, 0)),
        *[("create_key", (0, 0, 0))] * 3,
        ("authenticate_provider", (0, 0, 0)),
        ("revoke_key", (0, 0, 0)),
        ("subscribe", (0, 0, 0)),
        ("authenticate", (0, 0, 0)),
        ("change_subscription", (0, 0, 0)),
        ("authenticate", (0, 0, 0)),
        ("regenerate", (0, 0, 1)),
        ("regenerate", (0, 0, 1)),
        ("look", (0, 0, 0)),
        ("list_providers", (0, 0, 0)),
    ],
    KeystoreActor: [
        ("issue", (0, 0, 0)),
        ("create_user", (0, 0, 0)),
        ("create_user", (0, 0, 0)),
        ("log_in", (0, 0, 0)),
        ("store_artefact", (0, 0, 0)),
        ("store_key_encryption_key", (0, 0, 0)),
        ("store_key_encryption_key", (1, 0, 0)),
        ("store_data_encryption_key", (3, 0, 0)),
        ("store_data_encryption_key", (3, 0, 0)),
        ("store_keypair", (0, 0, 0)),
        ("store_keypair", (1, 0, 4)),
        ("list_all", (1, 0, 0)),
        ("read_tagged", (0, 0, 0)),
        ("log_out", (0, 0, 0)),
        ("store_data_encryption_key", (4, 0, 0)),
        ("wait", (4, 0, 0)),
        ("prune", (0, 0, 0)),
    ],
    VaultActor: [
        ("import_again", (0, 0, 0)),
        ("list_nodes", (1, 0, 0)),
        ("list_nodes", (0, 1, 1)),
        ("issue_external", (0, 1, 0)),
        ("create_user", (0, 0, 0)),
        ("create_user", (0, 0, 0)),
        ("issue_external", (0, 1, 0)),
        ("log_in", (0, 0, 0)),
        ("make_session", (0, 0, 0)),
        ("authenticate", (0, 0, 0)),
        ("write_after_a_look", (0, 0, 0)),
        ("write_after_a_look", (0, 0, 1)),
        ("authenticate", (0, 0, 0)),
        ("wait", (4, 0, 0)),
        ("prune", (0, 0, 0)),
    ],
}


REFUSED: dict[type[Actor], list[str]] = {
    AccessActor: ["subscription_key_inactive"],
    KeystoreActor: [
        "admission_token_used",
        "key_encryption_key_exists",
        "external_identifier_taken",
        "session_invalid",
    ],
    VaultActor: ["admission_token_used", "vault_account_exists", "session_invalid", "session_invalid"],
}


def test_a_whole_journey_does_what_it_should_on_both(both: Both) -> None:
    # Random sequences could agree in being refused everything: here most steps have to succeed.
    sequence = JOURNEYS[both._actor]
    (answers, rows), (other_answers, other_rows) = both.run(sequence)
    assert answers == other_answers
    assert rows == other_rows
    refused = [answer[0] for answer in answers if isinstance(answer, tuple) and answer[0] in REFUSALS]
    assert refused == REFUSED[both._actor]
