"""The second step of signing in: an authenticator code, a recovery code or a passkey."""

from starlette.responses import JSONResponse, Response

from strongroom.portal import limits
from strongroom.portal.accounts import ceremonies, challenges, developers, passkeys, second_factor, sessions
from strongroom.portal.accounts.ceremonies import PasskeyRefused
from strongroom.portal.accounts.developers import Developer
from strongroom.portal.area import PREFIX
from strongroom.portal.messaging import messages
from strongroom.portal.refusals import Absent
from strongroom.portal.sealing import Unreadable
from strongroom.portal.web import signing_in
from strongroom.portal.web.page import Needs, Page, Visit
from strongroom.storage import Transaction

WRONG = {"code": "This code is not right, or it was used before."}


async def show(visit: Visit) -> Response:
    return await _form(visit, visit.query("next"))


async def check_code(visit: Visit) -> Response:
    """Six digits are an authenticator code, everything else a recovery code."""
    portal, code = visit.portal, visit.form.text("code")
    session = visit.who
    key = session.developer_id.hex()

    async def begin(tx: Transaction) -> int:
        await limits.count(tx, portal.secret, limits.SECOND_FACTOR_DAY, key, visit.now)
        return await limits.count(tx, portal.secret, limits.SECOND_FACTOR, key, visit.now)

    tried = await visit.write(begin)

    async def work(tx: Transaction) -> str | None:
        await developers.lock(tx, session.developer_id)
        developer = await developers.read(tx, session.developer_id)
        if developer is None or not await _accept(visit, tx, developer, code):
            return None
        # The password of the first step may have been changed since: that has ended this session.
        if visit.token is None or not await sessions.end(tx, visit.token):
            return None
        for limit in (limits.SECOND_FACTOR, limits.SECOND_FACTOR_DAY):
            await limits.forget(tx, portal.secret, limit, key)
        return await signing_in.open_session(visit, tx, developer.id, "full")

    token = await visit.write(work)
    if token is None:
        if tried == limits.SECOND_FACTOR.times:
            await _warn_of_guessing(visit)
        return await _form(visit, visit.form.text("next"), WRONG)
    signing_in.remember(visit, token)
    return visit.redirect(signing_in.safe_next(visit.form.text("next")))


async def _warn_of_guessing(visit: Visit) -> None:
    """The caller knows the password, so the owner of the account is warned by mail."""
    portal = visit.portal
    what = "Your password was right at a sign-in, and then many wrong codes were entered for the second step."
    message = messages.security_notice(visit.who.email, what, portal.url("/account/security"))
    await visit.write(lambda tx: portal.mail.enqueue(tx, message, visit.now))


async def passkey_options(visit: Visit) -> Response:
    """For the script of the page: which passkeys may answer, and the challenge for them to sign.

    Before a password was given none is named, so that the answer does not show who has an account.
    """
    where = ceremonies.site(visit.portal.base_url)
    if where is None:
        raise Absent
    await visit.count(limits.CHALLENGES_FROM, visit.network)
    session, known = visit.session, []
    if session is not None:
        known = await visit.read(lambda tx: passkeys.list_of(tx, session.developer_id))
    options = ceremonies.request_options(where, [passkey.credential_id for passkey in known])
    await visit.write(lambda tx: challenges.remember(tx, options.challenge, "sign_in", visit.binding, visit.now))
    return visit.with_cookies(Response(options.json, media_type="application/json"))


async def use_passkey(visit: Visit) -> Response:
    """In place of a code, or of password and code: the device has asked for its PIN or a finger."""
    portal, form = visit.portal, visit.form
    where = ceremonies.site(portal.base_url)
    if where is None:
        raise Absent
    await visit.count(limits.SIGN_IN_FROM, visit.network)
    try:
        token = await _prove(visit, where, form.exact("credential"))
    except PasskeyRefused:
        return visit.with_cookies(JSONResponse({"error": "This passkey was not accepted."}, 422))
    signing_in.remember(visit, token)
    return visit.with_cookies(JSONResponse({"next": PREFIX + signing_in.safe_next(form.text("next"))}))


async def _prove(visit: Visit, where: ceremonies.Site, credential: str) -> str:
    session = visit.session
    challenge = ceremonies.challenge_of(credential)
    credential_id = ceremonies.credential_id_of(credential)
    if not await visit.write(lambda tx: challenges.use(tx, challenge, "sign_in", visit.binding, visit.now)):
        raise PasskeyRefused
    half = await visit.read(lambda tx: passkeys.find(tx, credential_id))
    if half is None or (session is not None and session.developer_id != half.developer_id):
        raise PasskeyRefused
    count = ceremonies.verify(where, challenge, credential, half.public_key, half.sign_count)

    async def work(tx: Transaction) -> str:
        if not await passkeys.use(tx, credential_id, count, visit.now):
            raise PasskeyRefused
        return await signing_in.open_session(visit, tx, half.developer_id, "full")

    return await visit.write(work)


async def _accept(visit: Visit, tx: Transaction, developer: Developer, code: str) -> bool:
    secret = visit.portal.secret
    digits = code.replace(" ", "")
    if len(digits) != 6 or not digits.isdecimal():
        return await second_factor.use_recovery_code(tx, secret, developer.id, code, visit.now)
    if developer.totp_key is None:
        return False
    try:
        key = second_factor.unseal_key(secret, developer.id, developer.totp_key)
    except Unreadable:
        return False
    step = second_factor.matching_step(key, digits, visit.now)
    if step is None or not await second_factor.use_step(tx, developer.id, step):
        return False
    await second_factor.reseal(tx, secret, developer.id, developer.totp_key)
    return True


async def _form(visit: Visit, onward: str, errors: dict[str, str] | None = None) -> Response:
    session = visit.who

    async def look(tx: Transaction) -> tuple[bool, bool]:
        developer = await developers.read(tx, session.developer_id)
        return (
            developer is not None and developer.totp_key is not None,
            bool(await passkeys.list_of(tx, session.developer_id)),
        )

    totp, has_passkeys = await visit.read(look)
    return visit.page(
        "second_factor.html",
        errors=errors,
        next=signing_in.safe_next(onward),
        totp=totp,
        passkeys=has_passkeys and ceremonies.site(visit.portal.base_url) is not None,
    )


_PROOF = "the passkey's signature of a challenge is the proof"

PAGES = (
    Page("GET", "/sign-in/second-factor", Needs.half_signed_in, show),
    Page("POST", "/sign-in/second-factor", Needs.half_signed_in, check_code),
    Page("POST", "/sign-in/passkey/options", Needs.anybody, passkey_options, because="a challenge tells nothing"),
    Page("POST", "/sign-in/passkey", Needs.anybody, use_passkey, because=_PROOF),
)
