"""Examples of the reference: bodies, curl lines and Python, made from the shape of each operation."""

import json
from collections.abc import Iterable
from typing import Any, Final

from strongroom.portal.documentation.reference import Operation, Reference, Schema
from strongroom.version import __version__
from strongroom.wire.refusal import Refusal

_ID: Final = "0190a5c2-5f6e-4cc3-98c4-dc0c0c07398f"
_VALUES: Final[dict[str, Any]] = {
    "id": _ID,
    "keypair_id": _ID,
    "admission_token": "sra_...",
    "token_value": "sra_...",
    "vault_api_admission_token": "sra_...",
    "passphrase_store_admission_token": None,
    "used": False,
    "username": "ada",
    "passphrase": "srl1_...",
    "session_authentication_string": "srs_...",
    "valid_from": "2026-01-31T12:00:00.000Z",
    "valid_till": "2026-02-01T00:00:00.000Z",
    "derivation_artefacts": "LS0tCnNhbHQ6...",
    "verification_artefacts": "srva1....",
    "serialized_key_encryption_key": "Aes256Gcm....",
    "serialized_data_encryption_key": "Aes256Gcm....",
    "encrypted_serialized_key": "Aes256Gcm....",
    "public_key": "-----BEGIN PUBLIC KEY-----\n...\n-----END PUBLIC KEY-----\n",
    "metadata": {},
    "identifier": "vault",
    "encrypted_session_authentication_string": "Rsa4096....",
    "background_color": "#0B6E63",
    "description": None,
    "image": "{base_url}/vault/global/images/" + _ID,
    "label": "Family",
    "name": "family",
    "ordinal": 1,
    "scheme": "esafe_tags",
    "parent_id": None,
    "pages": None,
    "total_count": None,
    "status": "ok",
    "version": __version__,
    "areas": ["keystore", "vault"],
    "code": "admission_token_used",
}
_IN: Final[dict[tuple[str, str], Any]] = {
    ("StoreKeypair", "external_identifiers"): ["vault"],
    ("Version", "name"): "strongroom",
}
_CREDENTIAL_VARIABLES: Final = {
    "provider API key": "STRONGROOM_PROVIDER_API_KEY",
    "key store session string": "KEYSTORE_SESSION",
    "vault session string": "VAULT_SESSION",
}
# What the single calls of the Python client are named and given; a test holds them to the client.
PYTHON_CALLS: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "keystore_issue_admission_token": ("issue_admission_token", ()),
    "keystore_create_user": ("create_user", ("admission_token", "username", "login_secret")),
    "keystore_create_session": ("create_session", ("username", "login_secret")),
    "keystore_delete_session": ("delete_session", ("session",)),
    "keystore_store_passphrase_derivation_artefact": (
        "store_passphrase_derivation_artefact",
        ("session", "derivation_artefacts", "verification_artefacts"),
    ),
    "keystore_read_passphrase_derivation_artefact": ("read_passphrase_derivation_artefact", ("session",)),
    "keystore_store_key_encryption_key": ("store_key_encryption_key", ("session", "serialized_key")),
    "keystore_read_key_encryption_key": ("read_key_encryption_key", ("session",)),
    "keystore_store_data_encryption_key": ("store_data_encryption_key", ("session", "serialized_key")),
    "keystore_list_data_encryption_keys": ("list_data_encryption_keys", ("session",)),
    "keystore_read_data_encryption_key": ("read_data_encryption_key", ("session", "data_encryption_key_id")),
    "keystore_store_keypair": ("store_keypair", ("session", "public_key", "encrypted_key", '["vault"]')),
    "keystore_list_keypairs": ("list_keypairs", ("session",)),
    "keystore_read_keypair": ("read_keypair", ("session", "keypair_id")),
    "keystore_read_keypair_by_external_identifier": ("read_keypair_by_external_identifier", ("session", '"vault"')),
    "keystore_read_external_admission_token": ("read_external_admission_token", ("session",)),
    "vault_create_user": ("create_vault_user", ("public_key", "admission_token")),
    "vault_create_session": ("create_vault_session", ("public_key",)),
    "vault_delete_session": ("delete_vault_session", ("vault_session",)),
    "vault_list_classification_nodes": ("list_classification_nodes", ("vault_session", '"esafe_tags"')),
    "vault_read_classification_node": ("read_classification_node", ("vault_session", "node_id")),
    "vault_read_image": ("read_image", ("image_id",)),
    "vault_issue_admission_token": ("issue_vault_admission_token", ()),
    "system_healthz": ("healthz", ()),
    "system_readyz": ("readyz", ()),
    "system_version": ("version", ()),
}


def body(reference: Reference, schema: Schema | None) -> str:
    """An example of this schema as indented JSON; empty for none."""
    if schema is None:
        return ""
    # Where a body may have one of several forms, the specification's stands first.
    first = schema["anyOf"][0] if "anyOf" in schema else schema
    return json.dumps(_example(reference, first, ""), indent=2, ensure_ascii=False)


