"""Mail to the owners before a subscription ends: once two weeks, and once a day before."""

from strongroom.access import subscription_states
from strongroom.access.subscriptions import SubscriptionRecord
from strongroom.portal import messages, organisations
from strongroom.portal.area import Portal
from strongroom.portal.rendering import moment
from strongroom.server.clock import DAY
from strongroom.server.db import Transaction
from strongroom.server.ids import to_text

DAYS = (14, 1)
BATCH = 200

# The row decides: of two processes that look at the same time one sends the mail. A changed end is a new row.
NOTE = """
INSERT INTO reminders (subscription_id, expires_at, days) VALUES (:subscription_id, :expires_at, :days)
ON CONFLICT (subscription_id, expires_at, days) DO NOTHING
"""
PRUNE = "DELETE FROM reminders WHERE expires_at < :now"


async def send(portal: Portal) -> int:
    """Put down what is due, each time once; how many subscriptions it was about."""
    now = portal.clock.now()
    due = await portal.access.read(lambda tx: subscription_states.ending(tx, now, now + max(DAYS) * DAY, BATCH))
    sent = 0
    for record in due:
        sent += await portal.store.write(lambda tx, record=record: _remind(portal, tx, record, now))  # type: ignore[misc]  # bound early
    if sent:
        portal.mail.wake()
    await portal.store.write(lambda tx: tx.put(PRUNE, now=now))
    return sent


async def _remind(portal: Portal, tx: Transaction, record: SubscriptionRecord, now: int) -> int:
    assert record.expires_at is not None
    days = min(days for days in DAYS if record.expires_at <= now + days * DAY)
    if not await tx.run(NOTE, subscription_id=record.id, expires_at=record.expires_at, days=days):
        return 0
    url = portal.url(f"/organisations/{to_text(record.provider_id)}/subscriptions/{to_text(record.id)}")
    for member in await organisations.members_of(tx, record.provider_id):
        if member.role == "owner":
            message = messages.subscription_ends(member.email, record.name, moment(record.expires_at), url)
            await portal.mail.put(tx, message, now)
    return 1
