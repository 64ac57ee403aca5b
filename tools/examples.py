"""The values that documents show, taken from the test vectors: every key opens, every checksum is right.

`python -m tools.examples` writes them beside the records, where the service finds them.
"""

import json
from pathlib import Path
from typing import Any, Final

from strongroom.crypto.checksum import with_checksum
from strongroom.crypto.encoding import encode_unpadded

ROOT: Final = Path(__file__).resolve().parent.parent
FILE: Final = ROOT / "src" / "strongroom" / "wire" / "examples.json"
_ACCOUNT: Final = "js-0.6.3/account/yaml"
_ID: Final = "0190a5c2-5f6e-4cc3-98c4-dc0c0c07398f"


def examples() -> dict[str, Any]:
    """An example for every field of every record, by the field's name, or by record and field where that is not one."""
    vectors = ROOT / "vectors"
    own = json.loads((vectors / "zero-knowledge.json").read_text("utf-8"))
    login, verification, token = own["login"][0], own["verification"], own["checksum"]["token"]
    published = json.loads((vectors / "interop.json").read_text("utf-8"))["vectors"]
    account = next(vector for vector in published if vector["id"] == _ACCOUNT)
    taken = (
        "serialized_key_encryption_key",
        "serialized_data_encryption_key",
        "public_key",
        "encrypted_serialized_key",
        "encrypted_session_authentication_string",
    )
    return {
        **{name: account[name] for name in taken},
        "id": _ID,
        "keypair_id": _ID,
        "parent_id": None,
        "username": login["username"],
        "passphrase": login["login_secret"],
        "admission_token": token,
        "token_value": token,
        "vault_api_admission_token": token,
        "passphrase_store_admission_token": None,
        "used": False,
        "session_authentication_string": with_checksum(f"srs_{encode_unpadded(bytes(32))}.{'0' * 43}"),
        "valid_from": "2026-01-31T12:00:00.000Z",
        "valid_till": "2026-02-01T00:00:00.000Z",
        "derivation_artefacts": verification["derivation_artefacts"],
        "verification_artefacts": verification["verification_artefacts"],
        "metadata": {},
        "identifier": "vault",
        "StoreKeypair.external_identifiers": ["vault"],
        "background_color": "#0B6E63",
        "description": None,
        "image": f"{login['realm']}/vault/global/images/{_ID}",
        "label": "Family",
        "name": "family",
        "ordinal": 1,
        "scheme": "esafe_tags",
        "scheme_name": "esafe_tags",
        "by_name": "fam",
        "page": 1,
        "per": 50,
        "pages": None,
        "total_count": None,
        "status": "ok",
        "Version.name": "strongroom",
        "version": "1.0.0",
        "areas": ["keystore", "vault"],
        "code": "admission_token_used",
    }


def written() -> str:
    return json.dumps(examples(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(written(), "utf-8")
