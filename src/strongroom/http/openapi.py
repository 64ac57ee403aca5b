"""The OpenAPI 3.1 document, generated from the endpoint tables so that it cannot say anything else."""

from collections.abc import Iterable
from http import HTTPStatus
from typing import Any, Final

import msgspec

from strongroom.http.refusals import MEDIA_TYPE, example
from strongroom.wire import examples
from strongroom.wire.endpoint import AnyEndpoint, Condition, Credential, NoBody, NoPath, NoQuery, Open
from strongroom.wire.refusal import Problem, Refusal

_REFERENCE: Final = "#/components/schemas/{name}"
_SECURITY: Final = {
    Credential.provider: "provider_api_key",
    Credential.keystore_session: "keystore_session",
    Credential.vault_session: "vault_session",
}
_CONDITIONS: Final = {
    Condition.if_match: "The `ETag` of the state that is to be changed.",
    Condition.if_none_match: "The `ETag` of the answer that is held.",
    Condition.range: "One range of bytes, such as `bytes=0-1023`; `If-Range` may name the `ETag`.",
    Condition.content_digest: "The SHA-256 of the body, `sha-256=:...:` (RFC 9530).",
}


def document(groups: dict[str, Iterable[AnyEndpoint]], version: str, base_url: str) -> dict[str, Any]:
    """The whole public API; `groups` maps a tag to its endpoints. Calls between the areas are left out."""
    public = {tag: [e for e in endpoints if not e.internal] for tag, endpoints in groups.items()}
    records: dict[type[msgspec.Struct], None] = {Problem: None}
    for endpoints in public.values():
        for endpoint in endpoints:
            records |= {endpoint.body: None} if endpoint.takes_record else {}
            records |= {endpoint.answer: None} if endpoint.gives_record else {}
    _, schemas = msgspec.json.schema_components(records, ref_template=_REFERENCE)
    paths: dict[str, dict[str, Any]] = {}
    for tag, endpoints in public.items():
        for endpoint in endpoints:
            operation = _operation(tag, endpoint)
            paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = operation
            for number, path in enumerate(endpoint.aliases, 1):
                paths.setdefault(path, {})[endpoint.method.lower()] = operation | {
                    "operationId": f"{operation['operationId']}_alias_{number}",
                    "summary": f"Alias of {endpoint.method} {endpoint.path}.",
                    "x-alias-of": operation["operationId"],
                }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Strongroom",
            "version": version,
            "description": "A key store and data vault whose operator cannot read what it keeps. "
            "HEAD is answered wherever GET is.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": base_url}],
        "tags": [{"name": tag} for tag in public],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "examples": {refusal.code: {"value": example(refusal, base_url)} for refusal in Refusal},
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


def _operation(tag: str, endpoint: AnyEndpoint) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": endpoint.name,
        "summary": endpoint.summary,
        "tags": [tag],
        "security": [_security(endpoint)],
        "parameters": [
            *_parameters(endpoint.parameters, NoPath, "path"),
            *_parameters(endpoint.query, NoQuery, "query"),
            *_headers(endpoint),
        ],
        "responses": _responses(endpoint),
    }
    if isinstance(endpoint.credential, Open):
        operation["description"] = f"No `Authorization`: {endpoint.credential.because}."
    if endpoint.body is not NoBody:
        operation["requestBody"] = {"required": True, "content": _body(endpoint)}
    return operation


def _security(endpoint: AnyEndpoint) -> dict[str, list[str]]:
    needed: dict[str, list[str]] = {"subscription_key": []} if endpoint.subscription_key else {}
    if isinstance(endpoint.credential, Credential):
        needed[_SECURITY[endpoint.credential]] = []
    return needed


def _parameters(record: type[msgspec.Struct], none: type[msgspec.Struct], place: str) -> list[dict[str, Any]]:
    if record is none:
        return []
    schema = msgspec.json.schema_components([record])[1][record.__name__]
    return [
        {
            "name": name,
            "in": place,
            "required": place == "path",
            "description": about["description"],
            "schema": _without_null(about),
            "example": examples.of_field(record, name),
        }
        for name, about in schema["properties"].items()
    ]


def _headers(endpoint: AnyEndpoint) -> list[dict[str, Any]]:
    return [
        {
            "name": condition.value,
            "in": "header",
            "required": condition in endpoint.needed,
            "description": _CONDITIONS[condition],
            "schema": {"type": "string"},
        }
        for condition in endpoint.conditions
    ]


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    # An absent parameter is simply not sent: null is a matter of our records, not of the query.
    variants = [variant for variant in schema.get("anyOf", [schema]) if variant.get("type") != "null"]
    return {name: value for name, value in variants[0].items() if name not in ("default", "description")}


def _body(endpoint: AnyEndpoint) -> dict[str, Any]:
    if endpoint.takes_octets:
        return {"application/octet-stream": {"schema": {"maxLength": endpoint.body_limit}}}
    schema = _reference(endpoint.body)
    if endpoint.wrapper is not None:
        schema = {"anyOf": [schema, _reference(endpoint.inner)]}
    return {"application/json": {"schema": schema, "example": examples.of_record(endpoint.body)}}


def _responses(endpoint: AnyEndpoint) -> dict[str, Any]:
    responses: dict[str, Any] = {}
    statuses = {endpoint.status, *endpoint.statuses}
    if Condition.range in endpoint.conditions:
        statuses.add(HTTPStatus.PARTIAL_CONTENT)
    for status in sorted(statuses):
        response: dict[str, Any] = {"description": HTTPStatus(status).phrase}
        if endpoint.gives_record:
            content = {"schema": _reference(endpoint.answer), "example": examples.of_record(endpoint.answer)}
            response["content"] = {"application/json": content}
        elif status != HTTPStatus.NO_CONTENT:
            response["content"] = {media_type: {} for media_type in endpoint.media_types}
        if endpoint.is_conditional:
            response["headers"] = {
                "ETag": {"description": "Another one whenever the answer may be another.", "schema": {"type": "string"}}
            }
        responses[str(int(status))] = response
    if endpoint.is_conditional:
        responses[str(int(HTTPStatus.NOT_MODIFIED))] = {"description": "What the caller holds is still good: no body"}
    by_status: dict[int, list[Refusal]] = {}
    for refusal in endpoint.all_refusals:
        by_status.setdefault(refusal.status, []).append(refusal)
    for status, refusals in sorted(by_status.items()):
        responses[str(status)] = {
            "description": "; ".join(f"`{refusal.code}`: {refusal.title}" for refusal in refusals),
            "content": {MEDIA_TYPE: _problem(refusals)},
        }
    return responses


def _problem(refusals: list[Refusal]) -> dict[str, Any]:
    codes = {"type": "object", "properties": {"code": {"enum": [refusal.code for refusal in refusals]}}}
    return {
        "schema": {"allOf": [_reference(Problem), codes]},
        "examples": {refusal.code: {"$ref": f"#/components/examples/{refusal.code}"} for refusal in refusals},
    }


def _reference(record: type[msgspec.Struct]) -> dict[str, Any]:
    return {"$ref": _REFERENCE.format(name=record.__name__)}
