"""`strongroom doctor`: checks of the installation, a data folder, the mail server and a service."""

import os
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

import click

from strongroom.cli.doctor import data_folder, installation, mail, service
from strongroom.cli.doctor.finding import Finding, Verdict
from strongroom.cli.output import Failed, NotAvailable, json_option, print_json, style

_COLOURS = {Verdict.ok: "green", Verdict.warning: "yellow", Verdict.failed: "red", Verdict.skipped: "bright_black"}


@click.command()
@click.option("--data", metavar="PATH", help="Check this data folder. [default: STRONGROOM_DATA]")
@click.option("--url", metavar="URL", help="Check the service there. [default: STRONGROOM_URL]")
@json_option
def doctor(data: str | None, url: str | None, as_json: bool) -> None:
    """Check the installation and, where given, a data folder, the mail server and a service. Changes nothing.

    The exit code is 0 where nothing failed (warnings included), 3 where nothing but reaching the service failed, and
    otherwise 1. The subscription key of STRONGROOM_SUBSCRIPTION_KEY is tried, too.
    """
    findings = list(_all(data or os.environ.get("STRONGROOM_DATA"), url or os.environ.get("STRONGROOM_URL")))
    if as_json:
        print_json([asdict(finding) for finding in findings])
    else:
        width = max(len(finding.check) for finding in findings)
        for finding in findings:
            verdict = style(finding.verdict.value.ljust(7), fg=_COLOURS[finding.verdict])
            click.echo(f"{verdict}  {finding.check.ljust(width)}  {finding.says}")
    failed = [finding for finding in findings if finding.verdict is Verdict.failed]
    if [finding.check for finding in failed] == [service.REACHABLE]:
        raise NotAvailable("the service cannot be reached")
    if failed:
        raise Failed(f"{len(failed)} of {len(findings)} checks failed")


def _all(data: str | None, url: str | None) -> Iterable[Finding]:
    yield from installation.findings()
    if data:
        yield from data_folder.findings(Path(data))
    else:
        yield Finding("data folder", Verdict.skipped, "none given: use --data or STRONGROOM_DATA")
    yield from mail.findings()
    if url:
        yield from service.findings(url)
    else:
        yield Finding("service", Verdict.skipped, "none given: use --url or STRONGROOM_URL")
