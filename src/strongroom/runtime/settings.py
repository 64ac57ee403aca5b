"""Settings: each declared once with its type, default and meaning; flags come before the environment."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from strongroom.http.client_address import FORWARDED_HEADERS, TrustedProxies

PREFIX = "STRONGROOM_"
AREAS = ("keystore", "vault", "portal")
DATABASES = ("access", "keystore", "vault")

_ADDRESS = re.compile(r"[^\s@<>,\"]+@[^\s@<>,\"]+")
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


class SettingsError(ValueError):
    """A setting is not acceptable. The message names it and never repeats its value."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """What the documentation and `--help` say about a setting."""

    kind: str
    text: str
    secret: bool = False

    @property
    def environment_only(self) -> bool:
        return self.secret


def _setting(default: Any, kind: str, text: str, *, secret: bool = False, shown: bool = True) -> Any:
    return field(default=default, repr=shown and not secret, metadata={"meaning": Meaning(kind, text, secret)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything an operator can set."""

    data: Path = _setting(Path("data"), "path", "Folder of the databases and of the file `secret`; made if missing.")
    host: str = _setting("127.0.0.1", "text", "Address to listen on.")
    port: int = _setting(8000, "number", "Port to listen on; 0 takes a free one.")
    public_url: str | None = _setting(
        None,
        "text",
        "The URL callers use, such as https://vault.example: the realm and the image URLs come from it, never from a "
        "request. Required unless the address is a loopback one.",
    )
    areas: tuple[str, ...] = _setting(
        AREAS, "list", "The areas this process serves: `keystore`, `vault` and `portal`, separated by commas."
    )
    other_area_url: str | None = _setting(
        None,
        "text",
        "URL of the other area, if this process serves only one of `keystore` and `vault`. Without it, what "
        "needs the other area is answered 503: endpoint 9, and key store tokens at endpoint 10.",
    )
    api_url: str | None = _setting(
        None,
        "text",
        "URL of key store and vault, if the portal runs in a process of its own: for its API reference and Try it. "
        "Default: `public_url`.",
    )
    cors_origins: tuple[str, ...] = _setting(
        (),
        "list",
        "Origins such as https://portal.example whose pages may call this API from a browser: for a portal in a "
        "process of its own.",
    )
    trusted_proxies: tuple[str, ...] = _setting(
        (),
        "list",
        "Networks of the proxies in front, such as 127.0.0.1/32: the client address that they report is used "
        "for the limits of the portal, and `connections_per_network` does not apply to them. Without it the address of "
        "the connection counts.",
    )
    forwarded_header: str = _setting(
        "x-forwarded-for",
        "text",
        "The header in which trusted proxies report it: `x-forwarded-for` or `forwarded` (RFC 7239). The other one is "
        "never read.",
    )
    secret: str | None = _setting(
        None, "text", "The server secret, 64 hexadecimal digits. Without it the file `secret` is used.", secret=True
    )
    previous_secret: str | None = _setting(
        None,
        "text",
        "The server secret before the current one, during a rotation: values made with it stay valid.",
        secret=True,
    )
    access_database: str | None = _setting(
        None,
        "text",
        "Database of providers, subscriptions and the developers of the portal: `sqlite:<path>` or `postgresql://...`. "
        "Default: `access.sqlite` in the data folder.",
        shown=False,  # a URL may hold a password
    )
    keystore_database: str | None = _setting(
        None,
        "text",
        "Database of the key store: `sqlite:<path>` or `postgresql://...`. "
        "Default: `keystore.sqlite` in the data folder.",
        shown=False,  # a URL may hold a password
    )
    vault_database: str | None = _setting(
        None,
        "text",
        "Database of the vault: `sqlite:<path>` or `postgresql://...`. Default: `vault.sqlite` in the data folder.",
        shown=False,  # a URL may hold a password
    )
    database_connections: int = _setting(
        0,
        "number",
        "The most connections that a process opens to each PostgreSQL database. 0 is 8, and with several workers their "
        "share of 16, but at least 2.",
    )
    keystore_session_lifetime: int = _setting(43_200, "duration", "Lifetime of a key store session.")
    vault_session_lifetime: int = _setting(43_200, "duration", "Lifetime of a vault session.")
    vault_first_use_window: int = _setting(
        1_800, "duration", "How long after its issue a vault session string may be used for the first time."
    )
    admission_token_lifetime: int = _setting(86_400, "duration", "How long an admission token can be used.")
    hashing_workers: int = _setting(0, "number", "Passphrases hashed at the same time; 0 is one for each core.")
    hashing_queue: int = _setting(64, "number", "Logins that may wait for hashing before the answer is 503.")
    body_timeout: int = _setting(10, "duration", "How long the body of a request may take to arrive.")
    header_timeout: int = _setting(5, "duration", "How long the headers of a request may take to arrive.")
    connections: int = _setting(1_024, "number", "Connections served at the same time; more are answered 503.")
    connections_per_network: int = _setting(
        256,
        "number",
        "Of these, connections from one IPv4 address or one IPv6 /64 network; more are answered 503. Connections from "
        "`trusted_proxies` are not counted here.",
    )
    shutdown_timeout: int = _setting(20, "duration", "How long requests in progress may take when the service stops.")
    operators: tuple[str, ...] = _setting(
        (), "list", "E-mail addresses of the developers who see the operator's pages of the portal."
    )
    operator_second_factor: bool = _setting(
        True, "switch", "Whether the operator's pages open only to accounts with two-step sign-in."
    )
    products: Path | None = _setting(
        None,
        "path",
        "File of the products that developers subscribe to, in TOML; read again when it changes. Default: the one that "
        "ships.",
    )
    key_age_reminder: int = _setting(
        180 * 86_400,
        "duration",
        "How old a key without an end may be before the owners of its organisation are reminded, once, to replace it; "
        "0 for never.",
    )
    portal_session_lifetime: int = _setting(43_200, "duration", "How long a developer stays signed in to the portal.")
    portal_session_idle: int = _setting(3_600, "duration", "How long a session of the portal lasts without use.")
    smtp_url: str | None = _setting(
        None,
        "text",
        "The mail server of the portal: `smtp://user:password@host:587` (STARTTLS) or `smtps://...`. Without it mail "
        "goes to the folder `outbox` of the data folder where only this machine can reach the portal, and nowhere "
        "otherwise.",
        secret=True,
    )
    mail_from: str | None = _setting(
        None, "text", "The address that mail of the portal comes from. Default: `strongroom@` and the host's name."
    )
    log_level: str = _setting("info", "text", "`debug`, `info`, `warning` or `error`.")
    access_log: bool = _setting(True, "switch", "One log line for every request.")

    @property
    def base_url(self) -> str:
        """The URL that image URLs and refusal types start with."""
        return self.public_url or f"http://{_in_url(self.host)}:{self.port}"

    @property
    def databases(self) -> tuple[str, ...]:
        """The databases of the areas served here, and `access`, which every process needs."""
        return tuple(name for name in DATABASES if name == "access" or name in self.areas)

    def database(self, name: str) -> str:
        """Where one of `DATABASES` is: what its setting says, or its file in the data folder as `sqlite:<path>`.

        `SettingsError` where the data folder was made by a version whose portal had a database of its own.
        """
        if _is_there(self.data / "portal.sqlite"):
            raise SettingsError(
                f"the data folder {self.data} holds portal.sqlite, from before the first release, when the portal had "
                "a database of its own: this version cannot read it. Start with a new data folder, or go on with the "
                "version that made this one"
            )
        setting: str | None = getattr(self, f"{name}_database")
        return setting or f"sqlite:{self.data / f'{name}.sqlite'}"

    @property
    def sqlite_areas(self) -> list[str]:
        """The areas on SQLite: the service and a restore both lock each of them in the data folder."""
        kept_in = {"portal": "access"}
        return [area for area in self.areas if not is_postgres(self.database(kept_in.get(area, area)))]

    @property
    def sender(self) -> str:
        """The address that mail comes from."""
        host = urlsplit(self.base_url).hostname or ""
        return self.mail_from or f"strongroom@{host if '.' in host and ':' not in host else 'localhost.localdomain'}"


