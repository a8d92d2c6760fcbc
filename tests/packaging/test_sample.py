"""The sample queue: exact bytes from the checkout, from the archive, in the demo."""

from __future__ import annotations

import hashlib
import io
import os
import re
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from kgrade import sample
from kgrade.records import codec
from kgrade.records.evidence import Evidence
from kgrade.records.settings import Settings
from kgrade.records.slugs import ItemId
from kgrade.repository.check import check
from kgrade.repository.folder import Folder
from kgrade.repository.runner import Git
from kgrade.repository.tree import Snapshot, TreeReader
from tests.conftest import Repo

ROOT = Path(__file__).parents[2]


def checkout(folder: Path) -> Path:
    """A small checkout with what must not travel beside what must."""
    for name in (
        "queue/softmax/task.yaml",
        "queue/softmax/evidence/check.log",
        "rubrics/generation.yaml",
        "queue/softmax/__pycache__/reference.cpython-311.pyc",
        "queue/softmax/reference.pyc",
        "queue/softmax/.kernel.py.swp",
        "queue/.cache/x",
        "tests/test_x.py",
    ):
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(name)
    (folder / "queue/softmax/link.yaml").symlink_to("task.yaml")
    return folder


def archive_of(folder: Path) -> bytes:
    written = io.BytesIO()
    sample.write_archive(folder, written)
    return written.getvalue()


def test_only_the_sample_travels_sorted(tmp_path: Path) -> None:
    found = [name for name, _ in sample.files_of(checkout(tmp_path))]
    assert found == ["queue/softmax/evidence/check.log", "queue/softmax/task.yaml", "rubrics/generation.yaml"]


def test_the_archive_depends_on_the_bytes_alone(tmp_path: Path) -> None:
    one, other = checkout(tmp_path / "one"), checkout(tmp_path / "other")
    for place in other.rglob("*.yaml"):
        if not place.is_symlink():
            place.chmod(0o755)
            os.utime(place, (0, 1_000_000_000))
    assert archive_of(one) == archive_of(other)
    (other / "rubrics/generation.yaml").write_text("changed")
    assert archive_of(one) != archive_of(other)


def test_the_archive_holds_what_the_checkout_does(tmp_path: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(archive_of(ROOT))) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == sample.files()


def test_an_installation_without_the_archive_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample, "__file__", str(tmp_path / "kgrade/sample.py"))
    monkeypatch.setattr(sample, "ARCHIVE", tmp_path / "kgrade/sample.zip")
    with pytest.raises(sample.SampleError, match=r"sample\.zip is missing"):
        sample.files()


def test_the_demo_has_the_bytes_and_modes_of_the_sample(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "demo"
    assert sample.make_demo(folder)
    repo = Repo(folder)
    assert repo.git("status", "--porcelain", "--ignored") == ""
    listed = [line.split(None, 3) for line in repo.git("ls-tree", "-r", "HEAD").splitlines()]
    assert {mode for mode, *_ in listed} == {"100644"}
    blobs = {name: oid for _, _, oid, name in listed}
    assert blobs == {
        name: hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest() for name, data in sample.files().items()
    }
    assert [place.name for place in folder.parent.iterdir()] == ["demo"]


def test_the_demo_does_not_depend_on_the_settings_of_the_person(tmp_path: Path) -> None:
    sample.make_demo(tmp_path / "plain")
    settings = Path(os.environ["GIT_CONFIG_GLOBAL"])
    ignored = tmp_path / "ignored"
    ignored.write_text("*.log\n*.yaml\n")
    settings.write_text(
        "[core]\n\tautocrlf = true\n\teol = crlf\n"
        f"\texcludesFile = {ignored}\n\thooksPath = {tmp_path}\n"
        "[commit]\n\tgpgSign = true\n[init]\n\tdefaultBranch = trunk\n\tdefaultObjectFormat = sha256\n"
        "[user]\n\tname = Ada\n\temail = ada@example.org\n"
    )
    sample.make_demo(tmp_path / "set")
    plain, own = Repo(tmp_path / "plain"), Repo(tmp_path / "set")
    assert own.git("rev-parse", "HEAD^{tree}") == plain.git("rev-parse", "HEAD^{tree}")
    assert own.git("status", "--porcelain") == ""
    assert own.git("log", "--format=%an <%ae>") == "Ada <ada@example.org>"
    assert plain.git("log", "--format=%an") == sample.IDENTITY[0]


def test_running_the_demo_again_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    sample.make_demo(folder)
    repo = Repo(folder)
    repo.commit({"queue/mine.txt": "kept"})
    head = repo.git("rev-parse", "HEAD")
    assert not sample.make_demo(folder)
    assert repo.git("rev-parse", "HEAD") == head


def test_the_demo_never_writes_into_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(sample.SampleError, match="holds something else"):
        sample.make_demo(tmp_path)
    with pytest.raises(sample.SampleError, match="holds something else"):
        sample.make_demo(tmp_path / "notes.txt")
    assert [place.name for place in tmp_path.iterdir()] == ["notes.txt"]


def test_a_demo_that_is_stopped_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sample, "_commit_all", stop)
    with pytest.raises(KeyboardInterrupt):
        sample.make_demo(tmp_path / "demo")
    assert list(tmp_path.iterdir()) == []


def test_stored_evidence_is_about_the_bytes_of_the_demo(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    sample.make_demo(folder)
    reader = TreeReader(Git.open(folder))
    with reader.objects:
        snapshot = Snapshot(reader, Repo(folder).git("rev-parse", "HEAD"))
        stored = [path for path, _ in snapshot.walk("queue") if "/evidence/" in path and path.endswith(".json")]
        assert len(stored) > 40
        for path in stored:
            evidence = codec.decode(Evidence, snapshot.read(path), path)
            item = ItemId.parse(evidence.item)
            assert evidence.inputs.task_tree == snapshot.task_tree(item.task), path
            if item.submission:
                assert evidence.inputs.solution_tree == snapshot.solution_tree(item), path


def test_a_repository_becomes_a_queue(make_repo: Callable[..., Repo]) -> None:
    repo = make_repo("queue")
    repo.commit({"README": "ours\n"})
    written = sample.begin_queue(repo.path)
    assert "kgrade.yaml" in written
    assert repo.git("status", "--porcelain", "-uall").splitlines() == [f"?? {name}" for name in written]
    assert check(Folder(repo.path)) == []
    with pytest.raises(sample.SampleError, match="queue and rubrics and kgrade"):
        sample.begin_queue(repo.path)


def test_every_commented_setting_is_one() -> None:
    uncommented = re.sub(r"(?m)^#(?! )|^#(?=  )", "", sample.SETTINGS)
    settings = codec.decode(Settings, uncommented.encode(), "kgrade.yaml")
    assert settings.leads == ["ada"]
    assert settings.targets["sm_90"].arch == "sm_90a"
    assert codec.decode(Settings, sample.SETTINGS.encode(), "kgrade.yaml") == Settings()


def test_a_queue_is_begun_only_at_the_root(make_repo: Callable[..., Repo]) -> None:
    repo = make_repo("queue")
    (repo.path / "below").mkdir()
    with pytest.raises(sample.SampleError, match="not the root of its repository"):
        sample.begin_queue(repo.path / "below")
    assert subprocess.run(["ls", repo.path], capture_output=True, text=True, check=True).stdout == "below\n"
