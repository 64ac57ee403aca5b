"""The JavaScript package: written in `sdk/js`, and served by the portal from a checkout and from a wheel alike."""

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import strongroom
from strongroom.portal.pages.static import MODULES
from strongroom.portal.rendering import STATIC

SERVED = """
from strongroom.portal.pages.static import MODULES
print(MODULES)
for file in MODULES.iterdir():
    print(file.name)
"""
IMPORT = re.compile(r"""^(?:import|export)\b[^;"']*\bfrom "([^"]+)";|^import "([^"]+)";""", re.MULTILINE)


def test_a_checkout_serves_the_modules_where_they_are_written(root: Path) -> None:
    assert root / "sdk" / "js" / "src" == MODULES


def test_a_wheel_carries_the_modules_among_the_files_of_the_portal(root: Path, tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(build, cwd=root, capture_output=True, check=True, timeout=60)
    (wheel,) = tmp_path.glob("*.whl")
    unpacked = tmp_path / "unpacked"
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(unpacked)
    folder = unpacked / "strongroom" / "portal" / "static" / "strongroom"
    command = [sys.executable, "-c", SERVED]
    environment = {"PYTHONPATH": str(unpacked)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    place, *served = done.stdout.splitlines()
    assert place == str(folder)
    written = {file.name: file.read_bytes() for file in (root / "sdk" / "js" / "src").iterdir()}
    assert {name: (folder / name).read_bytes() for name in served} == written
    # Beside them nothing of the package: no tests, no second copy.
    assert {file for file in unpacked.rglob("*.js") if file.parent != folder} == set((folder.parent).glob("*.js"))


def test_what_a_module_imports_is_there(root: Path) -> None:
    scripts = [Path(str(STATIC)), root / "sdk" / "js" / "src"]
    imports = [
        (file, one or other)
        for folder in scripts
        for file in folder.glob("*.js")
        for one, other in IMPORT.findall(file.read_text("utf-8"))
    ]
    assert len(imports) > 40
    # In a page the modules stand one folder below its scripts.
    missing = [
        f"{file.name}: {name}"
        for file, name in imports
        if not (MODULES / Path(name).name).is_file()
        or name != ("./" if file.parent == MODULES else "./strongroom/") + Path(name).name
    ]
    assert missing == []


def test_the_package_has_the_version_and_the_licence_of_the_repository(root: Path) -> None:
    package = json.loads((root / "sdk" / "js" / "package.json").read_text("utf-8"))
    assert package["version"] == strongroom.__version__
    assert package["license"] == "Apache-2.0"
    assert (root / "sdk" / "js" / "LICENSE").read_bytes() == (root / "LICENSE").read_bytes()
