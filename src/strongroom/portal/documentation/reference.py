"""The API reference, read from our own OpenAPI document: the pages cannot say anything the document does not."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeAlias

from strongroom.http import openapi
from strongroom.http.refusals import MEDIA_TYPE
from strongroom.version import __version__
from strongroom.wire import keystore, system, vault
from strongroom.wire.endpoint import AnyEndpoint

Schema: TypeAlias = Mapping[str, Any]

TABLES: dict[str, Iterable[AnyEndpoint]] = {
    "keystore": keystore.ENDPOINTS,
    "vault": vault.ENDPOINTS,
    "system": system.ENDPOINTS,
}
TITLES = {"keystore": "Key store", "vault": "Vault", "system": "System"}
_CREDENTIALS = {
    "provider_api_key": "provider API key",
    "keystore_session": "key store session string",
    "vault_session": "vault session string",
}
_REFERENCE = "#/components/schemas/"


@dataclass(frozen=True, slots=True)
class Field:
    """One member of a record, or one parameter."""

    name: str
    kind: str
    limits: str
    required: bool
    default: str
    record: str | None = None
    """The record it holds, where it holds one."""
    example: Any = None
    """Of a parameter."""


@dataclass(frozen=True, slots=True)
class Record:
    name: str
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Operation:
    """One endpoint, as its page shows it."""

    id: str
    group: str
    method: str
    path: str
    summary: str
    description: str
    credential: str | None
    """What `Authorization` has to hold; None where nothing is asked for."""
    subscription_key: bool
    parameters: tuple[Field, ...]
    requests: tuple[Record, ...]
    """The forms the body may have, the first one first; then the records inside."""
    needed: tuple[str, ...]
    """The fields that a body must have, in its flat form where it has one."""
    request_example: Any
    """None where there is no body, or none of JSON."""
    responses: tuple[Record, ...]
    response_example: Any
    statuses: tuple[int, ...]
    refusals: tuple[tuple[int, tuple[str, ...]], ...]
    """Refusal codes by HTTP status."""
    aliases: tuple[str, ...]

    @property
    def slug(self) -> str:
        return self.id.replace("_", "-")


class Reference:
    """Every operation of one document."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._schemas: Mapping[str, Schema] = document["components"]["schemas"]
        self.base_url: str = document["servers"][0]["url"]
        aliases: dict[str, list[str]] = {}
        found: dict[str, Operation] = {}
        for path, methods in document["paths"].items():
            for method, given in methods.items():
                if "x-alias-of" in given:
                    aliases.setdefault(given["x-alias-of"], []).append(path)
                else:
                    found[given["operationId"]] = self._operation(method.upper(), path, given)
        self.operations = tuple(
            replace(operation, aliases=tuple(aliases.get(name, ()))) for name, operation in found.items()
        )
        self.by_slug = {operation.slug: operation for operation in self.operations}

    def by_tag(self) -> list[tuple[str, list[Operation]]]:
        """The operations under the title of their area."""
        return [(title, [o for o in self.operations if o.group == group]) for group, title in TITLES.items()]

    def answering(self, code: str) -> list[Operation]:
        """The operations that can answer this refusal."""
        return [o for o in self.operations if any(code in codes for _, codes in o.refusals)]

    def record(self, name: str) -> Record:
        """A record by its name in the document."""
        schema = self._schemas[name]
        required = schema.get("required", ())
        return Record(
            name, tuple(_field(key, value, key in required) for key, value in schema.get("properties", {}).items())
        )

    def resolve(self, schema: Schema) -> Schema:
        """The schema itself, or the one it refers to."""
        name = _referred(schema)
        return self._schemas[name] if name else schema

    def _operation(self, method: str, path: str, given: Mapping[str, Any]) -> Operation:
        security = given["security"][0]
        request = given.get("requestBody", {}).get("content", {}).get("application/json", {})
        statuses = tuple(int(status) for status in given["responses"] if int(status) < 400)
        # 304 comes without a body: what the answer looks like stands at a success.
        answer = given["responses"][str(max(s for s in statuses if s < 300))].get("content", {})
        response = answer.get("application/json", {})
        return Operation(
            id=given["operationId"],
            group=given["tags"][0],
            method=method,
            path=path,
            summary=given["summary"],
            description=given.get("description", ""),
            credential=next((words for name, words in _CREDENTIALS.items() if name in security), None),
            subscription_key="subscription_key" in security,
            parameters=tuple(
                _field(p["name"], p["schema"] | {"description": p["description"]}, p["required"], p.get("example"))
                for p in given["parameters"]
            ),
            requests=tuple(self._records(request.get("schema"))),
            needed=tuple(self._needed(request.get("schema"))),
            request_example=request.get("example"),
            responses=tuple(self._records(response.get("schema"))),
            response_example=response.get("example"),
            statuses=tuple(sorted(statuses, reverse=True)),
            refusals=tuple(
                (int(status), tuple(answer["content"][MEDIA_TYPE]["examples"]))
                for status, answer in given["responses"].items()
                if int(status) >= 400
            ),
            aliases=(),
        )

    def _needed(self, schema: Schema | None) -> Iterable[str]:
        if schema is not None:
            yield from self.resolve(schema.get("anyOf", [schema])[-1]).get("required", ())

    def _records(self, schema: Schema | None) -> Iterable[Record]:
        """The records a body may be, and those inside, each once and outer ones first."""
        waiting = [] if schema is None else list(_references(schema))
        seen: set[str] = set()
        while waiting:
            name = waiting.pop(0)
            if name not in seen:
                seen.add(name)
                record = self.record(name)
                waiting += [field.record for field in record.fields if field.record]
                yield record


