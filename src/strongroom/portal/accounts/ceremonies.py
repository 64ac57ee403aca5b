"""The two ceremonies of WebAuthn (level 2): a device makes a passkey, a device proves that it has one."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

import webauthn
from webauthn.helpers.exceptions import WebAuthnException
from webauthn.helpers.structs import (
    AuthenticatorSelectionCriteria,
    PublicKeyCredentialDescriptor,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

# Exceptions of the library for data that no browser would send.
_BROKEN = (WebAuthnException, ValueError, LookupError, TypeError, AttributeError, RecursionError)


class PasskeyRefused(Exception):
    """Not a proof of a passkey for this site, this challenge and this developer. Never says which."""


@dataclass(frozen=True, slots=True)
class Site:
    """What the browser binds passkeys to: a host name, and the origin of its pages."""

    host: str
    origin: str


@dataclass(frozen=True, slots=True)
class Options:
    """What a page hands to the browser, with the challenge that the answer has to be about."""

    challenge: bytes
    json: str


@dataclass(frozen=True, slots=True)
class NewPasskey:
    credential_id: bytes
    public_key: bytes
    sign_count: int


def site(base_url: str) -> Site | None:
    """None where browsers offer no passkeys: they need a host name, not an IP address."""
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    try:
        ip_address(host)
    except ValueError:
        return Site(host, f"{parts.scheme}://{parts.netloc}")
    return None


def creation_options(where: Site, developer_id: bytes, email: str, name: str, known: Iterable[bytes]) -> Options:
    """To make a passkey; a device that holds one of the known credentials does not make another."""
    options = webauthn.generate_registration_options(
        rp_id=where.host,
        rp_name="Strongroom",
        user_id=developer_id,
        user_name=email,
        user_display_name=name or email,
        exclude_credentials=[PublicKeyCredentialDescriptor(id=credential_id) for credential_id in known],
        authenticator_selection=AuthenticatorSelectionCriteria(
            resident_key=ResidentKeyRequirement.PREFERRED, user_verification=UserVerificationRequirement.REQUIRED
        ),
    )
    return Options(options.challenge, webauthn.options_to_json(options))


def request_options(where: Site, known: Iterable[bytes]) -> Options:
    """To use a passkey: one of the known credentials, or without any whichever the device holds for this site."""
    options = webauthn.generate_authentication_options(
        rp_id=where.host,
        allow_credentials=[PublicKeyCredentialDescriptor(id=credential_id) for credential_id in known],
        user_verification=UserVerificationRequirement.REQUIRED,
    )
    return Options(options.challenge, webauthn.options_to_json(options))


def challenge_of(credential: str) -> bytes:
    """The challenge that an answer claims to be about; `PasskeyRefused`."""
    try:
        data = json.loads(webauthn.base64url_to_bytes(json.loads(credential)["response"]["clientDataJSON"]))
        return webauthn.base64url_to_bytes(data["challenge"])
    except _BROKEN:
        raise PasskeyRefused from None


def credential_id_of(credential: str) -> bytes:
    """Which passkey an answer claims to come from; `PasskeyRefused`."""
    try:
        return webauthn.base64url_to_bytes(json.loads(credential)["rawId"])
    except _BROKEN:
        raise PasskeyRefused from None


def verify_new(where: Site, challenge: bytes, credential: str) -> NewPasskey:
    """A passkey just made for this site, behind a PIN or a finger; `PasskeyRefused`."""
    try:
        made = webauthn.verify_registration_response(
            credential=credential,
            expected_challenge=challenge,
            expected_rp_id=where.host,
            expected_origin=where.origin,
            require_user_verification=True,
        )
    except _BROKEN:
        raise PasskeyRefused from None
    return NewPasskey(made.credential_id, made.credential_public_key, made.sign_count)


def verify(where: Site, challenge: bytes, credential: str, public_key: bytes, sign_count: int) -> int:
    """The new count of a passkey that signed the challenge, behind a PIN or a finger; `PasskeyRefused`."""
    try:
        proof = webauthn.verify_authentication_response(
            credential=credential,
            expected_challenge=challenge,
            expected_rp_id=where.host,
            expected_origin=where.origin,
            credential_public_key=public_key,
            credential_current_sign_count=sign_count,
            require_user_verification=True,
        )
    except _BROKEN:
        raise PasskeyRefused from None
    return proof.new_sign_count