def _example(reference: Reference, schema: Schema, name: str) -> Any:
    resolved = reference.resolve(schema)
    if resolved.get("type") == "object" and resolved.get("properties"):
        record = str(schema.get("$ref", "")).rpartition("/")[2]
        return {
            key: _IN[record, key] if (record, key) in _IN else _example(reference, value, key)
            for key, value in resolved["properties"].items()
        }
    if resolved.get("type") == "array" and name not in _VALUES:
        return [_example(reference, resolved["items"], name)]
    value = _VALUES[name]
    return value.replace("{base_url}", reference.base_url) if isinstance(value, str) else value


def curl(reference: Reference, operation: Operation) -> str:
    """A line for the shell. Credentials come from variables, so that they stay out of its history."""
    path = operation.path
    for field in operation.parameters:
        path = path.replace(f"{{{field.name}}}", str(_VALUES[field.name]) if f"{{{field.name}}}" in path else "")
    headers = []
    if operation.subscription_key:
        headers.append("Service-Subscription-Key: $STRONGROOM_SUBSCRIPTION_KEY")
    if operation.credential is not None:
        headers.append(f"Authorization: ${_CREDENTIAL_VARIABLES[operation.credential]}")
    compact = body(reference, operation.request_schema)
    return curl_line(operation.method, reference.base_url + path, headers, compact)


def curl_line(method: str, url: str, headers: Iterable[str], content: str = "") -> str:
    """`curl` with one option a line. `headers` may name shell variables; `content` is JSON, sent as it is."""
    parts = ["curl" if method == "GET" else f"curl -X {method}"]
    parts += [f'-H "{header}"' for header in headers]
    if content:
        parts += ['-H "Content-Type: application/json"', "-d '" + content.replace("'", "'\\''") + "'"]
    return " \\\n  ".join([*parts, f"'{url}'"])


def python(reference: Reference, operation: Operation) -> str:
    """The same call with the Python client; empty where it has none."""
    if operation.id not in PYTHON_CALLS:
        return ""
    name, arguments = PYTHON_CALLS[operation.id]
    return (
        "from strongroom import Strongroom\n\n"
        f'with Strongroom("{reference.base_url}") as service:\n'
        f"    answer = service.calls.{name}({', '.join(arguments)})\n"
    )


def first_call_curl(base_url: str, *, subscription_key: str = "", provider_api_key: str = "") -> str:
    """Endpoint 1 for the shell, after the keys that were just made have been put into its variables.

    Each key is shown on a page of its own, so the variables are where both meet: pasted into one shell, the second
    page's lines are complete.
    """
    made = {"STRONGROOM_SUBSCRIPTION_KEY": subscription_key, "STRONGROOM_PROVIDER_API_KEY": provider_api_key}
    exports = "".join(f"export {name}={value}\n" for name, value in made.items() if value)
    headers = [
        "Service-Subscription-Key: $STRONGROOM_SUBSCRIPTION_KEY",
        "Authorization: $STRONGROOM_PROVIDER_API_KEY",
    ]
    return exports + curl_line("POST", f"{base_url}/keystore/admission_tokens", headers)


def first_call_python(base_url: str, *, subscription_key: str = "", provider_api_key: str = "") -> str:
    """The same with the Python client, which takes the other key from the environment."""
    made = {"subscription_key": subscription_key, "provider_api_key": provider_api_key}
    arguments = "".join(f'    {name}="{value}",\n' for name, value in made.items() if value)
    return (
        "from strongroom import Strongroom\n\n"
        f'with Strongroom(\n    "{base_url}",\n{arguments}) as service:\n'
        "    token = service.issue_admission_token()\n"
    )


def first_user_python(base_url: str) -> str:
    """A user with the Python client, which takes both keys from the environment and leaves the passphrase to you."""
    return (
        "from strongroom import Strongroom\n\n"
        "# keys from STRONGROOM_SUBSCRIPTION_KEY and STRONGROOM_PROVIDER_API_KEY\n"
        f'with Strongroom("{base_url}") as service:\n'
        '    account = service.register("ada", passphrase)\n'
        '    sealed = account.seal(b"for Ada alone")\n'
        '    assert account.open(sealed) == b"for Ada alone"\n'
    )


def problem(reference: Reference, refusal: Refusal) -> str:
    """The problem document of a refusal, as the service would send it."""
    document = {
        "type": f"{reference.base_url}/refusals/{refusal.code}",
        "title": refusal.title,
        "status": refusal.status,
        "detail": refusal.mend,
        "instance": "5f2c8d1e9b3a4706",
        "code": refusal.code,
        "errors": [{"error": refusal.code, "message": refusal.mend}],
    }
    return json.dumps(document, indent=2)
