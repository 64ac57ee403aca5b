"""What the key store demands of a value that should be encrypted: that it is, and that no private key shows."""

from strongroom.crypto.clear_keys import holds_private_key, parts_hold_private_key
from strongroom.crypto.errors import MalformedCiphertext
from strongroom.crypto.serialized_values import check_encrypted_value, own_parts
from strongroom.wire.refusal import Refusal, Refused


def check(value: str, pointer: str) -> None:
    """`plaintext_key_refused` or `malformed_ciphertext`; the value itself goes nowhere."""
    # Nearly every value is as our own client writes it: whole as soon as its two parts are read, and read only once.
    parts = own_parts(value)
    if parts is not None:
        if parts_hold_private_key(value, parts):
            raise Refused(Refusal.plaintext_key_refused, pointer=pointer)
        return
    refuse_private_key(value, pointer)
    try:
        check_encrypted_value(value, "Aes256Gcm")
    except MalformedCiphertext:
        raise Refused(Refusal.malformed_ciphertext, pointer=pointer) from None


def refuse_private_key(value: str, pointer: str) -> None:
    if holds_private_key(value):
        raise Refused(Refusal.plaintext_key_refused, pointer=pointer)
