from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strongroom.crypto import binding
from strongroom.crypto.artefacts.fields import is_printable_ascii
from strongroom.crypto.errors import ContextRefused

ACCOUNT = "t3PChgclNZMAzQPwhj-MlU"
UID = "AAECAwQFBgcICQoLDA0ODw"
OTHER = "_-8AAAAAAAAAAAAAAAAAAA"
FINGERPRINT = "F" * 43


def test_the_strings_of_the_table() -> None:
    assert binding.key_encryption_key(ACCOUNT) == f"sr1:kek:{ACCOUNT}"
    assert binding.data_encryption_key(ACCOUNT, "notes-1", UID) == f"sr1:dek:{ACCOUNT}:notes-1:{UID}"
    assert binding.private_key(ACCOUNT, "vault", FINGERPRINT) == f"sr1:key:{ACCOUNT}:vault:{FINGERPRINT}"
    assert binding.private_key(ACCOUNT, "", FINGERPRINT) == f"sr1:key:{ACCOUNT}::{FINGERPRINT}"
    assert binding.private_key(ACCOUNT, "a:b\xe9%", FINGERPRINT) == f"sr1:key:{ACCOUNT}:a%3Ab%C3%A9%25:{FINGERPRINT}"
    assert binding.data(ACCOUNT, UID) == f"sr1:data:{ACCOUNT}:{UID}:data"
    assert binding.data(ACCOUNT, UID, "a.b_c-1") == f"sr1:data:{ACCOUNT}:{UID}:a.b_c-1"
    assert binding.item_key(ACCOUNT, UID, OTHER) == f"sr1:ikey:{ACCOUNT}:{UID}:{OTHER}"
    assert binding.item(ACCOUNT, UID, 0) == f"sr1:item:{ACCOUNT}:{UID}:0"
    assert binding.item(ACCOUNT, UID, 120) == f"sr1:item:{ACCOUNT}:{UID}:120"
    assert binding.attachment_key(ACCOUNT, UID, OTHER) == f"sr1:akey:{ACCOUNT}:{UID}:{OTHER}"


@pytest.mark.parametrize("account", ["", "short", ACCOUNT + "A", ACCOUNT[:-1] + ":", ACCOUNT + "\n", "\xe9" * 22])
def test_a_malformed_account(account: str) -> None:
    makers: list[Callable[[], str]] = [
        lambda: binding.key_encryption_key(account),
        lambda: binding.data_encryption_key(account, "data", UID),
        lambda: binding.private_key(account, "vault", FINGERPRINT),
        lambda: binding.data(account, UID),
        lambda: binding.item_key(account, UID, OTHER),
        lambda: binding.item(account, UID, 1),
        lambda: binding.attachment_key(account, UID, OTHER),
    ]
    for make in makers:
        with pytest.raises(ContextRefused):
            make()


def test_other_malformed_components() -> None:
    for purpose in ("", "A", "a_b", "a" * 33, "a:b", "a\n"):
        with pytest.raises(ContextRefused):
            binding.data_encryption_key(ACCOUNT, purpose, UID)
    for uid in ("", UID[:-1], UID + "A", UID[:-1] + "x", UID + "\n", "=" * 22):
        with pytest.raises(ContextRefused):
            binding.data(ACCOUNT, uid)
    for context in ("", "A", "a" * 65, "a:b", "a b", "a\n"):
        with pytest.raises(ContextRefused):
            binding.data(ACCOUNT, UID, context)
    for tag in ("a" * 129, "\xe9" * 65, "\ud800", "a\ud800"):
        with pytest.raises(ContextRefused):
            binding.private_key(ACCOUNT, tag, FINGERPRINT)
    for fingerprint in ("", "F" * 42, "F" * 44, "F" * 42 + "="):
        with pytest.raises(ContextRefused):
            binding.private_key(ACCOUNT, "vault", fingerprint)
    for revision in (-1, 2**63):
        with pytest.raises(ContextRefused):
            binding.item(ACCOUNT, UID, revision)


@given(st.text(max_size=40), st.text(max_size=40))
def test_two_tags_never_share_a_string(first: str, second: str) -> None:
    made = [binding.private_key(ACCOUNT, tag, FINGERPRINT) for tag in (first, second)]
    assert (made[0] == made[1]) == (first == second)
    assert all(is_printable_ascii(text) and text.count(":") == 4 for text in made)


def test_purpose_and_uid_come_back() -> None:
    written = binding.data_encryption_key(ACCOUNT, "notes", UID)
    assert binding.read_data_encryption_key(written, ACCOUNT) == ("notes", UID)
    for other in ("", "none", written + ":", written.replace("dek", "kek"), written[:-1], binding.data(ACCOUNT, UID)):
        with pytest.raises(ContextRefused):
            binding.read_data_encryption_key(other, ACCOUNT)
    with pytest.raises(ContextRefused):
        binding.read_data_encryption_key(written, "A" * 22)


def test_uids_are_fresh() -> None:
    assert len({binding.new_uid() for _ in range(1000)}) == 1000
