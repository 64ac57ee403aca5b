"""The page that the `type` of every problem document leads to."""

import base64
import hashlib
import re

import httpx
import pytest

from strongroom.http import refusal_page
from strongroom.testing import Service
from strongroom.testing.service import BASE_URL
from strongroom.wire.refusal import Refusal


@pytest.mark.parametrize("refusal", Refusal, ids=lambda refusal: refusal.code)
def test_every_code_has_a_page(strongroom_session_service: Service, refusal: Refusal) -> None:
    with httpx.Client(transport=strongroom_session_service.transport, base_url=BASE_URL) as client:
        answer = client.get(f"/refusals/{refusal.code}")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert f"<h1>{refusal.code}</h1>" in answer.text
    assert str(refusal.status) in answer.text


def test_the_policy_allows_the_style_and_nothing_else() -> None:
    page = refusal_page.render(Refusal.not_found, None).decode()
    style = re.search(r"<style>(.*)</style>", page)
    assert style is not None
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in refusal_page.CONTENT_SECURITY_POLICY
    assert refusal_page.CONTENT_SECURITY_POLICY.startswith("default-src 'none'")
    assert "script" not in page


def test_the_catalogue_is_linked_where_there_is_one() -> None:
    address = "https://vault.example/portal/docs/errors/not_found"
    assert f'href="{address}"' in refusal_page.render(Refusal.not_found, address).decode()
    assert "href" not in refusal_page.render(Refusal.not_found, None).decode()
