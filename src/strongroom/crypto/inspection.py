"""What a value is, told without any key."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Explanation:
    kind: str
    strategy: str | None = None
    format: str | None = None
    sizes: dict[str, int] = field(default_factory=dict)
    fields: dict[str, str | int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def explain(text: str) -> Explanation:
    raise NotImplementedError
