"""Identifiers: UUIDs, 16 bytes in the database and lower-case text on the wire."""

import re
import secrets

_TEXT = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def new_row_id(now: int) -> bytes:
    """A version 7 UUID (RFC 9562): rows made one after the other lie side by side in the index. Shows its time."""
    return _stamped((now & (1 << 48) - 1).to_bytes(6, "big") + secrets.token_bytes(10), version=7)


def new_hidden_id() -> bytes:
    """A version 4 UUID, for ids that must not show when their row was made."""
    return _stamped(secrets.token_bytes(16), version=4)


def _stamped(value: bytes, version: int) -> bytes:
    return value[:6] + bytes(((version << 4) | (value[6] & 0x0F), value[7], 0x80 | (value[8] & 0x3F))) + value[9:]


def to_text(value: bytes) -> str:
    digits = value.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def from_text(text: str) -> bytes | None:
    """None for anything that is not a lower-case UUID: no row has such an id."""
    return bytes.fromhex(text.replace("-", "")) if _TEXT.fullmatch(text) else None
