"""Keys: shown once when they are made, subscription keys regenerated, provider API keys created and revoked."""

from starlette.responses import Response

from strongroom.access import providers, subscriptions
from strongroom.portal.documentation import examples
from strongroom.portal.pages.organisation import name_error, provider_of
from strongroom.portal.pages.subscriptions import WRONG_DAY, detail_of, path_of, subscription_page
from strongroom.portal.refusals import Absent
from strongroom.portal.subscriptions import api_keys, shown_once, subscribing
from strongroom.portal.subscriptions.subscribing import GRACES
from strongroom.portal.web.page import Needs, Page, Visit
from strongroom.runtime.clock import SECOND
from strongroom.runtime.ids import from_text, to_text
from strongroom.storage import Transaction


async def show_new_keys(visit: Visit) -> Response:
    """The one page that shows subscription keys, with calls to paste that hold them.

    Where they have to be activated first, the page can be opened a second time after the activation.
    """
    portal, now, session_id = visit.portal, visit.now, visit.who.id
    detail = await detail_of(visit)
    record = detail.subscription
    waits = record.state_at(now) == "submitted" and record.approved_at is not None

    async def take(tx: Transaction) -> tuple[dict[str, str] | None, bytes | None]:
        values = await _take(visit, tx, record.id)
        if values is None or not waits:
            return values, None
        return values, await shown_once.put(tx, portal.secret, session_id, record.id, values, now)

    values, again = await visit.write(take)
    if values is None:
        return visit.redirect(path_of(visit, record.id), "shown_before")
    key = values.get("primary") or values["secondary"]
    base_url = portal.api_url
    api_keys = await visit.read(lambda tx: providers.keys_of(tx, record.provider_id))
    return visit.page(
        "subscription/keys.html",
        provider=await provider_of(visit),
        detail=detail,
        keys=values,
        again=again,
        has_api_key=any(one.revoked_at is None or one.revoked_at > now for one in api_keys),
        curl=examples.first_call_curl(base_url, subscription_key=key),
        python=examples.first_call_python(base_url, subscription_key=key),
    )


async def regenerate(visit: Visit) -> Response:
    portal, provider_id, now, who = visit.portal, visit.organisation.provider_id, visit.now, visit.who
    detail = await detail_of(visit)
    record = detail.subscription
    slot, grace = visit.form.text("slot"), visit.form.text("grace")
    if slot not in subscriptions.SLOTS or grace not in GRACES:
        raise Absent
    try:
        ends = subscribing.key_expiry(visit.form.text("key_ends"), now)
    except subscribing.WrongExpiry:
        return await subscription_page(visit, detail, {f"new-ends-{slot}": WRONG_DAY})

    async def work(tx: Transaction) -> bytes | None:
        actor_id, old_works = who.developer_id, GRACES[grace]
        key = await subscribing.regenerate(tx, provider_id, record.id, slot, old_works, actor_id, now, ends)
        if key is None:
            return None
        return await shown_once.put(tx, portal.secret, who.id, record.id, {slot: key}, now)

    row = await visit.write(work)
    if row is None:
        return visit.redirect(path_of(visit, record.id), "nothing_changed")
    return visit.redirect(f"{path_of(visit, record.id)}/keys/{to_text(row)}")


async def set_key_expiry(visit: Visit) -> Response:
    """Give the key of one slot an end, move it, or take it away with an empty field."""
    provider_id, now, who = visit.organisation.provider_id, visit.now, visit.who.developer_id
    detail = await detail_of(visit)
    row, slot = detail.subscription.id, visit.form.text("slot")
    if slot not in subscriptions.SLOTS:
        raise Absent
    try:
        at = subscribing.key_expiry(visit.form.text("key_ends"), now)
    except subscribing.WrongExpiry:
        return await subscription_page(visit, detail, {f"ends-{slot}": WRONG_DAY})
    done = await visit.write(lambda tx: subscribing.set_key_expiry(tx, provider_id, row, slot, at, who, now))
    return visit.redirect(path_of(visit, row), "key_expiry_changed" if done else "nothing_changed")


async def end_replaced(visit: Visit) -> Response:
    """End the keys of one slot that were replaced: for a key that leaked or is no longer in use."""
    provider_id, now, who = visit.organisation.provider_id, visit.now, visit.who.developer_id
    record, slot = (await detail_of(visit)).subscription, visit.form.text("slot")
    if slot not in subscriptions.SLOTS:
        raise Absent
    path = path_of(visit, record.id)
    if not visit.is_confirmed:
        text = f"Every call with the old {slot} key of {record.name} is refused from now on."
        return visit.ask("End the old key now?", text, "End it now", path, slot=slot)
    done = await visit.write(lambda tx: subscribing.end_replaced_keys(tx, provider_id, record.id, slot, who, now))
    return visit.redirect(path, "key_ended" if done else "nothing_changed")


