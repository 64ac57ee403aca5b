"""The file of products is printed and checked without a service."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from strongroom.portal.subscriptions.products import Product

Run = Callable[..., Any]


def test_the_example_is_a_file_that_can_be_served(run: Run, tmp_path: Path) -> None:
    printed = run("admin", "product", "example").stdout
    assert json.loads(run("admin", "product", "example", "--json").stdout) == {"toml": printed}
    explained = " ".join(line for line in printed.splitlines() if line.startswith("#"))
    assert [name for name in Product.__struct_fields__ if not re.search(rf"\b{name}[:,]", explained)] == []
    file = tmp_path / "products.toml"
    file.write_text(printed)
    checked = run("admin", "product", "check", str(file), "--json")
    assert [one["id"] for one in json.loads(checked.stdout)] == ["sandbox", "production"]
    assert checked.stdout == run("admin", "product", "check", "--json").stdout


def test_the_file_of_the_setting_is_the_one_checked(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "products.toml"
    file.write_text('[[product]]\nid = "gold"\nname = "Gold"\ndescription = "All of it."\napproval = true\nrate = 90\n')
    table = run("admin", "product", "check", STRONGROOM_PRODUCTS=str(file)).stdout.splitlines()
    assert len(table) == 2
    assert table[1].split("  ")[0] == "gold"
    assert "90" in table[1]


@pytest.mark.parametrize(
    "text",
    [
        "[[product]",
        '[[product]]\nid = "GOLD"\nname = "Gold"\ndescription = ""\napproval = true\n',
        '[[product]]\nid = "gold"\nname = "Gold"\ndescription = ""\napproval = true\nprice = 3\n',
        "",
    ],
)
def test_a_file_that_would_stop_the_service_is_refused(run: Run, tmp_path: Path, text: str) -> None:
    file = tmp_path / "products.toml"
    file.write_text(text)
    checked = run("admin", "product", "check", str(file))
    assert (checked.exit_code, checked.stdout) == (1, "")
    assert "product" in checked.stderr
    assert run("admin", "product", "check", str(tmp_path / "absent.toml")).exit_code == 1
