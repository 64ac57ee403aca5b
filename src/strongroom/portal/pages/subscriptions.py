"""Subscriptions of an organisation: made, activated, renamed, given an end, cancelled."""

from starlette.responses import Response

from strongroom.portal.pages.organisation import name_error, provider_of
from strongroom.portal.refusals import Absent
from strongroom.portal.rendering import day
from strongroom.portal.subscriptions import decisions, quotas, shown_once, subscribing
from strongroom.portal.subscriptions.products import Product
from strongroom.portal.subscriptions.subscribing import Detail
from strongroom.portal.web.page import Needs, Page, Visit
from strongroom.runtime.clock import SECOND
from strongroom.runtime.ids import from_text, to_text
from strongroom.storage import Transaction

WRONG_DAY = "Choose a day after today, at most ten years from now."
NO_LATER_END = "The product allows no later end."


def path_of(visit: Visit, subscription_id: bytes) -> str:
    return f"/organisations/{visit.path('organisation')}/subscriptions/{to_text(subscription_id)}"


async def detail_of(visit: Visit) -> Detail:
    """The subscription of the path, if it is the organisation's."""
    provider_id, subscription_id = visit.organisation.provider_id, from_text(visit.path("subscription"))
    return await visit.read(lambda tx: subscribing.read(tx, provider_id, subscription_id, visit.now))


def _product(visit: Visit) -> Product:
    product = visit.portal.products.find(visit.path("product"))
    if product is None:
        raise Absent
    return product


async def show_subscribe(visit: Visit) -> Response:
    return visit.page("subscription/new.html", product=_product(visit), provider=await provider_of(visit))


async def subscribe(visit: Visit) -> Response:
    portal, now, who = visit.portal, visit.now, visit.who
    product, provider = _product(visit), await provider_of(visit)
    name = visit.form.text("name")
    errors = {}
    wrong = name_error(name)
    if wrong is not None:
        errors["name"] = wrong
    if product.terms and not visit.form.text("terms"):
        errors["terms"] = "Agree to the terms to subscribe."
    try:
        ends = subscribing.key_expiry(visit.form.text("key_ends"), now)
    except subscribing.WrongExpiry:
        errors["key_ends"] = WRONG_DAY

    async def work(tx: Transaction) -> tuple[bytes, bytes]:
        new = await subscribing.subscribe(tx, provider.id, product, name, who.developer_id, now, ends)
        values = {"primary": new.primary, "secondary": new.secondary}
        if product.approval:
            await decisions.notify_operators(tx, portal, name, provider.name, product.name, now)
        return new.id, await shown_once.put(tx, portal.secret, who.id, new.id, values, now)

    if not errors:
        try:
            subscription_id, row = await visit.write(work)
        except subscribing.TooManySubscriptions:
            errors["name"] = f"An organisation has at most {subscribing.MAX_IN_FORCE} subscriptions."
    if errors:
        return visit.page("subscription/new.html", product=product, provider=provider, errors=errors)
    return visit.redirect(f"{path_of(visit, subscription_id)}/keys/{to_text(row)}")


async def show(visit: Visit) -> Response:
    return await subscription_page(visit, await detail_of(visit), {})


async def activate(visit: Visit) -> Response:
    provider_id, now, who = visit.organisation.provider_id, visit.now, visit.who.developer_id
    record = (await detail_of(visit)).subscription
    path, shown = path_of(visit, record.id), from_text(visit.form.text("shown"))

    async def work(tx: Transaction) -> tuple[bool, bool]:
        if not await subscribing.activate(tx, provider_id, record.id, who, now):
            return False, False
        # The page of the new keys can be come back to for five minutes.
        return True, shown is not None and await shown_once.is_waiting(tx, shown, visit.who.id, record.id, now)

    done, still_shown = await visit.write(work)
    if shown is not None and still_shown:
        path = f"{path}/keys/{to_text(shown)}"
    return visit.redirect(path, "subscription_activated" if done else "nothing_changed")


async def rename(visit: Visit) -> Response:
    provider_id, now, who = visit.organisation.provider_id, visit.now, visit.who.developer_id
    detail = await detail_of(visit)
    name = visit.form.text("name")
    wrong = name_error(name)
    if wrong is not None:
        return await subscription_page(visit, detail, {"name": wrong})
    done = await visit.write(lambda tx: subscribing.rename(tx, provider_id, detail.subscription.id, name, who, now))
    return visit.redirect(path_of(visit, detail.subscription.id), "renamed" if done else "nothing_changed")


async def set_expiry(visit: Visit) -> Response:
    provider_id, now, who = visit.organisation.provider_id, visit.now, visit.who.developer_id
    detail = await detail_of(visit)
    record = detail.subscription
    product = visit.portal.products.find(record.product)
    try:
        at = subscribing.expiry(visit.form.text("ends"), record, product, now)
    except subscribing.WrongExpiry:
        latest = subscribing.latest_end(record, product)
        if latest is None:
            wrong = WRONG_DAY
        elif latest <= now:
            wrong = NO_LATER_END
        else:
            wrong = f"Choose a day after today, and no later than {day(latest)}."
        return await subscription_page(visit, detail, {"ends": wrong})
    done = await visit.write(lambda tx: subscribing.set_expiry(tx, provider_id, record.id, at, who, now))
    return visit.redirect(path_of(visit, record.id), "expiry_changed" if done else "nothing_changed")


async def show_cancel(visit: Visit) -> Response:
    detail = await detail_of(visit)
    return visit.page("subscription/cancel.html", detail=detail, provider=await provider_of(visit))


async def cancel(visit: Visit) -> Response:
    provider_id, now, who = visit.organisation.provider_id, visit.now, visit.who.developer_id
    record = (await detail_of(visit)).subscription
    done = await visit.write(lambda tx: subscribing.cancel(tx, provider_id, record.id, who, now))
    return visit.redirect(path_of(visit, record.id), "subscription_cancelled" if done else "nothing_changed")


async def subscription_page(visit: Visit, detail: Detail, errors: dict[str, str]) -> Response:
    """The page of a subscription, with what was wrong in one of its forms."""
    portal, record = visit.portal, detail.subscription
    product = portal.products.find(record.product)
    latest = subscribing.latest_end(record, product)

    async def look(tx: Transaction) -> tuple[quotas.Used, str | None]:
        used = await quotas.read(tx, record.provider_id, record.id, product, visit.now)
        return used, await decisions.reason_of(tx, record)

    used, reason = await visit.read_many(look)
    return visit.page(
        "subscription/detail.html",
        errors=errors,
        reason=reason,
        provider=await provider_of(visit),
        detail=detail,
        product=product,
        used=used,
        no_later_end=NO_LATER_END if latest is not None and latest <= visit.now else None,
        old_after=portal.settings.key_age_reminder * SECOND,
    )


_BASE = "/organisations/{organisation}/subscriptions/{subscription}"

PAGES = (
    Page("GET", "/organisations/{organisation}/subscribe/{product}", Needs.member, show_subscribe),
    Page("POST", "/organisations/{organisation}/subscribe/{product}", Needs.member, subscribe),
    Page("GET", _BASE, Needs.member, show),
    Page("POST", f"{_BASE}/activate", Needs.member, activate),
    Page("POST", f"{_BASE}/name", Needs.member, rename),
    Page("POST", f"{_BASE}/expiry", Needs.member, set_expiry),
    Page("GET", f"{_BASE}/cancel", Needs.owner, show_cancel),
    Page("POST", f"{_BASE}/cancel", Needs.owner, cancel),
)
