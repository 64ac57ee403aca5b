"""The regular maintenance of the portal."""

from strongroom.portal import limits, notifications_sent
from strongroom.portal.accounts import challenges, links, sessions, sign_ups
from strongroom.portal.area import Portal
from strongroom.portal.membership import invitations
from strongroom.portal.subscriptions import shown_once
from strongroom.services import pruning

_OVER = (sessions, limits, links, sign_ups, challenges, invitations, shown_once, notifications_sent)


async def prune(portal: Portal) -> int:
    """Delete what has expired, from sessions to counts of attempts, in small transactions; how many rows."""
    now = portal.clock.now()
    return await pruning.prune(portal.store, *((module.prune, now) for module in _OVER))
