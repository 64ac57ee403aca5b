"""What every part of the portal shares: settings, database, secret, clock, mail."""

from dataclasses import dataclass

from strongroom.http.client_address import TrustedProxies
from strongroom.portal.messaging.mail import MailQueue
from strongroom.portal.subscriptions.products import Products
from strongroom.runtime.clock import Clock
from strongroom.runtime.secret import ServerSecret
from strongroom.runtime.settings import Settings
from strongroom.services.passphrase_hashing import PassphraseHasher
from strongroom.services.user_metadata import UserDirectory
from strongroom.storage import Store

PREFIX = "/portal"
"""The path of the portal; every page is below it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Portal:
    store: Store
    """The `access` database: providers, subscriptions and keys, and the developers who manage them."""
    clock: Clock
    secret: ServerSecret
    settings: Settings
    passwords: PassphraseHasher
    """Separate from the key store's, so that many sign-ins here do not delay users there."""
    mail: MailQueue
    products: Products
    directories: dict[str, UserDirectory]
    """The users of each area that runs in this process, by its name."""
    proxies: TrustedProxies

    @property
    def base_url(self) -> str:
        return self.settings.base_url

    @property
    def api_url(self) -> str:
        """The URL of key store and vault."""
        return self.settings.api_url or self.base_url

    @property
    def secure(self) -> bool:
        """Whether browsers reach it over TLS: cookies are then bound to this host and never sent in clear."""
        return self.base_url.startswith("https://")

    @property
    def keeps_mail(self) -> bool:
        """Whether mail stays on this machine, in the outbox of development."""
        return self.mail.is_set_up and self.settings.smtp_url is None

    def url(self, path: str) -> str:
        """The whole address of a page, for mail."""
        return f"{self.base_url}{PREFIX}{path}"
