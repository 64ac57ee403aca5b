"""Mail to the owners: before a subscription or a key ends, for keys that grew old, and where a quota is used up."""

from strongroom.access import key_ends, subscription_states, usage
from strongroom.access.key_ends import DueKey
from strongroom.access.subscriptions import SubscriptionRecord
from strongroom.portal import closing, messages, quotas, told
from strongroom.portal.area import Portal
from strongroom.portal.products import Product
from strongroom.portal.rendering import duration, moment
from strongroom.server.clock import DAY, SECOND
from strongroom.server.ids import to_text

DAYS = (14, 1)
BATCH = 200


async def send(portal: Portal) -> int:
    """Put down what is due, each thing once; how many it was about."""
    now = portal.clock.now()
    sent = await _subscriptions(portal, now) + await _keys(portal, now)
    sent += await _old_keys(portal, now) + await _quotas(portal, now)
    # Its people are told as well, so it stands here and not where expired rows are forgotten.
    sent += await closing.finish(portal)
    if sent:
        portal.mail.wake()
    return sent


async def _subscriptions(portal: Portal, now: int) -> int:
    sent, after, after_id = 0, now, b"\xff" * 16
    while True:
        due = await portal.access.read(
            lambda tx, at=after, row=after_id: subscription_states.ending(tx, at, now + max(DAYS) * DAY, BATCH, row)  # type: ignore[misc]  # bound early
        )
        for record in due:
            assert record.expires_at is not None
            sent += await _subscription(portal, record, record.expires_at, now)
            after, after_id = record.expires_at, record.id
        if len(due) < BATCH:
            return sent


async def _subscription(portal: Portal, record: SubscriptionRecord, ends_at: int, now: int) -> bool:
    url = _url(portal, record.provider_id, record.id)
    return await told.owners(
        portal,
        record.provider_id,
        record.id,
        _occasion(ends_at, now),
        ends_at,  # a changed end is another occasion
        lambda to: messages.subscription_ends(to, record.name, moment(ends_at), url),
    )


async def _keys(portal: Portal, now: int) -> int:
    sent, after, after_hash = 0, now, b"\xff" * 32
    while True:
        due = await portal.access.read(
            lambda tx, at=after, row=after_hash: key_ends.ending(tx, at, now + max(DAYS) * DAY, BATCH, row)  # type: ignore[misc]  # bound early
        )
        for key in due:
            sent += await _key(portal, key, now)
            after, after_hash = key.at, key.key_hash
        if len(due) < BATCH:
            return sent


async def _key(portal: Portal, key: DueKey, now: int) -> bool:
    url = _url(portal, key.provider_id, key.subscription_id)
    return await told.owners(
        portal,
        key.provider_id,
        key.key_hash,
        _occasion(key.at, now),
        key.at,
        lambda to: messages.key_ends(to, _called(key), moment(key.at), url),
    )


async def _old_keys(portal: Portal, now: int) -> int:
    age = portal.settings.key_age_reminder * SECOND
    if not age:
        return 0
    sent = 0
    while due := await portal.access.read(lambda tx: key_ends.old(tx, now - age, BATCH)):
        for key in due:
            url = _url(portal, key.provider_id, key.subscription_id)
            sent += await told.owners(
                portal,
                key.provider_id,
                key.key_hash,
                "old",
                key.at,
                lambda to, key=key, url=url: messages.key_is_old(to, _called(key), duration(now - key.at), url),  # type: ignore[misc]  # bound early
            )
            # Afterwards: a crash in between is made good at the next look, where nobody is told again.
            await portal.access.write(lambda tx, row=key.key_hash: key_ends.reminded(tx, row, now))  # type: ignore[misc]  # bound early
    return sent


async def _quotas(portal: Portal, now: int) -> int:
    return sum([await _quota(portal, product, now) for product in portal.products.all if product.quota])


async def _quota(portal: Portal, product: Product, now: int) -> int:
    assert product.quota is not None
    quota, since = product.quota, quotas.month(now)
    least = -(-quota * min(quotas.SHARES) // 100)
    sent = 0
    for heavy in await portal.access.read(lambda tx: usage.at_least(tx, product.id, least, DAY, since)):
        share = next(share for share in quotas.SHARES if heavy.calls * 100 >= quota * share)
        url = f"{_url(portal, heavy.provider_id, heavy.subscription_id)}/usage"
        sent += await told.owners(
            portal,
            heavy.provider_id,
            heavy.subscription_id,
            f"quota_{share}",
            since,
            lambda to, heavy=heavy, share=share, url=url: messages.quota_used(to, heavy.name, share, quota, url),  # type: ignore[misc]  # bound early
        )
    return sent


def _occasion(ends_at: int, now: int) -> str:
    return f"end_{min(days for days in DAYS if ends_at <= now + days * DAY)}"


def _called(key: DueKey) -> str:
    """The key in words: `primary key srk_...1a2b of “shop”`."""
    if key.subscription_id is None:
        return f"provider API key “{key.name}” ({key.hint})"
    return f"{key.slot} key {key.hint} of “{key.name}”"


def _url(portal: Portal, provider_id: bytes, subscription_id: bytes | None) -> str:
    """Where the key is looked after."""
    base = f"/organisations/{to_text(provider_id)}"
    return portal.url(
        f"{base}/api-keys" if subscription_id is None else f"{base}/subscriptions/{to_text(subscription_id)}"
    )