def meanings() -> dict[str, tuple[Meaning, Any]]:
    """Every setting with its meaning and default, in the order of the manual."""
    return {item.name: (item.metadata["meaning"], item.default) for item in fields(Settings)}


def environment_name(name: str) -> str:
    return PREFIX + name.upper()


def load(environment: Mapping[str, str], given: Mapping[str, str | None] | None = None) -> Settings:
    """Settings from flags (`given`, None where a flag was not used), then the environment. `SettingsError`."""
    values: dict[str, Any] = {}
    for name, (meaning, _) in meanings().items():
        text = (given or {}).get(name)
        if text is None:
            text = environment.get(environment_name(name))
        if text is not None and text != "":
            values[name] = _convert(name, meaning.kind, text)
    settings = Settings(**values)
    _check(settings)
    return settings


def seconds(name: str, text: str) -> int:
    """A duration: a number of seconds, or a number with `s`, `m`, `h` or `d`. `SettingsError` names `name`."""
    found = re.fullmatch(r"(\d{1,9})([smhd]?)", text)
    if not found:
        raise SettingsError(f"{name} has to be a duration such as 90s, 30m or 12h")
    return int(found[1]) * _UNITS[found[2]]


def _convert(name: str, kind: str, text: str) -> Any:
    match kind:
        case "path":
            return Path(text)
        case "number":
            if not re.fullmatch(r"\d{1,9}", text):
                raise SettingsError(f"{name} has to be a number")
            return int(text)
        case "duration":
            return seconds(name, text)
        case "switch":
            if text.lower() not in ("on", "off", "true", "false", "1", "0"):
                raise SettingsError(f"{name} has to be on or off")
            return text.lower() in ("on", "true", "1")
        case "list":
            return tuple(part.strip() for part in text.split(",") if part.strip())
        case _:
            return text


