"""`strongroom admin`: what an operator does to a data folder, also while the service runs."""

import click

from strongroom.cli.lazy import LazyGroup

_MEMBERS = {
    "provider": ("strongroom.cli.admin.provider:provider", "External parties: create, list, set the login policy."),
    "subscription": (
        "strongroom.cli.admin.subscription:subscription",
        "Subscriptions of a provider and their two keys: create, list, activate, regenerate, cancel.",
    ),
    "provider-key": ("strongroom.cli.admin.provider_key:provider_key", "Provider API keys: create, list, revoke."),
    "classification": (
        "strongroom.cli.admin.classification:classification",
        "Classification schemes: import a file, list what is there.",
    ),
}


@click.group(cls=LazyGroup, members=_MEMBERS)
def admin() -> None:
    """Work on a data folder directly, also while the service runs on it.

    The folder and databases are those of `serve`: --data or STRONGROOM_DATA, STRONGROOM_ACCESS_DATABASE and
    STRONGROOM_VAULT_DATABASE.
    """
