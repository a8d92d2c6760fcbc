"""A built wheel, installed outside the checkout, brings the demo along."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from kgrade import sample
from tests.conftest import Repo

ROOT = Path(__file__).parents[2]


def build(kind: str, source: Path, to: Path) -> Path:
    """Build the wheel or the source archive of `source` with what is installed here."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(to)]
    subprocess.run(command, cwd=source, check=True, capture_output=True, timeout=120)
    (built,) = to.iterdir()
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    return build("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


def test_the_wheel_holds_the_package_the_sample_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"kgrade"}
    assert "kgrade/sample.zip" in names
    assert not [name for name in names if name.endswith(".pyc")]


def test_the_wheel_made_from_the_source_archive_is_the_same(wheel: Path, tmp_path: Path) -> None:
    source = build("sdist", ROOT, tmp_path / "sdist")
    with tarfile.open(source) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    again = build("wheel", unpacked, tmp_path / "wheel")
    with zipfile.ZipFile(wheel) as one, zipfile.ZipFile(again) as other:
        assert one.read("kgrade/sample.zip") == other.read("kgrade/sample.zip")
        assert sorted(one.namelist()) == sorted(other.namelist())


def test_the_demo_of_an_installed_wheel_equals_that_of_the_checkout(wheel: Path, tmp_path: Path) -> None:
    python = install(wheel, tmp_path / "environment")
    outside = tmp_path / "outside"
    outside.mkdir()
    command = [str(python.with_name("kgrade")), "demo", "--no-open", "--json"]
    said = subprocess.run(command, cwd=outside, env=_clean(), capture_output=True, text=True, check=False, timeout=120)
    assert said.returncode == 0, said.stderr
    assert json.loads(said.stdout) == {"folder": str(outside / "kgrade-demo"), "made": True}
    sample.make_demo(tmp_path / "demo")
    installed, here = Repo(outside / "kgrade-demo"), Repo(tmp_path / "demo")
    assert installed.git("rev-parse", "HEAD^{tree}") == here.git("rev-parse", "HEAD^{tree}")


def install(wheel: Path, folder: Path) -> Path:
    """Install `wheel` alone into a fresh environment; its requirements are seen where they are installed already."""
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, str(wheel)], check=True, capture_output=True, timeout=120)
    asked = [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    packages = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=60).stdout.strip()
    # A line in a .pth file adds the folder without reading the .pth files in it: an editable kgrade stays unseen.
    Path(packages, "requirements.pth").write_text(sysconfig.get_path("purelib") + "\n")
    where = [str(python), "-c", "import kgrade; print(kgrade.__file__)"]
    found = subprocess.run(where, cwd=folder, capture_output=True, text=True, check=True, timeout=60, env=_clean())
    assert Path(found.stdout.strip()).is_relative_to(folder)
    return python


def _clean() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


def test_building_leaves_no_archive_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    build("wheel", ROOT, tmp_path / "wheel")
    assert not [place for place in scratch.iterdir() if place.suffix == ".zip"]
    assert not (ROOT / "kgrade" / "sample.zip").exists()
