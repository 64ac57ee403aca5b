"""Second factors turned on and off: authenticator codes, passkeys, recovery codes. Each asks for the password again."""

import base64
import binascii
from typing import Any

import segno
from starlette.responses import JSONResponse, Response

from strongroom.portal.accounts import ceremonies, challenges, passkeys, second_factor
from strongroom.portal.accounts.ceremonies import PasskeyRefused
from strongroom.portal.accounts.developers import Developer
from strongroom.portal.area import PREFIX
from strongroom.portal.lengths import MAX_PASSKEY_NAME
from strongroom.portal.pages.account import WRONG_PASSWORD, current_developer
from strongroom.portal.pages.security import send_notice
from strongroom.portal.refusals import Absent
from strongroom.portal.sealing import Unreadable, seal, unseal
from strongroom.portal.web import signing_in
from strongroom.portal.web.page import Needs, Page, Visit
from strongroom.runtime.ids import from_text
from strongroom.storage import Transaction


async def show_totp(visit: Visit) -> Response:
    return _totp_page(visit, await current_developer(visit), second_factor.new_key(), {})


async def turn_on_totp(visit: Visit) -> Response:
    """On once the device has shown that it holds the key; the recovery codes are shown on the answer, this once."""
    portal, developer = visit.portal, await current_developer(visit)
    try:
        offer = base64.urlsafe_b64decode(visit.form.text("offer"))
        key = unseal(portal.secret, "totp-offer", developer.id, offer).decode()
    except (binascii.Error, ValueError, Unreadable):
        return visit.redirect("/account/totp")
    step = second_factor.matching_step(key, visit.form.text("code"), visit.now)
    errors = {}
    if step is None:
        errors["code"] = "This code does not belong to the key. Look at the clock of the device."
    elif not await signing_in.password_is_right(visit, developer, visit.form.exact("password")):
        errors["password"] = WRONG_PASSWORD
    if errors or step is None:
        return _totp_page(visit, developer, key, errors)
    sealed = second_factor.seal_key(portal.secret, developer.id, key)

    async def work(tx: Transaction) -> list[str]:
        await signing_in.require_unchanged(tx, developer)
        await signing_in.before_first_factor(visit, tx)
        await second_factor.turn_on(tx, developer.id, sealed, step, visit.now)
        await send_notice(visit, tx, developer, "Authenticator codes were turned on for your account.")
        return await second_factor.new_recovery_codes(tx, portal.secret, developer.id, visit.now)

    codes = await visit.write(work)
    return visit.page("recovery_codes.html", codes=codes, turned_on=True)


async def turn_off_totp(visit: Visit) -> Response:
    developer = await current_developer(visit)
    if not await _password(visit, developer):
        return visit.page("off.html", errors={"password": WRONG_PASSWORD}, **_OFF_TOTP)

    async def work(tx: Transaction) -> None:
        await signing_in.require_unchanged(tx, developer)
        if await second_factor.turn_off(tx, developer.id, visit.now):
            await _tidy_codes(tx, developer.id)
            await send_notice(visit, tx, developer, "Authenticator codes were turned off for your account.")

    await visit.write(work)
    return visit.redirect("/account/security", "totp_off")


async def show_turn_off_totp(visit: Visit) -> Response:
    return visit.page("off.html", **_OFF_TOTP)


async def show_recovery_codes(visit: Visit) -> Response:
    return visit.page("new_recovery_codes.html", codes_left=await _codes_left(visit))


async def make_recovery_codes(visit: Visit) -> Response:
    portal, developer = visit.portal, await current_developer(visit)
    if not await _password(visit, developer):
        errors = {"password": WRONG_PASSWORD}
        return visit.page("new_recovery_codes.html", errors=errors, codes_left=await _codes_left(visit))

    async def work(tx: Transaction) -> list[str]:
        await signing_in.require_unchanged(tx, developer)
        await send_notice(visit, tx, developer, "New recovery codes were made for your account.")
        return await second_factor.new_recovery_codes(tx, portal.secret, developer.id, visit.now)

    codes = await visit.write(work)
    return visit.page("recovery_codes.html", codes=codes, turned_on=False)


async def show_passkey(visit: Visit) -> Response:
    if ceremonies.site(visit.portal.base_url) is None:
        raise Absent
    return visit.page("passkey.html")


async def passkey_options(visit: Visit) -> Response:
    """For the script of the page, once the password is right."""
    portal, developer = visit.portal, await current_developer(visit)
    where = ceremonies.site(portal.base_url)
    if where is None:
        raise Absent
    if not await _password(visit, developer):
        return JSONResponse({"error": WRONG_PASSWORD}, 422)
    known = await visit.read(lambda tx: passkeys.list_of(tx, developer.id))
    options = ceremonies.creation_options(
        where, developer.id, developer.email, developer.name, [passkey.credential_id for passkey in known]
    )
    await visit.write(lambda tx: challenges.remember(tx, options.challenge, "register", visit.binding, visit.now))
    return Response(options.json, media_type="application/json")


