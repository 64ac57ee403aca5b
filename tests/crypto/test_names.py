import json
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strongroom.crypto.errors import RealmRefused, UsernameRefused
from strongroom.crypto.names import account_tag, canonical_realm, canonical_username, realm_tag
from strongroom.crypto.unicode14 import is_assigned

VECTORS = Path(__file__).resolve().parents[2] / "vectors"
ZERO_KNOWLEDGE = json.loads((VECTORS / "zero-knowledge.json").read_text("utf-8"))
TABLE = json.loads((VECTORS / "casefold.json").read_text("ascii"))
CASEFOLD = {
    int(key, 16): "".join(chr(int(part, 16)) for part in value.split()) for key, value in TABLE["casefold"].items()
}
ASSIGNED = {
    point
    for first, _, last in (pair.partition("-") for pair in TABLE["assigned"])
    for point in range(int(first, 16), int(last, 16) + 1)
}


@pytest.mark.parametrize("case", ZERO_KNOWLEDGE["login"])
def test_published_names(case: dict[str, str]) -> None:
    assert canonical_username(case["username"]) == case["canonical_username"]
    assert account_tag(case["username"]) == case["acct"]
    assert realm_tag(case["realm"]) == case["realm_tag"]


def test_every_code_point_is_accepted_or_refused_as_unicode_14_says() -> None:
    for point in range(0x110000):
        character = chr(point)
        allowed = point in ASSIGNED and unicodedata.category(character) != "Cc"
        try:
            canonical_username(character)
        except UsernameRefused:
            assert not allowed, hex(point)
        else:
            assert allowed, hex(point)


def test_every_code_point_folds_as_the_table_says() -> None:
    for point in ASSIGNED:
        folded = "".join(CASEFOLD.get(ord(c), c) for c in unicodedata.normalize("NFKC", chr(point)))
        if unicodedata.category(chr(point)) != "Cc":
            assert canonical_username(chr(point)) == unicodedata.normalize("NFC", folded), hex(point)


@pytest.mark.skipif(unicodedata.unidata_version != "14.0.0", reason="this Python carries another Unicode version")
def test_generated_data_equals_the_tables_they_come_from() -> None:
    for point in range(0x110000):
        assert is_assigned(point) == (unicodedata.category(chr(point)) not in ("Cn", "Cs")), hex(point)
        assert is_assigned(point) == (point in ASSIGNED), hex(point)
        assert CASEFOLD.get(point, chr(point)) == chr(point).casefold(), hex(point)


@pytest.mark.parametrize(
    "username", ["", "a" * 129, "a\nb", "\x00", "a\x7f", "\x85", "\ud800", "a\udfff", "\u0378", "\U0010ffff"]
)
def test_refused_names(username: str) -> None:
    with pytest.raises(UsernameRefused):
        canonical_username(username)


@pytest.mark.parametrize(
    ("typed", "canonical"),
    [
        ("Ada", "ada"),
        ("A\u030aSA", "\xe5sa"),
        ("STRASSE", "strasse"),
        ("Stra\xdfe", "strasse"),
        ("\uff21\uff24\uff21", "ada"),
        ("\u03a3\u03af\u03c3\u03c5\u03c6\u03bf\u03c2", "\u03c3\u03af\u03c3\u03c5\u03c6\u03bf\u03c3"),
        ("\U0001f469\u200d\U0001f680", "\U0001f469\u200d\U0001f680"),
        (" ada ", " ada "),
        ("\ufb03", "ffi"),
        ("\U0001f600" * 128, "\U0001f600" * 128),
    ],
)
def test_canonical_names(typed: str, canonical: str) -> None:
    assert canonical_username(typed) == canonical


@given(st.text(alphabet=st.characters(exclude_categories=("Cn", "Cc", "Cs")), min_size=1, max_size=20))
def test_case_and_composition_do_not_matter(username: str) -> None:
    try:
        canonical = canonical_username(username)
    except UsernameRefused:
        assert sys.version_info >= (3, 12)
        return
    assert canonical_username(unicodedata.normalize("NFC", username)) == canonical
    if len(unicodedata.normalize("NFD", username)) <= 128:
        assert canonical_username(unicodedata.normalize("NFD", username)) == canonical


@pytest.mark.parametrize(
    ("url", "realm"),
    [
        ("https://vault.example", "https://vault.example"),
        ("HTTPS://Vault.Example:443/base/path/", "https://vault.example"),
        ("https://vault.example.", "https://vault.example"),
        ("https://vault.example:8443", "https://vault.example:8443"),
        ("https://b\xfccher.example", "https://xn--bcher-kva.example"),
        ("https://B\xdcCHER.example", "https://xn--bcher-kva.example"),
        ("https://xn--bcher-kva.example", "https://xn--bcher-kva.example"),
        ("https://192.0.2.7", "https://192.0.2.7"),
        ("https://[2001:DB8:0::1]:443", "https://[2001:db8::1]"),
        ("https://[2001:db8::1]:444", "https://[2001:db8::1]:444"),
        ("http://localhost:8000", "http://localhost"),
        ("https://localhost", "http://localhost"),
        ("http://LOCALHOST.", "http://localhost"),
        ("http://app.localhost:1", "http://localhost"),
        ("http://127.0.0.1:8000/x", "http://localhost"),
        ("http://127.255.255.254", "http://localhost"),
        ("https://[::1]:9", "http://localhost"),
        ("http://[::ffff:127.0.0.1]", "http://localhost"),
    ],
)
def test_canonical_realms(url: str, realm: str) -> None:
    assert canonical_realm(url) == realm
    assert canonical_realm(realm) == realm
    assert realm_tag(url) == realm_tag(realm)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "vault.example",
        "localhost:80",
        "https://",
        "https:///x",
        "http://vault.example",
        "http://192.0.2.7",
        "http://0.0.0.0",
        "ftp://vault.example",
        "https://user@vault.example",
        "https://user:word@vault.example",
        "https://vault.example?x",
        "https://vault.example#x",
        "https://vault.example:0",
        "https://vault.example:65536",
        "https://vault.example:x",
        "https://vault .example",
        " https://vault.example",
        "https://vault.example\n",
        "https://vault.example\\@evil.example",
        "https://a..b",
        "https://-a.example",
        "https://" + "a" * 64 + ".example",
        "https://" + "a." * 130 + "example",
        "https://127.1",
        "http://2130706433",
        "http://0x7f000001",
        "http://0177.0.0.1",
        "https://[::1%25eth0]",
        "https://[v1.x]",
        "https://[::1",
        "https://a%41.example",
        "https://\u2488.example",
    ],
)
def test_refused_realms(url: str) -> None:
    with pytest.raises(RealmRefused):
        canonical_realm(url)


@given(st.text(max_size=30) | st.text(alphabet="htps:/[]@.:1a\xe9%?#", max_size=30).map(lambda rest: "https://" + rest))
def test_any_text_has_a_stable_realm_or_is_refused(url: str) -> None:
    try:
        realm = canonical_realm(url)
    except RealmRefused:
        return
    assert canonical_realm(realm) == realm
    assert realm.isascii()
