"""The requests of a measurement: what is sent, and what a right answer looks like."""

import http.client
import json
import secrets
from dataclasses import dataclass
from typing import Any

UNIQUE = "UNIQUE__UNIQUE__"
"""Stands in a body where every request needs other characters; they are from the Base64 alphabet."""


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: str = ""

    def parts(self) -> tuple[str, str]:
        """The request as it goes over the wire, before and after the unique characters (or all, and nothing)."""
        headers = {"Host": "bench.localhost", **self.headers}
        if self.body:
            headers |= {"Content-Type": "application/json", "Content-Length": str(len(self.body))}
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        before, _, after = f"{self.method} {self.path} HTTP/1.1\r\n{head}\r\n{self.body}".partition(UNIQUE)
        return before, after


@dataclass(frozen=True, slots=True)
class Plan:
    """One endpoint to measure: requests that are sent in turn, each of which has to be answered with `status`."""

    name: str
    requests: list[Request]
    status: int
    connections: int = 32


def check(plan: Plan, port: int) -> Any:
    """One answer, decoded; a wrong status ends the run before anything is timed."""
    request = plan.requests[0]
    before, after = request.parts()
    whole = before + (secrets.token_hex(8) + after if UNIQUE in request.body else after)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        body = whole.partition("\r\n\r\n")[2]
        headers = request.headers | ({"Content-Type": "application/json"} if body else {})
        connection.request(request.method, request.path, body or None, headers)
        answer = connection.getresponse()
        content = answer.read()
    finally:
        connection.close()
    if answer.status != plan.status:
        raise RuntimeError(f"{plan.name} was answered {answer.status} instead of {plan.status}")
    return json.loads(content) if content else None


def shape(value: Any) -> Any:
    """What two right answers have in common: their fields and lengths, without ids, times and ciphertexts."""
    if isinstance(value, dict):
        return {name: shape(member) for name, member in value.items()}
    if isinstance(value, list):
        return [shape(member) for member in value]
    return type(value).__name__
