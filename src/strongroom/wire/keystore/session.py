"""Sessions (spec: key store 3)."""

from typing import Annotated, TypeAlias

from msgspec import Meta

from strongroom.wire.endpoint import KIB, Credential, Endpoint, Open
from strongroom.wire.keystore.fields import Id, Passphrase, SentUsername, Time, Username
from strongroom.wire.record import Record
from strongroom.wire.refusal import Refusal

SessionString: TypeAlias = Annotated[
    str, Meta(description="Goes in `Authorization` of every later call to the key store.")
]


class CreateSession(Record, frozen=True):
    username: SentUsername
    passphrase: Passphrase


class Session(Record, frozen=True):
    session_authentication_string: SessionString
    id: Id
    valid_from: Time
    valid_till: Time
    username: Username


class SessionResponse(Record, frozen=True):
    session: Annotated[Session, Meta(description="The new session.")]


CREATE_SESSION = Endpoint(
    method="POST",
    path="/keystore/session",
    summary="Log in. The answer to a wrong passphrase and to an unknown username is the same.",
    source="spec: key store 3",
    credential=Open(because="username and passphrase in the body are the credential"),
    body=CreateSession,
    answer=SessionResponse,
    body_limit=8 * KIB,
    refusals=(Refusal.invalid_credentials,),
)

DELETE_SESSION = Endpoint(
    method="DELETE",
    path="/keystore/session",
    summary="Log out: the session string in `Authorization` is refused from now on.",
    credential=Credential.keystore_session,
    status=204,
)
