"""Mail to the owners: before a subscription or a key ends, for keys that grew old, and where a quota is used up."""

from strongroom.access import key_ends, subscription_states, usage
from strongroom.access.key_ends import DueKey
from strongroom.access.subscriptions import SubscriptionRecord
from strongroom.access.usage import HeavyUse
from strongroom.portal import notifications_sent
from strongroom.portal.area import Portal
from strongroom.portal.messaging import messages
from strongroom.portal.messaging.mail import Message
from strongroom.portal.notifications_sent import OLD_KEY, Notification
from strongroom.portal.rendering import counted, moment
from strongroom.portal.subscriptions import quotas
from strongroom.portal.subscriptions.products import Product
from strongroom.runtime.clock import DAY, SECOND, duration
from strongroom.runtime.ids import to_text

DAYS = (14, 1)
BATCH = 200
_ENDS = {f"end_{days}" for days in DAYS}


async def send(portal: Portal) -> int:
    """Queue every reminder that is due, each once; how many there were."""
    now = portal.clock.now()
    news = await _subscriptions(portal, now) + await _keys(portal, now) + await _quotas(portal, now)
    sent = await _send(portal, news) + await _old_keys(portal, now)
    if sent:
        portal.mail.wake()
    return sent


async def _send(portal: Portal, news: list[Notification]) -> int:
    def several(to: str, provider_id: bytes, some: list[Notification]) -> Message:
        url = portal.url(f"/organisations/{to_text(provider_id)}")
        about_ends = any(one.kind in _ENDS for one in some)
        return messages.several(to, [one.line for one in some], url, about_ends=about_ends)

    return await notifications_sent.send(portal, news, several)


async def _subscriptions(portal: Portal, now: int) -> list[Notification]:
    news: list[Notification] = []
    after, after_id = now, b"\xff" * 16
    while True:
        due = await portal.store.read(
            lambda tx, at=after, row=after_id: subscription_states.ending(tx, at, now + max(DAYS) * DAY, BATCH, row)  # type: ignore[misc]  # bound early
        )
        for record in due:
            assert record.expires_at is not None
            news.append(_subscription(portal, record, record.expires_at, now))
            after, after_id = record.expires_at, record.id
        if len(due) < BATCH:
            return news


def _subscription(portal: Portal, record: SubscriptionRecord, ends_at: int, now: int) -> Notification:
    url = _url(portal, record.provider_id, record.id)
    return Notification(
        record.provider_id,
        record.id,
        _occasion(ends_at, now),
        ends_at,  # a changed end is another occasion
        f"The subscription “{record.name}” ends on {moment(ends_at)}.",
        lambda to: messages.subscription_ends(to, record.name, moment(ends_at), url),
    )


async def _keys(portal: Portal, now: int) -> list[Notification]:
    news: list[Notification] = []
    after, after_hash = now, b"\xff" * 32
    while True:
        due = await portal.store.read(
            lambda tx, at=after, row=after_hash: key_ends.ending(tx, at, now + max(DAYS) * DAY, BATCH, row)  # type: ignore[misc]  # bound early
        )
        for key in due:
            news.append(_key(portal, key, now))
            after, after_hash = key.at, key.key_hash
        if len(due) < BATCH:
            return news


def _key(portal: Portal, key: DueKey, now: int) -> Notification:
    url = _url(portal, key.provider_id, key.subscription_id)
    return Notification(
        key.provider_id,
        key.key_hash,
        _occasion(key.at, now),
        key.at,
        f"The {_key_in_words(key)} ends on {moment(key.at)}.",
        lambda to: messages.key_ends(to, _key_in_words(key), moment(key.at), url),
    )


async def _old_keys(portal: Portal, now: int) -> int:
    age = portal.settings.key_age_reminder * SECOND
    if not age:
        return 0
    sent = 0
    while due := await portal.store.read(lambda tx: key_ends.old(tx, now - age, BATCH)):
        sent += await _send(portal, [_old_key(portal, key, now) for key in due])
    return sent


def _old_key(portal: Portal, key: DueKey, now: int) -> Notification:
    age, url = duration(now - key.at), _url(portal, key.provider_id, key.subscription_id)
    return Notification(
        key.provider_id,
        key.key_hash,
        OLD_KEY,
        key.at,
        f"The {_key_in_words(key)} was made {age} ago: time to replace it.",
        lambda to: messages.key_is_old(to, _key_in_words(key), age, url),
    )


async def _quotas(portal: Portal, now: int) -> list[Notification]:
    news: list[Notification] = []
    for product in portal.products.all:
        if product.quota is not None:
            news += await _quota(portal, product, product.quota, quotas.month(now))
    return news


async def _quota(portal: Portal, product: Product, quota: int, since: int) -> list[Notification]:
    least = -(-quota * min(quotas.SHARES) // 100)
    found = await portal.store.read(lambda tx: usage.at_least(tx, product.id, least, DAY, since))
    return [_used(portal, heavy, quota, since) for heavy in found]


def _used(portal: Portal, heavy: HeavyUse, quota: int, since: int) -> Notification:
    share = next(share for share in quotas.SHARES if heavy.calls * 100 >= quota * share)
    url = f"{_url(portal, heavy.provider_id, heavy.subscription_id)}/usage"
    return Notification(
        heavy.provider_id,
        heavy.subscription_id,
        f"quota_{share}",
        since,
        f"The subscription “{heavy.name}” has used {share} % or more of the {counted(quota, 'call')} of this month. "
        "No call is refused for this.",
        lambda to: messages.quota_used(to, heavy.name, share, quota, url),
    )


def _occasion(ends_at: int, now: int) -> str:
    return f"end_{min(days for days in DAYS if ends_at <= now + days * DAY)}"


def _key_in_words(key: DueKey) -> str:
    """The key in words: `primary key srk_...1a2b of “shop”`."""
    if key.subscription_id is None:
        return f"provider API key “{key.name}” ({key.hint})"
    return f"{key.slot} key {key.hint} of “{key.name}”"


def _url(portal: Portal, provider_id: bytes, subscription_id: bytes | None) -> str:
    """The page where the key is managed."""
    base = f"/organisations/{to_text(provider_id)}"
    return portal.url(
        f"{base}/api-keys" if subscription_id is None else f"{base}/subscriptions/{to_text(subscription_id)}"
    )
