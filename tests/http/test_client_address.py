"""Where a request came from: the proxies' word is taken, and what a client writes is not."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strongroom.http.client_address import MAX_HOPS, TrustedProxies, network_of

PROXIES = ("127.0.0.1/32", "10.0.0.0/8", "2001:db8:aaaa::/48")


def seen(peer: str, *lines: str, header: str = "x-forwarded-for") -> str:
    headers = [(header.encode(), line.encode("latin-1")) for line in lines]
    return TrustedProxies(PROXIES, header).client_address(peer, [(b"host", b"vault.example"), *headers])


@pytest.mark.parametrize(
    ("peer", "lines", "expected"),
    [
        ("203.0.113.7", ["198.51.100.1"], "203.0.113.7"),  # nobody we trust says so
        ("127.0.0.1", [], "127.0.0.1"),
        ("127.0.0.1", ["203.0.113.7"], "203.0.113.7"),
        ("127.0.0.1", ["198.51.100.1, 203.0.113.7"], "203.0.113.7"),  # the left one is what the client wrote
        ("127.0.0.1", ["203.0.113.7, 10.1.2.3"], "203.0.113.7"),
        ("127.0.0.1", ["198.51.100.1", "203.0.113.7,10.1.2.3"], "203.0.113.7"),
        ("127.0.0.1", ["10.9.9.9, 10.1.2.3"], "10.9.9.9"),  # from inside
        ("127.0.0.1", ["203.0.113.7:4711"], "203.0.113.7"),
        ("::1", ["203.0.113.7"], "::1"),
        ("::ffff:127.0.0.1", ["203.0.113.7"], "203.0.113.7"),
        ("127.0.0.1", ["[2001:db8::1]:4711"], "2001:db8::1"),
        ("2001:db8:aaaa::2", ["2001:db8::1"], "2001:db8::1"),
        ("127.0.0.1", ["203.0.113.7, unknown"], "127.0.0.1"),  # what reported something else than an address counts
        ("127.0.0.1", ["203.0.113.7, , 10.1.2.3"], "10.1.2.3"),
        ("127.0.0.1", [""], "127.0.0.1"),
        ("127.0.0.1", ["<script>"], "127.0.0.1"),
        ("", ["203.0.113.7"], ""),
    ],
)
def test_the_right_most_address_that_nobody_trusted_wrote(peer: str, lines: list[str], expected: str) -> None:
    assert seen(peer, *lines) == expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["for=203.0.113.7"], "203.0.113.7"),
        (['for="[2001:db8::1]:4711";proto=https;by=10.0.0.1'], "2001:db8::1"),
        (["for=198.51.100.1, For=203.0.113.7;proto=http, for=10.1.2.3"], "203.0.113.7"),
        (["for=203.0.113.7, for=_hidden"], "127.0.0.1"),
        (["proto=https"], "127.0.0.1"),
        (['for="198.51.100.1, for="[2001:db8::1]:4711"'], "2001:db8::1"),  # a quote left open by the client
        (["proto=https;for=203.0.113.7;by=10.0.0.1"], "203.0.113.7"),
    ],
)
def test_the_standard_header_where_it_is_chosen(lines: list[str], expected: str) -> None:
    assert seen("127.0.0.1", *lines, header="forwarded") == expected


def test_no_header_takes_long_to_read() -> None:
    for written in ('for=x{}"a', "for={}x", ";{}a", "{}for=x"):
        started = time.perf_counter()
        assert seen("127.0.0.1", written.format(" " * 15_000), header="forwarded") in ("127.0.0.1", "x")
        assert seen("127.0.0.1", "for=x," * 2_500 + "for=203.0.113.7", header="forwarded") == "203.0.113.7"
        assert time.perf_counter() - started < 0.5  # 4 seconds where a space could be two things


def test_only_the_chosen_header_is_read() -> None:
    headers = [(b"forwarded", b"for=198.51.100.1"), (b"x-forwarded-for", b"203.0.113.7")]
    assert TrustedProxies(PROXIES).client_address("127.0.0.1", headers) == "203.0.113.7"
    assert TrustedProxies(PROXIES, "Forwarded").client_address("127.0.0.1", headers) == "198.51.100.1"


def test_without_trusted_proxies_the_peer_counts() -> None:
    assert TrustedProxies().client_address("127.0.0.1", [(b"x-forwarded-for", b"203.0.113.7")]) == "127.0.0.1"


def test_a_network_has_to_be_one() -> None:
    with pytest.raises(ValueError, match="host bits"):
        TrustedProxies(["10.0.0.1/8"])


@given(st.text(max_size=80), st.sampled_from(["x-forwarded-for", "forwarded"]))
def test_whatever_a_client_writes_on_the_left_changes_nothing(text: str, header: str) -> None:
    written = text.encode("utf-8", "replace").decode("latin-1")
    last = "203.0.113.7" if header == "x-forwarded-for" else "for=203.0.113.7"
    assert seen("127.0.0.1", f"{written},{last}", header=header) == "203.0.113.7"


def test_a_header_that_fits_costs_no_more_than_its_length() -> None:
    # A pattern that could share the spaces out among its parts would take hours for this.
    hop = f'for={" " * 15_000}""x'
    began = time.process_time()
    assert seen("127.0.0.1", f"{hop}, for=203.0.113.7", header="forwarded") == "203.0.113.7"
    assert seen("127.0.0.1", f"for=203.0.113.7, {hop}", header="forwarded") == "127.0.0.1"
    assert seen("127.0.0.1", "," * 15_000, f"{';' * 15_000}for=203.0.113.7", header="forwarded") == "203.0.113.7"
    assert time.process_time() - began < 2


def test_a_long_list_is_not_followed_for_ever() -> None:
    assert seen("127.0.0.1", ",".join(["203.0.113.7", *["10.0.0.1"] * MAX_HOPS])) == "10.0.0.1"


def test_limits_count_a_whole_ipv6_network_as_one() -> None:
    assert network_of("203.0.113.7") == "203.0.113.7"
    assert network_of("2001:db8:1:2:3:4:5:6") == network_of("2001:db8:1:2::1") == "2001:db8:1:2::/64"
    assert network_of("2001:db8:1:3::1") != network_of("2001:db8:1:2::1")
    assert network_of("") == ""
