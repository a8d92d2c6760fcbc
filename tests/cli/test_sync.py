"""`kgrade sync`, and grades that are carried in a file from a clone that may only read its remote."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kgrade.cli import run
from kgrade.desk import Desk
from kgrade.records.slugs import ItemId
from tests.conftest import Repo
from tests.desk.conftest import small_queue
from tests.desk.test_desk import fill

OWN = "grades_ref: refs/heads/grades/{evaluator}\n"


def hub_of(make_repo: Callable[..., Repo], settings: str) -> Repo:
    seed, hub = make_repo("seed"), make_repo("hub", bare=True)
    small_queue(seed)
    seed.commit({"kgrade.yaml": f"schema: kgrade/settings@1\n{settings}"}, "settings")
    seed.git("push", "-q", str(hub.path), "main")
    return hub


def grade(repo: Repo, *items: str) -> None:
    desk = Desk.open(repo.path)
    for item in items:
        fill(sitting := desk.sit(ItemId.parse(item)))
        desk.save(sitting)
        sitting.close()
    desk.close()


def grades_at(hub: Repo, ref: str) -> list[str]:
    return [path for path in hub.git("ls-tree", "-r", "--name-only", ref).split() if "/grades/" in path]


@pytest.mark.parametrize(("settings", "ref"), [("", "main"), (OWN, "grades/ada")])
def test_what_a_reader_graded_goes_out_in_a_file_and_in_by_who_may_push(
    make_repo: Callable[..., Repo],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    settings: str,
    ref: str,
) -> None:
    hub = hub_of(make_repo, settings)
    ada, lea = make_repo("ada", clone=hub), make_repo("lea", clone=hub)
    ada.git("remote", "set-url", "--push", "origin", str(hub.path.with_name("nowhere")))
    file = str(tmp_path / "ada.bundle")
    grade(ada, "softmax/s01", "softmax/s02")
    assert run(["sync", "--queue", str(ada.path)]) == 1
    assert "2 waiting: origin cannot be reached" in capsys.readouterr().out
    assert run(["sync", "--bundle", file, "--queue", str(ada.path)]) == 0
    assert "2 commits in" in capsys.readouterr().out
    grade(lea, "scan")  # the branch moves on meanwhile
    assert run(["sync", "--queue", str(lea.path)]) == 0
    assert run(["sync", "--take", file, "--queue", str(lea.path)]) == 0
    assert f"2 commits taken for {ref}" in capsys.readouterr().out
    assert {f"queue/softmax/submissions/{name}/grades/ada.yaml" for name in ("s01", "s02")} <= set(grades_at(hub, ref))
    assert set(hub.git("log", "-2", "--format=%an", ref).split()) == {"Ada"}
    assert run(["sync", "--take", file, "--queue", str(lea.path)]) == 0
    assert f"0 commits taken for {ref}" in capsys.readouterr().out or not settings
    assert run(["sync", "--queue", str(ada.path)]) == 0  # the grades have come back by the remote: nothing waits


def test_a_file_that_changes_more_than_grades_is_refused(
    make_repo: Callable[..., Repo], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hub = hub_of(make_repo, "")
    eve, lea = make_repo("eve", clone=hub), make_repo("lea", clone=hub)
    eve.commit({"kgrade.yaml": "leads: [eve]\n"}, "grade: softmax/s01 accept 90 (eve)")
    eve.git("update-ref", "refs/kgrade/outbox/main", "HEAD")
    file = tmp_path / "eve.bundle"
    eve.git("bundle", "create", "-q", str(file), "refs/kgrade/outbox/main", "^origin/main")
    before = hub.git("rev-parse", "main")
    assert run(["sync", "--take", str(file), "--queue", str(lea.path)]) == 2
    assert "would change kgrade.yaml" in capsys.readouterr().err
    assert hub.git("rev-parse", "main") == before
    assert lea.git("for-each-ref", "refs/kgrade/outbox", "refs/kgrade/bundle") == ""
    file.write_bytes(b"not a bundle")
    assert run(["sync", "--take", str(file), "--queue", str(lea.path)]) == 2
    assert "is no bundle of grades" in capsys.readouterr().err


def test_days_offline_end_with_one_sync(make_repo: Callable[..., Repo], capsys: pytest.CaptureFixture[str]) -> None:
    hub = hub_of(make_repo, "graders_per_item: 2\n")
    ada, bob = make_repo("ada", clone=hub), make_repo("bob", clone=hub)
    away = hub.path.with_name("away")
    hub.path.rename(away)
    for day in ("softmax", "softmax/s01", "softmax/s02"):  # a desk of its own each day
        grade(ada, day)
        assert run(["sync", "--queue", str(ada.path)]) == 1
    assert "3 waiting" in capsys.readouterr().out
    away.rename(hub.path)
    grade(bob, "softmax/s01", "scan")
    assert run(["sync", "--queue", str(bob.path)]) == 0
    assert run(["sync", "--queue", str(ada.path)]) == 0
    assert len(grades_at(hub, "main")) == 5
    assert hub.git("log", "--merges", "--format=%H", "main") == ""
