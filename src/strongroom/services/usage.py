"""Counts what each subscription calls, in memory: the door adds, and all of it is taken and stored regularly."""

from bisect import bisect_left

from strongroom.runtime.principals import Subscription

BOUNDS = (0.005, 0.02, 0.1, 0.5)
"""Seconds: a call belongs to the first bound that it does not exceed, or to those that are slower."""


class Tally:
    """The calls of one subscription with one of its keys since they were last taken."""

    __slots__ = ("calls", "provider_id", "refused", "seconds", "within")

    def __init__(self, provider_id: bytes) -> None:
        self.provider_id = provider_id
        self.calls = 0
        self.seconds = 0.0
        self.within = [0] * (len(BOUNDS) + 1)
        self.refused: dict[str, int] = {}

    def add(self, other: "Tally") -> None:
        self.calls += other.calls
        self.seconds += other.seconds
        self.within = [mine + others for mine, others in zip(self.within, other.within, strict=True)]
        for code, calls in other.refused.items():
            self.refused[code] = self.refused.get(code, 0) + calls


class Counts:
    """What was counted: tallies by subscription and key, and when each key was last used."""

    __slots__ = ("provider_keys", "subscription_keys", "tallies")

    def __init__(self) -> None:
        self.tallies: dict[tuple[bytes, str], Tally] = {}
        """By subscription and slot of the key."""
        self.subscription_keys: dict[bytes, int] = {}
        """By the hash of the key."""
        self.provider_keys: dict[tuple[bytes, bytes], int] = {}
        """By provider and id of the key."""

    def __bool__(self) -> bool:
        return bool(self.tallies or self.subscription_keys or self.provider_keys)


class UsageCounter:
    """Lives in one thread, that of the event loop. Its size is that of the subscriptions in use, not of their calls."""

    def __init__(self) -> None:
        self._counts = Counts()

    def count(self, who: Subscription, code: str | None, seconds: float) -> None:
        """One call, answered in `seconds`; `code` is that of the refusal, if it was refused."""
        key = (who.subscription_id, who.slot)
        tally = self._counts.tallies.get(key)
        if tally is None:
            tally = self._counts.tallies[key] = Tally(who.provider_id)
        tally.calls += 1
        tally.seconds += seconds
        tally.within[bisect_left(BOUNDS, seconds)] += 1
        if code is not None:
            tally.refused[code] = tally.refused.get(code, 0) + 1

    def subscription_key_used(self, key_hash: bytes, now: int) -> None:
        self._counts.subscription_keys[key_hash] = now

    def provider_key_used(self, provider_id: bytes, key_id: bytes, now: int) -> None:
        self._counts.provider_keys[provider_id, key_id] = now

    def take(self) -> Counts:
        """Everything since the last time; the next call is counted from nothing."""
        taken, self._counts = self._counts, Counts()
        return taken

    def put_back(self, taken: Counts) -> None:
        """What was taken and could not be stored is counted again, with what came in the meantime."""
        later, self._counts = self._counts, taken
        for key, tally in later.tallies.items():
            taken.tallies.setdefault(key, Tally(tally.provider_id)).add(tally)
        taken.subscription_keys.update(later.subscription_keys)
        taken.provider_keys.update(later.provider_keys)
