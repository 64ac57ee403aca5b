"""`strongroom demo`: a real service, a real user, and everything that went over the wire."""

import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import click

from strongroom.cli.demo.journey import Journey
from strongroom.cli.demo.process import ServiceProcess
from strongroom.cli.demo.screen import Screen
from strongroom.cli.output import json_option, print_json


@click.command()
@click.option("--data", metavar="PATH", type=click.Path(path_type=Path), help="Keep the data here. [default: nowhere]")
@json_option
def demo(data: Path | None, as_json: bool) -> None:
    """Start a service and walk one user's whole journey, step by step.

    The service runs on SQLite and listens on a free port of this machine. A user is registered with real keys in the
    eleven steps of the specification, logs in again from nothing but name and passphrase, and encrypts data. Every
    request is shown with its secrets masked, and at the end what the service has seen and stored is searched for the
    passphrase and the data.
    """
    started = time.perf_counter()
    screen = Screen(quiet=as_json)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="strongroom-demo-")))
        service = stack.enter_context(ServiceProcess(data or folder / "data", folder / "service.log"))
        screen.service(service.base_url, data, service.keys, service.seconds)
        journey = Journey(service, screen)
        journey.walk()
        service.stop()
        journey.search_what_was_stored()
    seconds = time.perf_counter() - started
    if as_json:
        print_json(journey.report | {"seconds": round(seconds, 3)})
    else:
        screen.done(seconds)
