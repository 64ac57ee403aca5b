"""Examples of the reference: bodies, curl lines and Python, made from the shape of each operation."""

import json
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from strongroom.http import refusals
from strongroom.portal.documentation.reference import Operation, Reference
from strongroom.wire.refusal import Refusal

_CREDENTIAL_VARIABLES: Final = {
    "provider API key": "STRONGROOM_PROVIDER_API_KEY",
    "key store session string": "KEYSTORE_SESSION",
    "vault session string": "VAULT_SESSION",
}
_SESSIONS: Final = {"key store session string": "session", "vault session string": "vault_session"}
_WITHOUT_CALL: Final = frozenset(("refusal", "openapi"))
"""Pages and documents, which the Python client does not ask for."""


def body(example: Any) -> str:
    """An example as indented JSON; empty for none."""
    return "" if example is None else json.dumps(example, indent=2, ensure_ascii=False)


def curl(reference: Reference, operation: Operation) -> str:
    """A line for the shell. Credentials come from variables, so that they stay out of its history."""
    path = operation.path
    for field in operation.parameters:
        path = path.replace(f"{{{field.name}}}", str(field.example))
    headers = []
    if operation.subscription_key:
        headers.append("Service-Subscription-Key: $STRONGROOM_SUBSCRIPTION_KEY")
    if operation.credential is not None:
        headers.append(f"Authorization: ${_CREDENTIAL_VARIABLES[operation.credential]}")
    return curl_line(operation.method, reference.base_url + path, headers, body(operation.request_example))


def curl_line(method: str, url: str, headers: Iterable[str], content: str = "") -> str:
    """`curl` with one option a line. `headers` may name shell variables; `content` is JSON, sent as it is."""
    parts = ["curl" if method == "GET" else f"curl -X {method}"]
    parts += [f'-H "{header}"' for header in headers]
    if content:
        parts += ['-H "Content-Type: application/json"', "-d '" + content.replace("'", "'\\''") + "'"]
    return " \\\n  ".join([*parts, f"'{url}'"])


def python(reference: Reference, operation: Operation) -> str:
    """The same call with the Python client; empty where it has none."""
    if operation.id in _WITHOUT_CALL:
        return ""
    return (
        "from strongroom import Strongroom\n\n"
        f'with Strongroom("{reference.base_url}") as service:\n'
        f"    answer = service.calls.{operation.id}({', '.join(_arguments(operation))})\n"
    )


def _arguments(operation: Operation) -> Iterable[str]:
    """The session, the path parameters, then by name what the body must have."""
    if operation.credential in _SESSIONS:
        yield _SESSIONS[operation.credential]
    yield from (f'"{p.example}"' for p in operation.parameters if f"{{{p.name}}}" in operation.path)
    yield from (f"{name}={name}" for name in operation.needed)


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
    return body(msgspec.to_builtins(refusals.example(refusal, reference.base_url)))