async def add_passkey(visit: Visit) -> Response:
    portal, developer = visit.portal, await current_developer(visit)
    where = ceremonies.site(portal.base_url)
    if where is None:
        raise Absent
    credential = visit.form.exact("credential")
    name = visit.form.text("name")[:MAX_PASSKEY_NAME] or "Passkey"
    try:
        challenge = ceremonies.challenge_of(credential)
        # A challenge exists only after the right password, and only for this session.
        if not await visit.write(lambda tx: challenges.use(tx, challenge, "register", visit.binding, visit.now)):
            raise PasskeyRefused
        made = ceremonies.verify_new(where, challenge, credential)
    except PasskeyRefused:
        return JSONResponse({"error": "This passkey was not accepted."}, 422)

    left = 0

    async def work(tx: Transaction) -> bool:
        nonlocal left
        await signing_in.before_first_factor(visit, tx)
        left = await second_factor.recovery_codes_left(tx, developer.id)
        added = await passkeys.add(
            tx, developer.id, name, made.credential_id, made.public_key, made.sign_count, visit.now
        )
        if added:
            await send_notice(visit, tx, developer, "A passkey was added to your account.")
        return added

    if not await visit.write(work):
        return JSONResponse({"error": "This passkey is known already, or there are too many."}, 422)
    visit.notify("passkey_added")
    # Without a code left, an owner who loses the device is locked out: a new password does not replace it.
    page = "security" if left else "recovery-codes"
    return visit.with_cookies(JSONResponse({"next": f"{PREFIX}/account/{page}"}))


async def show_remove_passkey(visit: Visit) -> Response:
    return visit.page("off.html", **_off_passkey(visit.path("passkey")))


async def remove_passkey(visit: Visit) -> Response:
    developer = await current_developer(visit)
    passkey_id = from_text(visit.path("passkey"))
    if passkey_id is None:
        raise Absent
    if not await _password(visit, developer):
        errors = {"password": WRONG_PASSWORD}
        return visit.page("off.html", errors=errors, **_off_passkey(visit.path("passkey")))

    async def work(tx: Transaction) -> bool:
        await signing_in.require_unchanged(tx, developer)
        if not await passkeys.remove(tx, developer.id, passkey_id, visit.now):
            return False
        await _tidy_codes(tx, developer.id)
        await send_notice(visit, tx, developer, "A passkey was removed from your account.")
        return True

    if not await visit.write(work):
        raise Absent
    return visit.redirect("/account/security", "passkey_removed")


async def _password(visit: Visit, developer: Developer) -> bool:
    return await signing_in.password_is_right(visit, developer, visit.form.exact("password"))


async def _codes_left(visit: Visit) -> int:
    developer_id = visit.who.developer_id
    return await visit.read(lambda tx: second_factor.recovery_codes_left(tx, developer_id))


async def _tidy_codes(tx: Transaction, developer_id: bytes) -> None:
    """Recovery codes replace a second factor: without any factor they have no purpose."""
    if not await signing_in.has_second_factor(tx, developer_id):
        await second_factor.forget_recovery_codes(tx, developer_id)


def _totp_page(visit: Visit, developer: Developer, key: str, errors: dict[str, str]) -> Response:
    # The key waits in the form, sealed for this developer, until a code proves that a device holds it.
    offer = seal(visit.portal.secret, "totp-offer", developer.id, key.encode())
    code = segno.make(second_factor.uri(key, developer.email), error="m", micro=False)
    return visit.page(
        "totp.html",
        errors=errors,
        key=" ".join(key[i : i + 4] for i in range(0, len(key), 4)),
        offer=base64.urlsafe_b64encode(offer).decode(),
        picture=code.svg_inline(scale=1, border=0, dark="#000", omitsize=True),
    )


_OFF_TOTP: dict[str, Any] = {
    "heading": "Turn off authenticator codes",
    "text": "Sign-in will ask for your password, and for a passkey if you have one.",
    "path": "/account/totp/off",
    "button": "Turn off",
}


def _off_passkey(passkey_id: str) -> dict[str, Any]:
    return {
        "heading": "Remove the passkey",
        "text": "The device that holds it can no longer sign in with it.",
        "path": f"/account/passkeys/{passkey_id}/remove",
        "button": "Remove",
    }


PAGES = (
    Page("GET", "/account/totp", Needs.signed_in, show_totp),
    Page("POST", "/account/totp", Needs.signed_in, turn_on_totp),
    Page("GET", "/account/totp/off", Needs.signed_in, show_turn_off_totp),
    Page("POST", "/account/totp/off", Needs.signed_in, turn_off_totp),
    Page("GET", "/account/recovery-codes", Needs.signed_in, show_recovery_codes),
    Page("POST", "/account/recovery-codes", Needs.signed_in, make_recovery_codes),
    Page("GET", "/account/passkeys", Needs.signed_in, show_passkey),
    Page("POST", "/account/passkeys/options", Needs.signed_in, passkey_options),
    Page("POST", "/account/passkeys", Needs.signed_in, add_passkey),
    Page("GET", "/account/passkeys/{passkey}/remove", Needs.signed_in, show_remove_passkey),
    Page("POST", "/account/passkeys/{passkey}/remove", Needs.signed_in, remove_passkey),
)
