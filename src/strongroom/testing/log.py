"""The lines a service logged, kept for tests to look at."""

import io
import logging

from strongroom.runtime.logging import LOGGER, JsonFormatter


class CapturedLog(io.StringIO):
    """Access log of one service and, between `begin` and `end`, all messages of the service's logger."""

    def __init__(self, level: str) -> None:
        super().__init__()
        self._handler = logging.StreamHandler(self)
        self._handler.setFormatter(JsonFormatter())
        self._logger = logging.getLogger(LOGGER)
        self._level = level.upper()
        self._level_before = self._logger.level

    @property
    def lines(self) -> list[str]:
        return self.getvalue().splitlines()

    def begin(self) -> None:
        self._level_before = self._logger.level
        self._logger.setLevel(self._level)
        self._logger.addHandler(self._handler)

    def end(self) -> None:
        self._logger.removeHandler(self._handler)
        self._logger.setLevel(self._level_before)