@lru_cache(maxsize=4)
def reference(base_url: str) -> Reference:
    """The reference of this version for the service at `base_url`."""
    return Reference(openapi.document(TABLES, __version__, base_url))


def _field(name: str, schema: Schema, required: bool, example: Any = None) -> Field:
    kind, limits = _words(schema)
    default = json.dumps(schema["default"]) if "default" in schema else ""
    return Field(name, kind, limits, required, default, next(iter(_references(schema)), None), example)


def _referred(schema: Schema) -> str:
    return str(schema.get("$ref", "")).removeprefix(_REFERENCE)


def _references(schema: Schema) -> Iterable[str]:
    if name := _referred(schema):
        yield name
    for inner in (*schema.get("anyOf", ()), *([schema["items"]] if "items" in schema else ())):
        yield from _references(inner)


def _words(schema: Schema) -> tuple[str, str]:
    """What a value is, and what it may hold."""
    limits = [str(schema["description"]).rstrip(".")] if "description" in schema else []
    if name := _referred(schema):
        return name, "; ".join(limits)
    if "anyOf" in schema:
        named = [_words(variant) for variant in schema["anyOf"]]
        limits += [words for _, words in named if words]
        return " or ".join(kind for kind, _ in named), "; ".join(limits)
    kind = str(schema.get("type", "any"))
    if kind == "array":
        inner, each = _words(schema["items"])
        limits += [f"at most {schema['maxItems']} members"] if "maxItems" in schema else []
        limits += [f"each: {each}"] if each else []
        return f"array of {inner}", "; ".join(limits)
    limits += _range(schema.get("minLength"), schema.get("maxLength"), " characters")
    limits += _range(schema.get("minimum"), schema.get("maximum"), "")
    return kind, "; ".join(limits)


def _range(least: int | None, most: int | None, unit: str) -> list[str]:
    if most is None:
        return [] if least is None else [f"at least {least:,}{unit}"]
    if not least:
        return [f"at most {most:,}{unit}"]
    return [f"exactly {most:,}{unit}" if least == most else f"{least:,} to {most:,}{unit}"]
