"""Organisations with one of everything, made by the pages alone, and all rows of the databases to compare."""

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import pyotp
from tests.portal.authenticator import Authenticator

from strongroom.crypto.checksum import with_checksum
from strongroom.portal.web.page import Page
from strongroom.storage import Row, Store, Transaction

if TYPE_CHECKING:
    from tests.portal.conftest import Browser, Site

OPERATOR = "operator@example.com"
PASSWORD = "plain words for a portal"
# As a client derives it: cheap for the service to hash.
LOGIN_SECRET = with_checksum("srl1_" + "em9lLi4u" * 5 + "em8")
SECRET_NAME = "a name that is secret"
UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
KEY = re.compile(r"\bsr[kp]_[0-9A-Za-z]{49}\b")
# Counts of attempts belong to no organisation and change all the time.
PASSING = frozenset({"attempts"})

Rows: TypeAlias = dict[str, dict[str, list[Row]]]
"""By database and table."""


@dataclass
class Organisation:
    """An organisation with one of everything that a path can name."""

    owner: "Browser"
    member: "Browser"
    ids: dict[str, str] = field(default_factory=dict)
    """By the name in the patterns of paths."""
    subscription_key: str = field(default="", repr=False)
    provider_api_key: str = field(default="", repr=False)

    @property
    def base(self) -> str:
        return f"/organisations/{self.ids['organisation']}"

    @property
    def subscription(self) -> str:
        return f"{self.base}/subscriptions/{self.ids['subscription']}"

    def address(self, page: Page, **other: str) -> str:
        """The path of the page; a KeyError for a parameter of a new page that is missing in `ids`."""
        values = {**self.ids, "product": "sandbox", "act": "suspend", "area": "keystore"}
        if "/api-keys/new/" in page.path:
            values["shown"] = values["shown_api_key"]
        values |= other
        return re.sub(r"\{([a-z_]+)\}", lambda found: values[found[1]], page.path)


async def furnish(site: "Site", name: str, owner: str, member: str) -> Organisation:
    """Found an organisation, with a colleague, subscriptions, keys (some still to be shown) and an open invitation."""
    made = Organisation(await site.sign_up(owner, name="Olga"), await site.sign_up(member, name="Max"))
    browser = made.owner
    await add_passkey(browser)
    made.ids["passkey"] = _between(browser.text, "/account/passkeys/", "/remove")
    await browser.get("/organisations/new")
    await browser.send("/organisations/new", name=name)
    made.ids["organisation"] = made.ids["provider"] = browser.path.removeprefix("/organisations/")
    await _people(site, made, member)
    await _keys(made)
    if "keystore" in site.portal.directories:
        made.ids["user"] = await register_user(made)
    return made


async def _people(site: "Site", made: Organisation, member: str) -> None:
    browser, base = made.owner, made.base
    await browser.get(f"{base}/people")
    await browser.send(f"{base}/people/invite", email=member, role="member")
    link = await site.link(member, "/invitations/")
    await made.member.get(link)
    await made.member.send(link)
    await browser.get(f"{base}/people")
    await browser.send(f"{base}/people/invite", email=f"carol-{member}", role="member")
    made.ids["developer"] = _between(browser.text, f"{base}/people/", "/remove")
    made.ids["invitation"] = _between(browser.text, f"{base}/invitations/", "/withdraw")


async def _keys(made: Organisation) -> None:
    browser, base = made.owner, made.base
    made.ids["waiting"], _ = await subscribe(browser, base, "production")
    made.ids["inactive"], _ = await subscribe(browser, base, "sandbox")
    made.ids["subscription"], made.subscription_key = await subscribe(browser, base, "sandbox")
    await browser.send(f"{made.subscription}/activate")
    await browser.get(f"{base}/api-keys")
    await browser.send(f"{base}/api-keys", name=SECRET_NAME)
    made.provider_api_key = KEY.findall(browser.text)[0]
    browser.http.follow_redirects = False  # what follows still waits to be shown
    await browser.get(f"{base}/api-keys")
    made.ids["key"] = _between(browser.text, f"{base}/api-keys/", "/revoke")
    answer = await browser.send(f"{base}/api-keys", name="next")
    made.ids["shown_api_key"] = answer.headers["location"].rpartition("/")[2]
    await browser.get(f"{base}/api-keys")
    [second] = set(re.findall(f"{base}/api-keys/({UUID})/revoke", browser.text)) - {made.ids["key"]}
    await browser.post(f"{base}/api-keys/{second}/revoke", grace="none")  # there is room for another one
    await browser.get(made.subscription)
    await browser.post(f"{made.subscription}/keys", slot="primary", grace="week")
    answer = await browser.post(f"{made.subscription}/keys", slot="secondary", grace="none")
    made.ids["shown"] = answer.headers["location"].rpartition("/")[2]
    browser.http.follow_redirects = True


