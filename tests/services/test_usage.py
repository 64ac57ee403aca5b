"""Counting in memory: what is added up, taken away and put back."""

import msgspec

from strongroom.runtime.principals import Subscription
from strongroom.services.usage import UsageCounter

ADA = Subscription(b"p" * 16, b"a" * 16, False, "primary")
BOB = Subscription(b"p" * 16, b"b" * 16, False, "primary")


def test_calls_are_added_up_by_subscription() -> None:
    usage = UsageCounter()
    usage.count(ADA, None, 0.001)
    usage.count(ADA, "not_found", 0.005)
    usage.count(ADA, "not_found", 0.3)
    usage.count(BOB, None, 9.0)
    tallies = usage.take().tallies
    ada, bob = tallies[ADA.subscription_id, ADA.slot], tallies[BOB.subscription_id, BOB.slot]
    assert (ada.provider_id, ada.calls, ada.refused) == (ADA.provider_id, 3, {"not_found": 2})
    assert ada.within == [2, 0, 0, 1, 0]
    assert round(ada.seconds, 6) == 0.306
    assert bob.within == [0, 0, 0, 0, 1]


def test_each_key_of_a_subscription_is_counted_by_itself() -> None:
    usage = UsageCounter()
    usage.count(ADA, None, 0.001)
    usage.count(msgspec.structs.replace(ADA, slot="secondary"), "not_found", 0.001)
    counted = {key: (tally.calls, tally.refused) for key, tally in usage.take().tallies.items()}
    assert counted == {
        (ADA.subscription_id, "primary"): (1, {}),
        (ADA.subscription_id, "secondary"): (1, {"not_found": 1}),
    }


def test_collected_calls_are_not_counted_again() -> None:
    usage = UsageCounter()
    usage.count(ADA, None, 0.001)
    usage.subscription_key_used(b"k", 1)
    assert usage.take()
    assert not usage.take()


def test_returned_calls_are_added_to_new_ones() -> None:
    usage = UsageCounter()
    usage.count(ADA, "not_found", 0.001)
    usage.subscription_key_used(b"k", 1)
    usage.provider_key_used(b"p", b"k", 1)
    taken = usage.take()
    usage.count(ADA, "not_found", 0.01)
    usage.count(BOB, None, 0.01)
    usage.subscription_key_used(b"k", 2)
    usage.put_back(taken)
    counts = usage.take()
    assert counts.tallies[ADA.subscription_id, ADA.slot].refused == {"not_found": 2}
    assert counts.tallies[ADA.subscription_id, ADA.slot].within == [1, 1, 0, 0, 0]
    assert counts.tallies[BOB.subscription_id, BOB.slot].calls == 1
    assert counts.subscription_keys == {b"k": 2}
    assert counts.provider_keys == {(b"p", b"k"): 1}
