"""The base of every record on the wire."""

import msgspec


class Record(msgspec.Struct, frozen=True):
    """Its repr shows the id and nothing else: tokens, passphrases and session strings pass through these records."""

    def __repr__(self) -> str:
        shown = getattr(self, "id", None)
        return f"{type(self).__name__}({'' if shown is None else f'id={shown!r}, '}...)"
