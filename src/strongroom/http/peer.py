"""The other area over HTTP, where the areas run apart: the same endpoint records, a credential of the service's own."""

import hmac

import httpx
import msgspec

from strongroom.runtime import tokens
from strongroom.runtime.principals import Service
from strongroom.runtime.secret import ServerSecret
from strongroom.storage import Unavailable
from strongroom.wire.endpoint import Answer, Body, Endpoint, NoPath, NoQuery
from strongroom.wire.refusal import Problem, Refusal, Refused

TIMEOUT_SECONDS = 5.0
_LABEL = "service-credential"


def credential(secret: ServerSecret) -> str:
    """What one area shows the other. Both know the server secret, and no other party does."""
    return tokens.mint(tokens.Prefix.service_credential, secret.current_key(_LABEL))


def authenticate(secret: ServerSecret, value: str) -> Service:
    """`service_credential_invalid` unless it was made with an active secret."""
    accepted = [tokens.mint(tokens.Prefix.service_credential, key) for key in secret.keys(_LABEL)]
    if not any(hmac.compare_digest(one.encode(), value.encode()) for one in accepted):
        raise Refused(Refusal.service_credential_invalid)
    return Service()


class Peer:
    """A client for the internal endpoints of the other area."""

    def __init__(self, base_url: str, secret: ServerSecret, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._client = httpx.AsyncClient(
            base_url=base_url,
            headers={"Authorization": credential(secret)},
            timeout=TIMEOUT_SECONDS,
            transport=transport,
            trust_env=False,
        )

    async def call(self, endpoint: Endpoint[NoPath, NoQuery, Body, Answer], body: Body) -> Answer:
        """Its answer; its refusal as `Refused`; `Unavailable` where it does not answer as agreed."""
        try:
            reply = await self._client.request(
                endpoint.method,
                endpoint.path,
                content=msgspec.json.encode(body),
                headers={"Content-Type": "application/json"},
            )
            if reply.is_success:
                return msgspec.json.decode(reply.content or b"{}", type=endpoint.answer)
            problem = msgspec.json.decode(reply.content, type=Problem)
        except (httpx.HTTPError, msgspec.DecodeError) as error:
            raise Unavailable from error
        if problem.code not in {refusal.code for refusal in endpoint.refusals}:
            raise Unavailable
        raise Refused(Refusal[problem.code])

    async def close(self) -> None:
        await self._client.aclose()
