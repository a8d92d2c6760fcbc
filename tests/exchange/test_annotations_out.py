"""Annotations that go out: in one shape, and the same when they come back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kgrade.cli import run
from kgrade.exchange.annotated import ORDER
from kgrade.records import yaml_text
from tests.conftest import Repo
from tests.desk.conftest import small_queue
from tests.exchange.test_foreign_verdicts import graded_by_ada
from tests.exchange.test_import import ANNOTATION, COLLECTION, RUN, brought, written

DRIFTED = {
    "plain.yaml": ANNOTATION,
    "status.yaml": "run_id: 20260102_000000_x_02_add\nstatus: fail\nreason: it crashed\n",
    "unknown.yaml": "run_id: 20260103_000000_x_02_add\nverdict: contaminated_cross_run\n"
    "notes: |\n  one\n\n  two\nquotes: []\n",
    "keys.yaml": "verdict: bug\nrun_id: 20260104_000000_x_02_add\n"
    "extra: {deep: [1, 2.5, null, 'yes']}\ncorrect: null\n",
}


def queue_of(make_repo: Callable[..., Repo], name: str, folder: Path) -> Repo:
    queue = make_repo(name)
    small_queue(queue)
    brought(queue, folder)
    return queue


def exported(queue: Repo, folder: Path) -> dict[str, bytes]:
    assert run(["export", "annotations", "--output", str(folder), "--queue", str(queue.path)]) == 0
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def goes_round(make_repo: Callable[..., Repo], folder: Path, tmp_path: Path) -> dict[str, bytes]:
    """Import `folder`, export, import that elsewhere and export again; what left first, which is what left last."""
    first = exported(queue_of(make_repo, "ada", folder), tmp_path / "first")
    second = exported(queue_of(make_repo, "bob", tmp_path / "first"), tmp_path / "second")
    assert second == first
    return first


def test_import_and_export_are_stable_and_in_the_canonical_shape(
    make_repo: Callable[..., Repo], tmp_path: Path
) -> None:
    out = goes_round(make_repo, written(tmp_path / "in", DRIFTED), tmp_path)
    assert len(out) == len(DRIFTED)
    for name, data in out.items():
        keys = [key for key in yaml_text.read(data, name)[0] if key in ORDER]
        assert keys == sorted(keys, key=ORDER.index)
    values = yaml_text.read(out[f"{RUN}.yaml"], "it")[0]
    assert values["quotes"] == [{"file": "solution.py", "lines": [1, 2], "label": "the cast", "text": "x = x.half()\n"}]
    assert (values["verdict"], values["peak_fraction"], values["publish_grade"]) == ("rubric_leak", 0.25, False)


def test_what_left_is_here_already_when_it_comes_back(
    make_repo: Callable[..., Repo], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    queue = queue_of(make_repo, "ada", written(tmp_path / "in", {"one.yaml": ANNOTATION}))
    graded_by_ada(queue)
    out = exported(queue, tmp_path / "out")
    assert len(out) == 2
    mine = next(yaml_text.read(data, name)[0] for name, data in out.items() if b"auditor: ada" in data)
    assert (mine["verdict"], mine["run_id"], mine["model"]) == ("bug", RUN, "some-model")
    next((tmp_path / "out" / name) for name, data in out.items() if b"auditor: ada" in data).unlink()
    assert brought(queue, tmp_path / "out") == 0
    assert "annotations: 3 here already" in capsys.readouterr().out


def test_a_blind_queue_names_nobody(make_repo: Callable[..., Repo], tmp_path: Path) -> None:
    queue = queue_of(make_repo, "ada", written(tmp_path / "in", {"one.yaml": f"{ANNOTATION}auditor: kim\n"}))
    graded_by_ada(queue)
    queue.commit({"kgrade.yaml": "schema: kgrade/settings@1\nblind: true\nleads: [ada]\n"})
    out = [yaml_text.read(data, name)[0] for name, data in exported(queue, tmp_path / "out").items()]
    assert [set(values) & {"model", "harness", "effort", "auditor"} for values in out] == [set(), set()]
    assert {values["run_id"].partition("_")[0] for values in out} == {"01-scale"}
    assert {values["verdict"] for values in out} == {"bug", "rubric_leak"}


def test_a_folder_that_holds_files_is_refused(
    make_repo: Callable[..., Repo], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    queue = queue_of(make_repo, "ada", written(tmp_path / "in", {"one.yaml": ANNOTATION}))
    assert run(["export", "annotations", "--output", str(tmp_path / "in"), "--queue", str(queue.path)]) == 2
    assert run(["export", "annotations", "--queue", str(queue.path)]) == 2
    told = capsys.readouterr().err
    assert "is not empty; expected a new folder" in told
    assert "say which: --output DIR" in told


@pytest.mark.long
@pytest.mark.skipif(not COLLECTION.is_dir(), reason="needs the collection of annotations beside the checkout")
def test_every_annotation_that_parses_goes_round(make_repo: Callable[..., Repo], tmp_path: Path) -> None:
    assert len(goes_round(make_repo, COLLECTION, tmp_path)) > 40
