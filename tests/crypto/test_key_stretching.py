import pytest

from strongroom.crypto.key_stretching import expand, pbkdf2


@pytest.mark.parametrize(
    ("passphrase", "salt", "iterations", "expected"),
    [
        # The RFC 6070 inputs with SHA-256, as published in RFC 7914 section 11 and widely reproduced.
        ("password", "salt", 1, "120fb6cffcf8b32c43e7225256c4f837a86548c92ccc35480805987cb70be17b"),
        ("password", "salt", 2, "ae4d0c95af6b46d32d0adff928f06dd02a303f8ef3c251dfd6e2d85a95474c43"),
        ("password", "salt", 4096, "c5e478d59288c841aa530db6845c4c8d962893a001ce4e11a4963873aa98134a"),
        ("passwd", "salt", 1, "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc"),
    ],
)
def test_pbkdf2_known_answers(passphrase: str, salt: str, iterations: int, expected: str) -> None:
    assert pbkdf2(passphrase.encode(), salt.encode(), iterations).hex() == expected


def test_hkdf_expand_known_answers() -> None:
    # RFC 5869 A.1 and A.3, first 32 bytes.
    prk = bytes.fromhex("077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5")
    info = bytes.fromhex("f0f1f2f3f4f5f6f7f8f9")
    assert expand(prk, info).hex() == "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf"
    prk = bytes.fromhex("19ef24a32c717b167f33a91d6f648bdf96596776afdb6377ac434c1c293ccb04")
    assert expand(prk, b"").hex() == "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d"
