"""The command line: thin commands over the service, the client and the crypto package."""


def main() -> None:
    """The program `strongroom`."""
    from strongroom.cli.root import root

    root(prog_name="strongroom")
