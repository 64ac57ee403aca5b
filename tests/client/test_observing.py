"""The observer sees everything; what is shown to people is masked."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from strongroom import Exchange, Strongroom, mask

if TYPE_CHECKING:
    from tests.client.conftest import Peer

Connect = Callable[..., Strongroom]


def test_every_exchange_is_seen_and_masking_hides_its_secrets(peer: "Peer", connect: Connect) -> None:
    exchanges: list[Exchange] = []
    with connect(peer, observer=exchanges.append) as service:
        service.register("Ada", "a passphrase", iterations=600_000).classification_nodes(by_name="pet")
    assert [exchange.path for exchange in exchanges] == [
        seen.url.removeprefix("http://127.0.0.1:8000") for seen in peer.seen
    ]
    assert exchanges[0].credential == "provider API key"
    assert exchanges[1].credential is None
    assert exchanges[3].credential == "key store session string"
    assert all(exchange.status in {200, 201} and exchange.seconds >= 0 for exchange in exchanges)
    login = json.loads(exchanges[2].request_body)["passphrase"]
    tokens = [*peer.tokens, *peer.sessions, *peer.vault_sessions, login]
    shown = "".join(mask(exchange.request_body) + mask(exchange.response_body) for exchange in exchanges)
    shown += repr(exchanges)
    assert '"username": "Ada"' in shown
    for token in tokens:
        assert token not in shown


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (b"", ""),
        (b"\x89PNG", "(4 bytes)"),
        (b"[" * 100_000, "(100000 bytes)"),
        (b'{"passphrase": "x", "username": "Ada"}', '{"passphrase": "********", "username": "Ada"}'),
        (b'{"note": "token sra_0123456789 here"}', '{"note": "token ******** here"}'),
        (
            b'{"admission_token": {"token_value": "x", "used": false}}',
            '{"admission_token": {"token_value": "********", "used": false}}',
        ),
        (b'[1, null, {"a": ["b"]}]', '[1, null, {"a": ["b"]}]'),
    ],
)
def test_masking(body: bytes, shown: str) -> None:
    assert mask(body) == shown


def test_long_values_are_cut() -> None:
    masked = mask(json.dumps({"public_key": "A" * 800}).encode())
    assert len(masked) < 100
    assert "(800 characters)" in masked