async def subscribe(browser: "Browser", base: str, product: str, name: str = SECRET_NAME) -> tuple[str, str]:
    """The id of the subscription, and its primary key; the browser stays on the page that shows it."""
    await browser.get(f"{base}/subscribe/{product}")
    await browser.send(f"{base}/subscribe/{product}", name=name, terms="yes")
    found = re.search(f"/subscriptions/({UUID})/keys/", browser.path)
    assert found, browser.text
    return found[1], KEY.findall(browser.text)[0]


async def add_passkey(browser: "Browser") -> None:
    authenticator = Authenticator()
    await browser.get("/account/passkeys")
    options = await browser.post("/account/passkeys/options", password=PASSWORD)
    answer = await browser.post("/account/passkeys", credential=authenticator.make(options.json()), name="blue key")
    assert answer.status_code == 200, answer.text
    await browser.get("/account/security")


async def operator(site: "Site") -> "Browser":
    """The operator, signed in, with a second factor."""
    browser = await site.sign_up(OPERATOR)
    await browser.get("/account/totp")
    found = re.search(r'<code id="key"[^>]*>([A-Z2-7 ]+)</code>', browser.text)
    assert found
    code = pyotp.TOTP(found[1].replace(" ", "")).at(site.clock.now() // 1000)
    await browser.send("/account/totp", code=code, password=PASSWORD)
    await browser.get("/operator")
    return browser


async def register_user(made: Organisation, username: str = "zoe") -> str:
    """A user of the key store, registered with the keys of the organisation; the id that the portal knows."""
    http, headers = made.owner.http, {"Service-Subscription-Key": made.subscription_key}
    answer = await http.post("/keystore/admission_tokens", headers={**headers, "Authorization": made.provider_api_key})
    assert answer.status_code == 201, answer.text
    body = {
        "admission_token": answer.json()["admission_token"]["token_value"],
        "username": username,
        "passphrase": LOGIN_SECRET,
    }
    answer = await http.post("/keystore/users", headers=headers, json=body)
    assert answer.status_code == 201, answer.text
    await made.owner.get(f"{made.base}/users")
    return _between(made.owner.text, f"{made.base}/users/keystore/", "/suspend")


async def log_in(made: Organisation, username: str = "zoe") -> tuple[int, str]:
    """The status of a log-in to the key store, and the code of the refusal."""
    headers, body = (
        {"Service-Subscription-Key": made.subscription_key},
        {"username": username, "passphrase": LOGIN_SECRET},
    )
    answer = await made.owner.http.post("/keystore/session", headers=headers, json=body)
    return answer.status_code, "" if answer.status_code == 201 else str(answer.json()["type"]).rpartition("/")[2]


def token_of(browser: "Browser") -> str:
    """What proves that a form comes from the page this browser looks at."""
    found = re.search(r'name="csrf_token" value="([^"]+)"', browser.text)
    assert found
    return found[1]


async def rows(site: "Site") -> Rows:
    """Everything that is stored."""
    return {name: await _dump(store) for name, store in _stores(site).items()}


async def restore(site: "Site", kept: Rows) -> None:
    """Make everything as it was."""
    for name, store in _stores(site).items():
        await _load(store, kept[name])


def differences(before: Rows, after: Rows) -> set[str]:
    """The tables that hold something else."""
    return {
        table
        for database, tables in before.items()
        for table, found in tables.items()
        if table not in PASSING and found != after[database][table]
    }


def of(dumped: Rows, text: str) -> list[Row]:
    """The rows that name an id."""
    name = bytes.fromhex(text.replace("-", ""))
    return [row for tables in dumped.values() for found in tables.values() for row in found if name in row]


def _stores(site: "Site") -> dict[str, Store]:
    stores = {"access": site.portal.store}
    if site.application.keystore is not None:
        stores["keystore"] = site.application.keystore.store
    return stores


async def _dump(store: Store) -> dict[str, list[Row]]:
    async def look(tx: Transaction) -> dict[str, list[Row]]:
        tables = await tx.all("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
        return {name: sorted(await tx.all(f"SELECT * FROM {name}"), key=repr) for (name,) in tables}

    return await store.read_many(look)


async def _load(store: Store, tables: dict[str, list[Row]]) -> None:
    async def fill(tx: Transaction) -> None:
        for name, found in tables.items():
            await tx.run(f"DELETE FROM {name}")
            for row in found:
                values = {f"v{number}": value for number, value in enumerate(row)}
                places = ", ".join(f":{value}" for value in values)
                await tx.run(f"INSERT INTO {name} VALUES ({places})", **values)

    await store.write(fill)


def _between(text: str, before: str, after: str) -> str:
    found = re.search(f"{re.escape(before)}({UUID}){re.escape(after)}", text)
    assert found, (before, text)
    return found[1]
