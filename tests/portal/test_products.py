"""The operator's file of products: what it may say, and what stops the start."""

import os
from pathlib import Path

import pytest

from strongroom.portal.subscriptions import products
from strongroom.runtime.settings import SettingsError

GOOD = """
[[product]]
id = "gold"
name = "Gold"
description = "The best."
approval = true
quota = 5
lifetime_days = 30
"""


def test_the_file_that_ships_has_a_sandbox_that_needs_no_approval() -> None:
    found = products.Products(None)
    sandbox = found.find("sandbox")
    assert sandbox is not None
    assert not sandbox.approval
    assert any(product.approval for product in found.all)
    assert found.find("nothing") is None
    assert found.find(None) is None


def test_a_file_of_the_operator_replaces_the_products(tmp_path: Path) -> None:
    path = tmp_path / "products.toml"
    path.write_text(GOOD, "utf-8")
    [gold] = products.load(path)
    assert (gold.id, gold.approval, gold.quota, gold.rate, gold.lifetime_days, gold.terms) == (
        "gold",
        True,
        5,
        None,
        30,
        "",
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "not toml",
        GOOD + GOOD,
        GOOD.replace('"gold"', '"Gold Plan"'),
        GOOD.replace('"Gold"', '" "'),
        GOOD.replace("quota = 5", "quota = 0"),
        GOOD.replace("quota = 5", 'quota = "five"'),
        GOOD.replace("quota", "qouta"),
        GOOD.replace("lifetime_days = 30", "lifetime_days = 0"),
        GOOD.replace("approval = true", ""),
        "surplus = 1\n" + GOOD,
        GOOD + "quota = " + "[" * 10_000,
        GOOD.replace("quota = 5", "quota = " + "5" * 5_000),
        GOOD + "#" * products.MAX_SIZE,
    ],
)
def test_a_mistake_stops_the_start(tmp_path: Path, text: str) -> None:
    path = tmp_path / "products.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(SettingsError):
        products.load(path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SettingsError):
        products.Products(tmp_path / "products.toml")


def test_a_path_that_is_no_file_does_not_block(tmp_path: Path) -> None:
    path = tmp_path / "products.toml"
    path.write_text(GOOD, "utf-8")
    offered = products.Products(path)
    path.unlink()
    for make in (os.mkfifo, os.mkdir):
        make(path)
        assert offered.problem is not None
        assert [product.id for product in offered.all] == ["gold"]
        (path.rmdir if path.is_dir() else path.unlink)()
    path.symlink_to("/dev/zero")
    assert offered.problem is not None


def test_a_changed_file_counts_from_the_next_look(tmp_path: Path) -> None:
    path = tmp_path / "products.toml"
    path.write_text(GOOD, "utf-8")
    found = products.Products(path)
    path.write_text(GOOD + GOOD.replace("gold", "silver"), "utf-8")
    assert [product.id for product in found.all] == ["gold", "silver"]
    other = tmp_path / "other.toml"
    other.write_text(GOOD.replace('"Gold"', '"Gilt"'), "utf-8")
    other.rename(path)
    gold = found.find("gold")
    assert gold is not None
    assert gold.name == "Gilt"
    assert found.find("silver") is None


def test_a_broken_file_keeps_the_last_valid_one_and_is_reported_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "products.toml"
    path.write_text(GOOD, "utf-8")
    found = products.Products(path)
    assert found.problem is None
    path.write_text(GOOD.replace("quota", "qouta"), "utf-8")
    for _ in range(3):
        assert [product.id for product in found.all] == ["gold"]
        assert "qouta" in (found.problem or "")
    assert [record.message for record in caplog.records] == ["products not changed"]
    path.unlink()
    assert [product.id for product in found.all] == ["gold"]
    assert "can be read" in (found.problem or "")
    path.write_text(GOOD, "utf-8")
    assert found.problem is None
