"""`strongroom crypto`: what needs no service and no account."""

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from strongroom.cli.output import Failed, json_option, note, print_json, print_record, style

if TYPE_CHECKING:
    from strongroom.crypto.inspection import Explanation

_LIMIT = 64 * 1024 * 1024


@click.group()
def crypto() -> None:
    """Explain a serialized value, make an account secret."""


@crypto.command("account-secret")
@json_option
def account_secret(as_json: bool) -> None:
    """Make an account secret: with one, a stolen database is worthless even with the right passphrase.

    Hand it to `register` and `unlock` as STRONGROOM_ACCOUNT_SECRET. Without it the account is lost.
    """
    from strongroom.crypto.passphrases import AccountSecret

    text = AccountSecret.generate().text().reveal()
    if as_json:
        print_json({"account_secret": text})
    else:
        click.echo(text)
    note("Keep it now, beside the passphrase: it is not stored anywhere.")


@crypto.command()
@click.argument("value", required=False)
@json_option
def inspect(value: str | None, as_json: bool) -> None:
    """Explain VALUE, or what is on standard input: strategy, sizes, artefacts, and what it is bound to.

    Serialized values, artefacts and public keys are no secrets. A token or a private key is recognised and not shown
    again, but as an argument it has been in the list of processes: hand such a thing in on standard input.
    """
    text = sys.stdin.read(_LIMIT + 1) if value is None or value == "-" else value
    if not text.strip():
        raise Failed("there is nothing to explain: give a value, or write one to standard input")
    from strongroom.crypto.inspection import explain

    explanation = explain(text)
    if as_json:
        print_json(asdict(explanation))
    else:
        print_record(_lines(explanation), as_json)
    for warning in explanation.warnings:
        note(f"{style('warning:', sys.stderr, fg='yellow')} {warning}")
    if explanation.kind == "unknown":
        raise Failed("this is no value of Strongroom, as far as can be told without a key")


def _lines(explanation: "Explanation") -> dict[str, str]:
    lines = {"kind": explanation.kind}
    if explanation.strategy:
        lines["strategy"] = explanation.strategy
    if explanation.format:
        lines["artefacts"] = explanation.format
    for name, size in explanation.sizes.items():
        lines[name if name in ("characters", "bits") else f"{name} (bytes)"] = str(size)
    return lines | {name: str(field) for name, field in explanation.fields.items()}
