"""Charts of usage: bars with whole numbers for an SVG that a template draws."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from strongroom.access.usage import Span
from strongroom.portal.rendering import counted
from strongroom.runtime.clock import DAY, HOUR, MINUTE, wire_time

WIDTH, HEIGHT = 720, 160
_STEPS = (1, 2, 5)


@dataclass(frozen=True, slots=True)
class Range:
    """How far back to look, in spans of which width."""

    name: str
    label: str
    width: int
    spans: int

    def first(self, now: int) -> int:
        """When the first span of the range began."""
        return now - now % self.width - (self.spans - 1) * self.width


RANGES = (
    Range("hour", "Last hour", MINUTE, 60),
    Range("day", "Last 24 hours", HOUR, 24),
    Range("week", "Last 7 days", HOUR, 168),
    Range("month", "Last 30 days", DAY, 30),
    Range("quarter", "Last 90 days", DAY, 90),
)


@dataclass(frozen=True, slots=True)
class Bar:
    """One span: the places are in units of the drawing, from its upper left corner."""

    x: float
    width: float
    y: float
    height: float
    refused_y: float
    refused_height: float
    title: str


@dataclass(frozen=True, slots=True)
class Chart:
    bars: list[Bar]
    top: float
    """The value at the upper edge."""
    scale: tuple[str, str, str]
    """What stands at the upper edge, in the middle and at the foot; nothing for half a call."""
    begins: str
    ends: str


def calls(spans: list[Span], over: Range, now: int) -> Chart:
    """Calls in each span, those that were refused at the foot."""
    values = [
        (at, span.calls if span else 0, sum(span.refused.values()) if span else 0)
        for at, span in _all(spans, over, now)
    ]
    return _chart(values, over, lambda value, refused: f"{counted(int(value), 'call')}, {refused:,} refused", least=1)


def latency(spans: list[Span], over: Range, now: int) -> Chart:
    """The mean of how long calls took in each span, in milliseconds."""
    values = [(at, span.microseconds / span.calls / 1000 if span else 0, 0) for at, span in _all(spans, over, now)]
    return _chart(values, over, lambda value, _: milliseconds(value), least=0.1)


def milliseconds(value: float) -> str:
    """`12.3 ms`, below one with two places: a fast service answers in less."""
    return f"{round(value, 1 if value >= 1 else 2):,} ms"


def _all(spans: list[Span], over: Range, now: int) -> list[tuple[int, Span | None]]:
    by_start = {span.starts_at: span for span in spans}
    first = over.first(now)
    return [(at, by_start.get(at)) for at in range(first, first + over.spans * over.width, over.width)]


def _chart(
    values: Sequence[tuple[int, float, int]], over: Range, wording: Callable[[float, int], str], *, least: float
) -> Chart:
    top = _round_up(max(value for _, value, _ in values), least)
    step = WIDTH / over.spans
    bars = []
    for place, (at, value, refused) in enumerate(values):
        height, refused_height = HEIGHT * value / top, HEIGHT * refused / top
        bars.append(
            Bar(
                x=round(place * step, 2),
                width=round(step * 0.8, 2),
                y=round(HEIGHT - height, 2),
                height=round(height, 2),
                refused_y=round(HEIGHT - refused_height, 2),
                refused_height=round(refused_height, 2),
                title=f"{when(at, over)}: {wording(value, refused)}",
            )
        )
    middle = "" if least == 1 and top % 2 else _plain(top / 2)
    return Chart(bars, top, (_plain(top), middle, "0"), when(values[0][0], over), when(values[-1][0], over))


def when(at: int, over: Range) -> str:
    """The beginning of a span in UTC: `2026-01-31`, and `12:00` where spans are shorter than a day."""
    text = wire_time(at)
    return text[:10] if over.width == DAY else f"{text[:10]} {text[11:16]}"


def _plain(value: float) -> str:
    """`1,000,000`, `2.5`: never as a power of ten."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,g}"


def _round_up(value: float, least: float) -> float:
    """1, 2 or 5 times a power of ten times the least."""
    power = 1
    while True:
        for step in _STEPS:
            if value <= step * power * least:
                return step * power * least
        power *= 10
