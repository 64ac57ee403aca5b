"""Settings: where they come from, what is refused, and that secrets do not show."""

from pathlib import Path

import pytest

from strongroom.runtime.settings import Settings, SettingsError, environment_name, is_loopback, load, meanings


def test_the_defaults_need_nothing() -> None:
    assert load({}) == Settings()


def test_a_flag_comes_before_the_environment() -> None:
    settings = load({"STRONGROOM_PORT": "1", "STRONGROOM_HOST": "::1"}, {"port": "2", "host": None})
    assert (settings.port, settings.host) == (2, "::1")


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("90s", 90), ("30m", 1800), ("12h", 43200), ("2d", 172800)])
def test_durations(text: str, seconds: int) -> None:
    assert load({}, {"keystore_session_lifetime": text}).keystore_session_lifetime == seconds


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("port", "x"),
        ("port", "70000"),
        ("port", "-1"),
        ("keystore_session_lifetime", "1y"),
        ("keystore_session_lifetime", "0"),
        ("access_log", "perhaps"),
        ("areas", "cellar"),
        ("areas", ","),
        ("portal_session_idle", "0"),
        ("smtp_url", "mail.example"),
        ("smtp_url", "https://a:b@mail.example"),
        ("smtp_url", "smtp://a:b@mail.example:x"),
        ("mail_from", "nobody"),
        ("operators", "ada@example.com,eve"),
        ("log_level", "loud"),
        ("public_url", "vault.example"),
        ("public_url", "http://vault.example"),
        ("public_url", "https://vault.example/"),
        ("public_url", "https://a:b@vault.example"),
        ("public_url", "https://vault.example?x"),
        ("host", "0.0.0.0"),
        ("host", "192.0.2.1"),
        ("trusted_proxies", "proxy.example"),
        ("trusted_proxies", "10.0.0.1/8"),
        ("forwarded_header", "x-real-ip"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load({}, {name: value})
    assert "has to" in str(caught.value) or "is required" in str(caught.value)
    assert "a:b" not in str(caught.value)


def test_an_address_others_can_reach_needs_a_public_url() -> None:
    settings = load({}, {"host": "0.0.0.0", "public_url": "https://vault.example"})
    assert settings.base_url == "https://vault.example"


@pytest.mark.parametrize("other", [None, "http://127.0.0.1:9000"])
def test_one_area_may_know_the_other(other: str | None) -> None:
    settings = load({}, {"areas": "vault", "other_area_url": other})
    assert (settings.areas, settings.other_area_url) == (("vault",), other)


def test_the_portal_alone_needs_no_other_area() -> None:
    assert load({}, {"areas": "portal"}).areas == ("portal",)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.1.2.3", "::1", "[::1]", "a.localhost"])
def test_loopback(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["", "0.0.0.0", "localhost.example", "10.0.0.1", "::"])
def test_not_loopback(host: str) -> None:
    assert not is_loopback(host)


def test_an_ipv6_address_stands_in_brackets_in_a_url() -> None:
    assert load({}, {"host": "::1", "port": "5"}).base_url == "http://[::1]:5"


def test_secrets_do_not_show_and_have_no_flag() -> None:
    settings = load({"STRONGROOM_SECRET": "ab" * 32})
    assert settings.secret == "ab" * 32
    assert "abab" not in repr(settings)
    assert {name for name, (meaning, _) in meanings().items() if meaning.environment_only} == {
        "secret",
        "previous_secret",
        "smtp_url",
    }


def test_every_setting_has_a_meaning_and_an_environment_name() -> None:
    for name, (meaning, _) in meanings().items():
        assert meaning.text.endswith(".")
        assert environment_name(name).startswith("STRONGROOM_")


def test_paths(tmp_path: Path) -> None:
    assert load({}, {"data": str(tmp_path)}).data == tmp_path
