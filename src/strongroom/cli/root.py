"""The program: its commands, its version, and how every failure becomes one line and an exit code."""

from typing import Any

import click

from strongroom.cli.lazy import LazyGroup
from strongroom.cli.output import EXIT_CODES, Interrupted
from strongroom.version import __version__

_MEMBERS = {
    "demo": ("strongroom.cli.demo:demo", "Start a service and walk one user's whole journey, step by step."),
    "serve": ("strongroom.cli.serve:serve", "Run the service."),
    "admin": ("strongroom.cli.admin:admin", "Providers, subscriptions, keys and classification data of a data folder."),
    "register": ("strongroom.cli.account:register", "Register a user in the eleven steps of the specification."),
    "unlock": ("strongroom.cli.account:unlock", "Open an account from name and passphrase, and say what is in it."),
    "whoami": ("strongroom.cli.account:whoami", "Check name and passphrase: who is this, and at which realm?"),
    "crypto": ("strongroom.cli.crypto:crypto", "Explain a serialized value without any key; make an account secret."),
    "backup": ("strongroom.cli.backup:backup", "Write everything the service keeps to one file, while it runs."),
    "restore": ("strongroom.cli.backup:restore", "Put a backup into empty databases."),
    "verify": ("strongroom.cli.backup:verify", "Check a backup, or the databases of a data folder."),
    "db": ("strongroom.cli.db:db", "The schema of the databases: show how far it is, bring it up to date."),
    "doctor": ("strongroom.cli.doctor:doctor", "Check the installation, a data folder and a service."),
}


class Program(LazyGroup):
    """What commands raise on purpose ends as one line on standard error and the exit code that belongs to it."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, BrokenPipeError):
            raise
        except (KeyboardInterrupt, click.Abort):
            raise Interrupted("interrupted") from None
        except Exception as error:
            from strongroom.cli.failures import as_failed

            failed = as_failed(error)
            if failed is None:
                raise
            # `from None`: the chain below may quote what was sent.
            raise failed from None


def _epilog() -> str:
    codes = "\n".join(f"{code.value:>3}  {meaning}" for code, meaning in EXIT_CODES.items())
    return f"\b\nExit codes:\n{codes}"


@click.group(
    cls=Program,
    members=_MEMBERS,
    epilog=_epilog(),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, message="strongroom %(version)s", help="Show the version and end.")
def root() -> None:
    """A key store and data vault whose operator cannot read what it keeps.

    Data goes to standard output, messages to standard error. Secrets are asked for, read from standard input or taken
    from the environment; no option takes one. NO_COLOR is honoured.
    """
