"""What a run says: a table for people, a JSON file for what comes after."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.machine import RESULTS

_HEADINGS = (
    "question",
    "engine",
    "what",
    "throughput",
    "CPU",
    "latency",
    "p99/p50",
    "measured",
    "against",
    "target",
    "",
)
_UNITS = (("per_second", "/s"), ("cpu_us", " us CPU"), ("ms", " ms"), ("us", " us"), ("mebibytes", " MiB"))


def table(rows: Iterable[dict[str, Any]]) -> str:
    """Ratios above 1 are to our advantage; latency is how many times slower."""
    lines = [_HEADINGS, *(_cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(_HEADINGS))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def write(rows: list[dict[str, Any]], machine: dict[str, Any]) -> Path:
    RESULTS.mkdir(parents=True, exist_ok=True)
    file = RESULTS / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}.json"
    file.write_text(json.dumps({"machine": machine, "rows": rows}, indent=1) + "\n")
    return file


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    target = row.get("target")
    return (
        row["question"],
        row.get("engine", ""),
        row["plan"],
        _ratio(row.get("throughput_ratio")),
        _ratio(row.get("cpu_ratio")),
        _ratio(row.get("latency_ratio")),
        str(row.get("p99_over_p50", "")),
        _amount(row.get("first", {})),
        _amount(row.get("second", {})),
        "" if target is None else f"{target:g}",
        row.get("verdict", ""),
    )


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _amount(side: dict[str, Any]) -> str:
    return " ".join(f"{side[name]:,.0f}{unit}" for name, unit in _UNITS if name in side)
