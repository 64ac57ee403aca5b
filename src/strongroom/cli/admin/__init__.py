"""`strongroom admin`: what an operator does to a data folder, also while the service runs."""

import click

from strongroom.cli.lazy import LazyGroup

_MEMBERS = {
    "provider": ("strongroom.cli.admin.provider:provider", "External parties: create, list, set the login policy."),
    "subscription": (
        "strongroom.cli.admin.subscription:subscription",
        "Subscriptions and their keys: create, list what waits, approve, reject, suspend, regenerate.",
    ),
    "provider-key": ("strongroom.cli.admin.provider_key:provider_key", "Provider API keys: create, list, revoke."),
    "product": ("strongroom.cli.admin.product:product", "The file of products: print one to start from, check one."),
    "mail": ("strongroom.cli.admin.mail:mail", "The portal's way of sending mail: send a test message."),
    "classification": (
        "strongroom.cli.admin.classification:classification",
        "Classification schemes: import a file, list what is there.",
    ),
}


@click.group(cls=LazyGroup, members=_MEMBERS)
def admin() -> None:
    """Work on a data folder directly, also while the service runs on it.

    Folder, databases and mail are those of `serve`, from the same STRONGROOM_... settings; --data is the folder.
    """
