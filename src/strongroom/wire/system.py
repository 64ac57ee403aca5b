"""What every process answers whatever areas it runs: health, version and the OpenAPI document."""

from msgspec import Struct

from strongroom.wire.endpoint import Endpoint, Open
from strongroom.wire.refusal import Refusal


class Health(Struct, frozen=True):
    status: str


class Version(Struct, frozen=True):
    name: str
    version: str
    areas: list[str]


ENDPOINTS = (
    Endpoint(
        name="healthz",
        method="GET",
        path="/healthz",
        summary="The process is alive.",
        credential=Open(because="monitors carry no keys"),
        response=Health,
        status=200,
        subscription_key=False,
    ),
    Endpoint(
        name="readyz",
        method="GET",
        path="/readyz",
        summary="The databases answer and take writes.",
        credential=Open(because="monitors carry no keys"),
        response=Health,
        status=200,
        subscription_key=False,
        refusals=(Refusal.unavailable,),
    ),
    Endpoint(
        name="version",
        method="GET",
        path="/version",
        summary="What runs here.",
        credential=Open(because="it tells nothing about anybody"),
        response=Version,
        status=200,
        subscription_key=False,
    ),
    Endpoint(
        name="refusal",
        method="GET",
        path="/refusals/{code}",
        summary="What a refusal code means and how to mend it. The `type` of every problem document leads here.",
        credential=Open(because="the documentation is public"),
        media_types=("text/html",),
        status=200,
        subscription_key=False,
        cacheable=True,
        refusals=(Refusal.not_found,),
    ),
    Endpoint(
        name="openapi",
        method="GET",
        path="/openapi.json",
        summary="This API as an OpenAPI 3.1 document.",
        credential=Open(because="the documentation is public"),
        status=200,
        subscription_key=False,
        cacheable=True,
    ),
)
