"""The OpenAPI 3.1 document, generated from the endpoint tables so that it cannot say anything else."""

from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

import msgspec

from strongroom.http.refusals import MEDIA_TYPE
from strongroom.wire.endpoint import Credential, Endpoint, NoBody, Open
from strongroom.wire.refusal import Problem, Refusal

_REFERENCE = "#/components/schemas/{name}"
_SECURITY = {
    Credential.provider: "provider_api_key",
    Credential.keystore_session: "keystore_session",
    Credential.vault_session: "vault_session",
}


def document(groups: dict[str, Iterable[Endpoint]], version: str, base_url: str) -> dict[str, Any]:
    """The whole public API; `groups` maps a tag to its endpoints. Calls between the areas are left out."""
    public = {tag: [e for e in endpoints if not e.internal] for tag, endpoints in groups.items()}
    records: dict[type[msgspec.Struct], None] = {Problem: None}
    for endpoints in public.values():
        for endpoint in endpoints:
            records |= {record: None for record in (endpoint.request, endpoint.response) if record is not NoBody}
    _, schemas = msgspec.json.schema_components(records, ref_template=_REFERENCE)
    paths: dict[str, dict[str, Any]] = {}
    for tag, endpoints in public.items():
        for endpoint in endpoints:
            for path in endpoint.paths:
                paths.setdefault(path, {})[endpoint.method.lower()] = _operation(tag, endpoint, path)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Strongroom",
            "version": version,
            "description": "A key store and data vault whose operator cannot read what it keeps.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": base_url}],
        "tags": [{"name": tag} for tag in public],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "subscription_key": {"type": "apiKey", "in": "header", "name": "Service-Subscription-Key"},
                **{
                    name: {
                        "type": "apiKey",
                        "in": "header",
                        "name": "Authorization",
                        "description": f"The {credential.value}, bare or as `Bearer ...`.",
                    }
                    for credential, name in _SECURITY.items()
                },
            },
        },
    }


def _operation(tag: str, endpoint: Endpoint, path: str) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": _operation_id(tag, endpoint, path),
        "summary": endpoint.summary,
        "tags": [tag],
        "security": [_security(endpoint)],
        "parameters": [*_path_parameters(path), *_query_parameters(endpoint), *_header_parameters(endpoint)],
        "responses": _responses(endpoint),
    }
    if isinstance(endpoint.credential, Open):
        operation["description"] = f"No `Authorization`: {endpoint.credential.because}."
    if endpoint.has_body:
        operation["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": _schema(endpoint.request, endpoint.wrapper)}},
        }
    return operation


def _operation_id(tag: str, endpoint: Endpoint, path: str) -> str:
    place = endpoint.paths.index(path)
    return f"{tag}_{endpoint.name}" + (f"_alias_{place}" if place else "")


def _security(endpoint: Endpoint) -> dict[str, list[str]]:
    needed: dict[str, list[str]] = {"subscription_key": []} if endpoint.subscription_key else {}
    if isinstance(endpoint.credential, Credential):
        needed[_SECURITY[endpoint.credential]] = []
    return needed


def _path_parameters(path: str) -> list[dict[str, Any]]:
    _, brace, name = path.partition("{")
    if not brace:
        return []
    return [{"name": name.rstrip("}"), "in": "path", "required": True, "schema": {"type": "string"}}]


def _query_parameters(endpoint: Endpoint) -> list[dict[str, Any]]:
    (schema,), components = msgspec.json.schema_components([endpoint.query])
    record = components.get(endpoint.query.__name__, schema)
    return [
        {"name": name, "in": "query", "required": False, "schema": _without_null(value)}
        for name, value in record.get("properties", {}).items()
    ]


def _header_parameters(endpoint: Endpoint) -> list[dict[str, Any]]:
    if not endpoint.conditional:
        return []
    schema = {"type": "string", "description": "The `ETag` of the answer that is held."}
    return [{"name": "If-None-Match", "in": "header", "required": False, "schema": schema}]


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    # An absent parameter is simply not sent: null is a matter of our records, not of the query.
    variants = [variant for variant in schema.get("anyOf", [schema]) if variant.get("type") != "null"]
    return {name: value for name, value in variants[0].items() if name != "default"}


def _responses(endpoint: Endpoint) -> dict[str, Any]:
    responses: dict[str, Any] = {}
    for status in sorted({endpoint.status, *endpoint.statuses}):
        response: dict[str, Any] = {"description": HTTPStatus(status).phrase}
        if endpoint.response is not NoBody:
            response["content"] = {"application/json": {"schema": _schema(endpoint.response)}}
        elif endpoint.status != HTTPStatus.NO_CONTENT:
            response["content"] = {media_type: {} for media_type in endpoint.media_types}
        if endpoint.conditional:
            response["headers"] = {"ETag": {"schema": {"type": "string"}}}
        responses[str(status)] = response
    if endpoint.conditional:
        responses[str(HTTPStatus.NOT_MODIFIED)] = {"description": "What the caller holds is still good: no body"}
    by_status: dict[int, list[Refusal]] = {}
    for refusal in endpoint.all_refusals:
        by_status.setdefault(refusal.status, []).append(refusal)
    for status, refusals in sorted(by_status.items()):
        responses[str(status)] = {
            "description": "; ".join(f"`{refusal.code}`: {refusal.title}" for refusal in refusals),
            "content": {MEDIA_TYPE: {"schema": _schema(Problem)}},
        }
    return responses


def _schema(record: type[msgspec.Struct], wrapper: str | None = None) -> dict[str, Any]:
    reference = {"$ref": _REFERENCE.format(name=record.__name__)}
    if wrapper is None:
        return reference
    inner = next(f.type for f in msgspec.structs.fields(record) if f.name == wrapper)
    return {"anyOf": [reference, {"$ref": _REFERENCE.format(name=inner.__name__)}]}