def _check(settings: Settings) -> None:
    if not settings.areas or not set(settings.areas) <= set(AREAS):
        raise SettingsError("areas has to be one or more of keystore, vault and portal")
    if settings.log_level not in ("debug", "info", "warning", "error"):
        raise SettingsError("log_level has to be debug, info, warning or error")
    if settings.port > 65_535:
        raise SettingsError("port has to be at most 65535")
    for name in ("public_url", "other_area_url", "api_url"):
        _check_url(name, getattr(settings, name))
    for origin in settings.cors_origins:
        _check_url("cors_origins", origin)
        if urlsplit(origin).path or origin != origin.lower():
            raise SettingsError("cors_origins has to be origins such as https://portal.example, in lower case")
    if settings.public_url is None and not is_loopback(settings.host):
        raise SettingsError(
            "public_url is required to listen on an address that others can reach: "
            "the realm and the image URLs must not depend on what a request says"
        )
    _check_proxies(settings)
    _check_mail(settings)
    for name in (
        "keystore_session_lifetime",
        "vault_session_lifetime",
        "admission_token_lifetime",
        "portal_session_lifetime",
        "portal_session_idle",
    ):
        if getattr(settings, name) < 1:
            raise SettingsError(f"{name} has to be at least a second")


def _check_proxies(settings: Settings) -> None:
    try:
        TrustedProxies(settings.trusted_proxies, settings.forwarded_header)
    except ValueError:
        raise SettingsError("trusted_proxies has to be networks such as 127.0.0.1/32 or 10.0.0.0/8") from None
    if settings.forwarded_header.lower() not in FORWARDED_HEADERS:
        raise SettingsError("forwarded_header has to be x-forwarded-for or forwarded")


def _check_mail(settings: Settings) -> None:
    if settings.smtp_url is not None:
        try:
            parts = urlsplit(settings.smtp_url)
            whole = parts.scheme in ("smtp", "smtps") and parts.hostname and parts.port != 0
        except ValueError:
            whole = False
        if not whole:
            raise SettingsError("smtp_url has to be a URL such as smtp://user:password@mail.example:587")
    for name, addresses in (("mail_from", (settings.mail_from,)), ("operators", settings.operators)):
        if any(address is not None and not _ADDRESS.fullmatch(address) for address in addresses):
            raise SettingsError(f"{name} has to be e-mail addresses such as keys@vault.example")


def _check_url(name: str, url: str | None) -> None:
    if url is None:
        return
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise SettingsError(f"{name} has to be a URL such as https://vault.example")
    if parts.username or parts.password or url.endswith("/"):
        raise SettingsError(f"{name} has to be without a user name and without a slash at the end")
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        raise SettingsError(f"{name} has to start with https://")


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # the folder cannot be read: opening the file reports that
        return False


def is_postgres(database: str) -> bool:
    """Whether a database setting is the URL of a PostgreSQL server."""
    return database.startswith(("postgresql://", "postgres://"))


def is_loopback(host: str) -> bool:
    """Whether a name or address can only mean this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host
