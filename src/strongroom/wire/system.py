"""What every process answers, with any set of areas: health, version and the OpenAPI document."""

from typing import Annotated

from msgspec import Meta, Struct

from strongroom.wire.endpoint import Endpoint, Open, named
from strongroom.wire.refusal import Refusal


class Health(Struct, frozen=True):
    status: Annotated[str, Meta(description="`ok`.")]


class Version(Struct, frozen=True):
    name: Annotated[str, Meta(description="`strongroom`.")]
    version: Annotated[str, Meta(description="The version of the software.")]
    areas: Annotated[list[str], Meta(description="The areas that this process serves.")]


class RefusalPath(Struct, frozen=True):
    code: Annotated[str, Meta(description="A refusal code.")]


HEALTHZ = Endpoint(
    method="GET",
    path="/healthz",
    summary="The process is alive.",
    credential=Open(because="monitors carry no keys"),
    answer=Health,
    status=200,
    subscription_key=False,
)
READYZ = Endpoint(
    method="GET",
    path="/readyz",
    summary="Whether the databases answer and accept writes.",
    credential=Open(because="monitors carry no keys"),
    answer=Health,
    status=200,
    subscription_key=False,
    refusals=(Refusal.unavailable,),
)
VERSION = Endpoint(
    method="GET",
    path="/version",
    summary="What runs here.",
    credential=Open(because="it reveals nothing about users or data"),
    answer=Version,
    status=200,
    subscription_key=False,
)
REFUSAL = Endpoint(
    method="GET",
    path="/refusals/{code}",
    summary="What a refusal code means and how to fix it. The `type` of every problem document is this address.",
    credential=Open(because="the documentation is public"),
    parameters=RefusalPath,
    media_types=("text/html",),
    status=200,
    subscription_key=False,
    cacheable=True,
)
OPENAPI = Endpoint(
    method="GET",
    path="/openapi.json",
    summary="This API as an OpenAPI 3.1 document.",
    credential=Open(because="the documentation is public"),
    status=200,
    subscription_key=False,
    cacheable=True,
)

ENDPOINTS = named(globals())
