"""The documentation: first steps, the API reference, and a page for every refusal code."""

from typing import Final

from starlette.responses import Response

from strongroom.portal.documentation import examples
from strongroom.portal.documentation.reference import TITLES, Reference, reference
from strongroom.portal.refusals import Absent
from strongroom.portal.web.page import Needs, Page, Visit
from strongroom.wire.refusal import RESERVED, Refusal

_STATUS_TITLES: Final = {
    400: "The request cannot be read",
    401: "No credential, or one that is not accepted",
    403: "Known, but not allowed",
    404: "Not found",
    405: "Method not allowed",
    408: "The request did not arrive in time",
    409: "It contradicts what is stored",
    413: "Too large",
    415: "Not JSON",
    422: "Readable, but refused",
    429: "Too many requests",
    416: "No such range",
    428: "A header is missing",
    431: "Too large",
    500: "Our fault",
    503: "Not now",
}


def _reference(visit: Visit) -> Reference:
    return reference(visit.portal.api_url)


async def overview(visit: Visit) -> Response:
    api_url = visit.portal.api_url
    return visit.page(
        "docs/overview.html",
        api_url=api_url,
        curl=examples.first_call_curl(api_url),
        python=examples.first_user_python(api_url),
    )


async def endpoints(visit: Visit) -> Response:
    return visit.page("docs/endpoints.html", groups=_reference(visit).by_tag())


async def endpoint(visit: Visit) -> Response:
    known = _reference(visit)
    operation = known.by_slug.get(visit.path("operation"))
    if operation is None:
        raise Absent
    in_order = [one for _, found in known.by_tag() for one in found]
    place = in_order.index(operation)
    return visit.page(
        "docs/endpoint.html",
        operation=operation,
        area=TITLES[operation.group],
        before=in_order[place - 1] if place else None,
        after=in_order[place + 1] if place + 1 < len(in_order) else None,
        curl=examples.curl(known, operation),
        python=examples.python(known, operation),
        request_example=examples.body(operation.request_example),
        response_example=examples.body(operation.response_example),
        titles={refusal.code: refusal.title for refusal in Refusal},
    )


async def refusals(visit: Visit) -> Response:
    by_status: dict[int, list[Refusal]] = {}
    for refusal in Refusal:
        by_status.setdefault(refusal.status, []).append(refusal)
    groups = [(status, _STATUS_TITLES[status], found) for status, found in sorted(by_status.items())]
    return visit.page("docs/refusals.html", groups=groups, problem=_reference(visit).record("Problem"))


async def refusal(visit: Visit) -> Response:
    code = visit.path("code")
    if code not in Refusal.__members__:
        raise Absent
    found = Refusal[code]
    known = _reference(visit)
    return visit.page(
        "docs/refusal.html",
        refusal=found,
        is_reserved=found in RESERVED,
        answering=known.answering(code),
        total=len(known.operations),
        example=examples.problem(known, found),
    )


PAGES = (
    Page("GET", "/docs", Needs.anybody, overview),
    Page("GET", "/docs/api", Needs.anybody, endpoints),
    Page("GET", "/docs/api/{operation}", Needs.anybody, endpoint),
    Page("GET", "/docs/errors", Needs.anybody, refusals),
    Page("GET", "/docs/errors/{code}", Needs.anybody, refusal),
)
