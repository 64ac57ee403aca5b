"""Users (spec: key store 2)."""

from typing import Annotated

from msgspec import Meta

from strongroom.wire.endpoint import KIB, Endpoint, Open
from strongroom.wire.keystore.fields import Id, Passphrase, SentUsername, Token, Username
from strongroom.wire.record import Record
from strongroom.wire.refusal import Refusal


class CreateUser(Record, frozen=True):
    admission_token: Token
    username: SentUsername
    passphrase: Passphrase


class User(Record, frozen=True):
    id: Id
    username: Username


class UserResponse(Record, frozen=True):
    user: Annotated[User, Meta(description="The new user.")]


CREATE_USER = Endpoint(
    method="POST",
    path="/keystore/users",
    summary="Create a user with an admission token. `passphrase` may be the login secret that the client derives.",
    source="spec: key store 2",
    credential=Open(because="the admission token in the body is the permission"),
    body=CreateUser,
    answer=UserResponse,
    body_limit=8 * KIB,
    refusals=(
        Refusal.admission_token_invalid,
        Refusal.admission_token_expired,
        Refusal.admission_token_used,
        Refusal.username_taken,
        Refusal.username_refused,
        Refusal.passphrase_refused,
        Refusal.derived_secret_required,
    ),
)