async def show_api_keys(visit: Visit) -> Response:
    return await _api_keys(visit, {})


async def create_api_key(visit: Visit) -> Response:
    portal, provider_id, now, who = visit.portal, visit.organisation.provider_id, visit.now, visit.who
    name = visit.form.text("name")
    error = name_error(name)

    async def work(tx: Transaction) -> bytes:
        key = await api_keys.create(tx, provider_id, name, now, actor_id=who.developer_id)
        return await shown_once.put(tx, portal.secret, who.id, provider_id, {"name": name, "key": key}, now)

    if error is None:
        try:
            row = await visit.write(work)
        except providers.TooManyKeys:
            error = "There are two active keys. Revoke one of them first."
    if error is not None:
        return await _api_keys(visit, {"name": error})
    return visit.redirect(f"/organisations/{visit.path('organisation')}/api-keys/new/{to_text(row)}")


async def show_new_api_key(visit: Visit) -> Response:
    provider_id = visit.organisation.provider_id
    values = await visit.write(lambda tx: _take(visit, tx, provider_id))
    if values is None:
        return visit.redirect(f"/organisations/{visit.path('organisation')}/api-keys", "shown_before")
    base_url = visit.portal.api_url
    return visit.page(
        "organisation/new_api_key.html",
        provider=await provider_of(visit),
        made=values,
        curl=examples.first_call_curl(base_url, provider_api_key=values["key"]),
        python=examples.first_call_python(base_url, provider_api_key=values["key"]),
    )


async def revoke_api_key(visit: Visit) -> Response:
    provider_id, now, who = visit.organisation.provider_id, visit.now, visit.who
    key_id, grace = from_text(visit.path("key")), visit.form.text("grace")
    if key_id is None or grace not in GRACES:
        raise Absent

    path = f"/organisations/{visit.path('organisation')}/api-keys"
    if not visit.is_confirmed:
        keys = await visit.read(lambda tx: providers.keys_of(tx, provider_id))
        key = next((key for key in keys if key.id == key_id), None)
        if key is None:
            raise Absent
        when = f"in {'an' if grace == 'hour' else 'a'} {grace}" if GRACES[grace] else "at once"
        text = f"Servers that use {key.hint} are refused {when}. This cannot be undone."
        return visit.ask(f"Revoke {key.name}?", text, "Revoke the key", path, grace=grace)

    done = await visit.write(
        lambda tx: api_keys.revoke(tx, provider_id, key_id, GRACES[grace], now, actor_id=who.developer_id)
    )
    notice = "api_key_revoked" if done else "nothing_changed"
    return visit.redirect(path, notice)


async def _take(visit: Visit, tx: Transaction, subject_id: bytes) -> dict[str, str] | None:
    row = from_text(visit.path("shown"))
    if row is None:
        return None
    return await shown_once.take(tx, visit.portal.secret, row, visit.who.id, subject_id, visit.now)


async def _api_keys(visit: Visit, errors: dict[str, str]) -> Response:
    provider = await provider_of(visit)
    found = await visit.read(lambda tx: providers.keys_of(tx, provider.id))
    return visit.page(
        "organisation/api_keys.html",
        errors=errors,
        provider=provider,
        old_after=visit.portal.settings.key_age_reminder * SECOND,
        keys=[key for key in found if key.revoked_at is None or key.revoked_at > visit.now],
        revoked=[key for key in found if key.revoked_at is not None and key.revoked_at <= visit.now],
    )


_SUBSCRIPTION = "/organisations/{organisation}/subscriptions/{subscription}"
_API_KEYS = "/organisations/{organisation}/api-keys"

PAGES = (
    Page("GET", f"{_SUBSCRIPTION}/keys/{{shown}}", Needs.member, show_new_keys),
    Page("POST", f"{_SUBSCRIPTION}/keys", Needs.member, regenerate),
    Page("POST", f"{_SUBSCRIPTION}/key-expiry", Needs.member, set_key_expiry),
    Page("POST", f"{_SUBSCRIPTION}/replaced-keys", Needs.member, end_replaced),
    Page("GET", _API_KEYS, Needs.member, show_api_keys),
    Page("POST", _API_KEYS, Needs.owner, create_api_key),
    Page("GET", f"{_API_KEYS}/new/{{shown}}", Needs.owner, show_new_api_key),
    Page("POST", f"{_API_KEYS}/{{key}}/revoke", Needs.owner, revoke_api_key),
)
