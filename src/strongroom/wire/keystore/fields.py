"""Types of fields that several records share."""

from typing import Annotated, TypeAlias

from msgspec import Meta

from strongroom.wire.endpoint import KIB

Id: TypeAlias = Annotated[str, Meta(description="A lower-case UUID.")]
Time: TypeAlias = Annotated[str, Meta(description="ISO 8601 in UTC with milliseconds and `Z`.")]
Serialized: TypeAlias = Annotated[str, Meta(description="Three parts joined by a dot, strategy `Aes256Gcm`.")]
SentSerialized: TypeAlias = Annotated[Serialized, Meta(min_length=1, max_length=8 * KIB)]
Pem: TypeAlias = Annotated[str, Meta(description="The public key as PEM (SPKI), RSA with 4096 bits.")]
SentPem: TypeAlias = Annotated[Pem, Meta(min_length=1, max_length=1024)]
Token: TypeAlias = Annotated[
    str, Meta(min_length=1, max_length=256, description="The `token_value` of an admission token.")
]
Username: TypeAlias = Annotated[
    str, Meta(description="1 to 128 characters; as typed, and unique in its canonical form.")
]
SentUsername: TypeAlias = Annotated[Username, Meta(max_length=1024)]
Passphrase: TypeAlias = Annotated[
    str,
    Meta(
        max_length=1024,
        description="The login secret that the client derives from the passphrase; other clients send the passphrase.",
    ),
]
