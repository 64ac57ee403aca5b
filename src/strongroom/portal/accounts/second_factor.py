"""Authenticator codes (TOTP, RFC 6238) and the recovery codes for when the device is lost."""

import hashlib
import hmac
import secrets
from typing import Final

import pyotp

from strongroom.portal.sealing import is_current, seal, unseal
from strongroom.runtime.secret import ServerSecret
from strongroom.services import audit
from strongroom.services.audit import Action
from strongroom.storage import Transaction

STEP: Final = 30
RECOVERY_CODES: Final = 10
# No letter that looks like a digit, for codes that are copied by hand: 50 bits each.
_ALPHABET: Final = "abcdefghjkmnpqrstuvwxyz023456789"

TURN_ON = "UPDATE developers SET totp_key = :totp_key, totp_since = :now, totp_last_step = :step WHERE id = :id"
TURN_OFF = "UPDATE developers SET totp_key = NULL, totp_since = NULL WHERE id = :id AND totp_key IS NOT NULL"
# A code is valid once: an attacker who saw it cannot use it again.
USE_STEP = "UPDATE developers SET totp_last_step = :step WHERE id = :id AND totp_last_step < :step"
FORGET_CODES = "DELETE FROM recovery_codes WHERE developer_id = :developer_id"
INSERT_CODE = """
INSERT INTO recovery_codes (developer_id, code_hash, used_at) VALUES (:developer_id, :code_hash, NULL)
"""
USE_CODE = """
UPDATE recovery_codes SET used_at = :now
WHERE developer_id = :developer_id AND code_hash = :code_hash AND used_at IS NULL
"""
# Only what was read before: a key that was turned on meanwhile is another one.
RESEAL = "UPDATE developers SET totp_key = :totp_key WHERE id = :id AND totp_key = :before"
COUNT_CODES = "SELECT count(*) FROM recovery_codes WHERE developer_id = :developer_id AND used_at IS NULL"


def new_key() -> str:
    """160 random bits as base32, the form that authenticators take."""
    return pyotp.random_base32()


def uri(key: str, email: str) -> str:
    """What the QR code says."""
    return pyotp.TOTP(key).provisioning_uri(name=email, issuer_name="Strongroom")


def matching_step(key: str, code: str, now: int) -> int | None:
    """The time step a code belongs to: this one, or one before or after it for clocks that differ."""
    totp = pyotp.TOTP(key)
    digits = code.replace(" ", "")
    current = now // 1000 // STEP
    found = None
    for step in (current - 1, current, current + 1):
        if hmac.compare_digest(totp.generate_otp(step).encode(), digits.encode()):
            found = step
    return found


def seal_key(secret: ServerSecret, developer_id: bytes, key: str) -> bytes:
    return seal(secret, "totp", developer_id, key.encode())


def unseal_key(secret: ServerSecret, developer_id: bytes, sealed: bytes) -> str:
    return unseal(secret, "totp", developer_id, sealed).decode()


async def reseal(tx: Transaction, secret: ServerSecret, developer_id: bytes, sealed: bytes) -> None:
    """Move a key that the previous server secret sealed to the current one, so that it outlives the rotation."""
    if is_current(secret, "totp", developer_id, sealed):
        return
    resealed = seal_key(secret, developer_id, unseal_key(secret, developer_id, sealed))
    await tx.execute(RESEAL, id=developer_id, totp_key=resealed, before=sealed)


async def turn_on(tx: Transaction, developer_id: bytes, sealed_key: bytes, step: int, now: int) -> None:
    """Require a code from the next sign-in on; `step` is the time step of the code that proved the device."""
    await tx.execute(TURN_ON, id=developer_id, totp_key=sealed_key, step=step, now=now)
    await audit.record(tx, developer_id, Action.totp_on, now, actor_id=developer_id)


async def turn_off(tx: Transaction, developer_id: bytes, now: int) -> bool:
    if not await tx.run(TURN_OFF, id=developer_id):
        return False
    await audit.record(tx, developer_id, Action.totp_off, now, actor_id=developer_id)
    return True


async def use_step(tx: Transaction, developer_id: bytes, step: int) -> bool:
    """False where a code of this step, or a later one, was used before."""
    return await tx.run(USE_STEP, id=developer_id, step=step) == 1


async def new_recovery_codes(tx: Transaction, secret: ServerSecret, developer_id: bytes, now: int) -> list[str]:
    """Ten codes, returned this once and stored as keyed hashes; earlier codes end."""
    codes = ["".join(secrets.choice(_ALPHABET) for _ in range(10)) for _ in range(RECOVERY_CODES)]
    await tx.execute(FORGET_CODES, developer_id=developer_id)
    key = secret.current_key("portal-recovery")
    for code in codes:
        await tx.execute(INSERT_CODE, developer_id=developer_id, code_hash=_code_hash(key, developer_id, code))
    await audit.record(tx, developer_id, Action.recovery_codes_made, now, actor_id=developer_id)
    return [f"{code[:5]}-{code[5:]}" for code in codes]


async def forget_recovery_codes(tx: Transaction, developer_id: bytes) -> None:
    await tx.execute(FORGET_CODES, developer_id=developer_id)


async def use_recovery_code(tx: Transaction, secret: ServerSecret, developer_id: bytes, code: str, now: int) -> bool:
    """Use a code up; false where it is none, or was used before."""
    plain = code.lower().replace("-", "").replace(" ", "")
    for key in secret.keys("portal-recovery"):
        if await tx.run(USE_CODE, developer_id=developer_id, code_hash=_code_hash(key, developer_id, plain), now=now):
            await audit.record(tx, developer_id, Action.recovery_code_used, now, actor_id=developer_id)
            return True
    return False


async def recovery_codes_left(tx: Transaction, developer_id: bytes) -> int:
    row = await tx.one(COUNT_CODES, developer_id=developer_id)
    assert row is not None
    return int(row[0])


def _code_hash(key: bytes, developer_id: bytes, code: str) -> bytes:
    # 50 bits could be found by search in a stolen database; hashes under a key of the server secret cannot.
    return hmac.digest(key, developer_id + code.encode(), hashlib.sha256)
