"""The server secret for commands that work beside the service."""

from strongroom.cli.output import Failed, SettingRefused
from strongroom.runtime.secret import ServerSecret
from strongroom.runtime.settings import Settings


def server_secret(settings: Settings) -> ServerSecret | None:
    """From the setting or the data folder, never a new one.

    `SettingRefused` for a malformed one, `Exposed`, `Failed` where it cannot be read.
    """
    from strongroom.backup.areas import read_secret

    try:
        return read_secret(settings)
    except ValueError as error:  # of the secret, which the message does not repeat
        raise SettingRefused(str(error)) from None
    except OSError as error:  # as where the folder belongs to the user who runs the service
        raise Failed(f"the server secret cannot be read: {error.strerror}") from None
