"""Makes the portal of a service, and its pages on the first request: their libraries are slow to import."""

import asyncio
import logging
from importlib import import_module
from importlib.util import find_spec

from strongroom.http.asgi import Application, Receive, Scope, Send
from strongroom.http.client_address import TrustedProxies
from strongroom.portal.area import PREFIX, Portal
from strongroom.portal.messaging.mail import MailQueue
from strongroom.portal.subscriptions import products
from strongroom.runtime.clock import Clock
from strongroom.runtime.logging import LOGGER, AccessLog
from strongroom.runtime.secret import ServerSecret
from strongroom.runtime.settings import Settings, SettingsError
from strongroom.services.passphrase_hashing import PassphraseHasher
from strongroom.services.user_metadata import UserDirectory
from strongroom.storage import Store

WARM_UP_SECONDS = 1
HASHING_QUEUE = 16

_logger = logging.getLogger(LOGGER)


def make(
    settings: Settings,
    *,
    store: Store,
    clock: Clock,
    secret: ServerSecret,
    directories: dict[str, UserDirectory],
) -> Portal:
    """`SettingsError` where the portal's libraries are not installed or its file of products is not acceptable."""
    if find_spec("starlette") is None:
        raise SettingsError(
            "for the portal install strongroom[server,portal], or serve without it: --areas keystore,vault"
        )
    from strongroom.portal.messaging.mailers import (
        make as make_mailer,  # the mail libraries: for processes with a portal
    )

    offered = products.Products(settings.products)
    mailer = make_mailer(settings, clock)
    if mailer is None:
        _logger.warning("the portal can send no mail: smtp_url is not set")
    return Portal(
        store=store,
        clock=clock,
        secret=secret,
        settings=settings,
        passwords=PassphraseHasher(secret, 1, HASHING_QUEUE),
        mail=MailQueue(store, clock, secret, mailer),
        products=offered,
        directories=directories,
        proxies=TrustedProxies(settings.trusted_proxies, settings.forwarded_header),
    )


class Pages:
    """The portal's pages as an ASGI application."""

    def __init__(self, portal: Portal, access_log: AccessLog | None) -> None:
        self._portal = portal
        self._access_log = access_log
        self._frame: Application | None = None

    @staticmethod
    def hold(path: str) -> bool:
        """Whether the path of a request is the portal's."""
        return path.startswith(PREFIX) and path[len(PREFIX) : len(PREFIX) + 1] in ("", "/")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (await self._loaded())(scope, receive, send)

    async def warm(self) -> None:
        """Load what the first page needs, once the service listens."""
        await asyncio.sleep(WARM_UP_SECONDS)
        await self._loaded()
        await self._portal.passwords.warm()

    async def _loaded(self) -> Application:
        if self._frame is None:
            frame = await asyncio.to_thread(import_module, "strongroom.portal.web.frame")  # off the event loop
            self._frame = frame.Frame(self._portal, self._access_log)
        return self._frame


async def remind(portal: Portal) -> int:
    """Send what is due; the templates are imported for it, and not when the service starts."""
    reminders = await asyncio.to_thread(import_module, "strongroom.portal.reminders")
    sent: int = await reminders.send(portal)
    return sent
