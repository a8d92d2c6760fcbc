"""A queue with signed grades and a seal in a real repository, and the moves that people make in it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from unittest import mock

import msgspec

from kgrade.audit.seals import make_seal
from kgrade.audit.verification import Verification, verify
from kgrade.records import codec, scoring
from kgrade.records.grade import About, Grade, Score, SheetRef, Times
from kgrade.records.rubric import Rubric, sheet_sha256
from kgrade.records.slugs import ItemId
from kgrade.repository.commits import Identity
from kgrade.repository.opening import open_queue
from kgrade.repository.runner import Git
from kgrade.repository.tree import Snapshot, TreeReader
from tests.conftest import Repo
from tests.desk.conftest import SMALL_QUEUE

PROJECT = Path(__file__).resolve().parents[2]
START = 1_767_261_600  # 2026-01-01T10:00:00Z
HOUR = 3600
PEOPLE = ("ada", "bob", "eve", "lea")


def make_keys(folder: Path) -> dict[str, Path]:
    """A key for each person, and one that nobody in the queue has."""
    for name in (*PEOPLE, "ada2", "mallory"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(folder / name)]
        subprocess.run(command, check=True, timeout=60)
    return {path.stem: path.with_suffix("") for path in folder.glob("*.pub")}


class Queue:
    """The repository, the keys, and a clock that only moves forward."""

    def __init__(self, repo: Repo, keys: Mapping[str, Path]) -> None:
        self.repo = repo
        self.keys = keys
        self.now = START

    def copied(self, to: Path) -> Queue:
        """The same queue in another folder."""
        shutil.copytree(self.repo.path, to)
        other = Queue(Repo(to), self.keys)
        other.now = self.now
        return other

    # What people do

    def settings(self, people: Mapping[str, tuple[list[str], list[str]]], leads: list[str], **more: str) -> str:
        """kgrade.yaml: e-mails and names of keys by evaluator."""
        lines = [
            "schema: kgrade/settings@1",
            "grades_ref: refs/heads/grades/{evaluator}",
            f"leads: [{', '.join(leads)}]",
        ]
        lines += [f"{name}: {value}" for name, value in more.items()] + ["evaluators:"]
        for name, (emails, keys) in people.items():
            publics = ", ".join(f'"{self.public(key)}"' for key in keys)
            lines.append(f"  {name}: {{name: {name.title()}, emails: [{', '.join(emails)}], keys: [{publics}]}}")
        return "\n".join(lines) + "\n"

    def public(self, name: str) -> str:
        """The public key of `name`."""
        return self.keys[name].with_suffix(".pub").read_text().strip()

    def commit(
        self, ref: str, files: Mapping[str, str | bytes | None], who: str, *,
        key: str | None = "", email: str = "", at: int | None = None, authored: int | None = None,
        parents: list[str] | None = None, message: str = "change",
    ) -> str:  # fmt: skip
        """A commit on `ref` by `who`, signed with `key` (by default their own; None: not signed)."""
        if at is None:
            self.now += HOUR
            at = self.now
        tip = self.repo.git("rev-parse", "--verify", "-q", ref, check=False)
        parents = ([tip] if tip else []) if parents is None else parents
        index = self.repo.path / ".git" / "scratch-index"
        env = os.environ | {"GIT_INDEX_FILE": str(index)}
        index.unlink(missing_ok=True)
        if parents:
            self.run(["read-tree", parents[0]], env)
        for path, content in files.items():
            if content is None:
                self.run(["update-index", "--force-remove", path], env)
                continue
            data = content.encode() if isinstance(content, str) else content
            blob = self.run(["hash-object", "-w", "--stdin"], env, data)
            self.run(["update-index", "--add", "--cacheinfo", f"100644,{blob},{path}"], env)
        tree = self.run(["write-tree"], env)
        mail = email or f"{who}@example.org"
        for role, moment in (("AUTHOR", at if authored is None else authored), ("COMMITTER", at)):
            env |= {f"GIT_{role}_NAME": who.title(), f"GIT_{role}_EMAIL": mail, f"GIT_{role}_DATE": f"@{moment} +0000"}
        signing = [] if key is None else ["-c", "gpg.format=ssh", "-c", f"user.signingKey={self.keys[key or who]}"]
        command = [
            *signing,
            "commit-tree",
            tree,
            *(f"-p{parent}" for parent in parents),
            *([] if key is None else ["-S"]),
        ]
        made = self.run(command, env, message.encode())
        self.repo.git("update-ref", ref, made)
        return made

    def run(self, command: list[str], env: Mapping[str, str], data: bytes | None = None) -> str:
        done = subprocess.run(
            ["git", *command],
            cwd=self.repo.path,
            env=dict(env),
            input=data,
            capture_output=True,
            check=True,
            timeout=60,
        )
        return done.stdout.decode().strip()

    def grade_of(self, evaluator: str, item: str, level: int, *, saved: int | None = None) -> Grade:
        """A whole grade with true sums, saved at the moment of the next commit."""
        found = ItemId.parse(item)
        with TreeReader(Git.open(self.repo.path)).objects as objects:
            reader = TreeReader(Git.open(self.repo.path))
            snapshot = Snapshot(reader, self.repo.git("rev-parse", "main"))
            about = About(task_tree=snapshot.task_tree(found.task), solution_tree=snapshot.solution_tree(found))
            sheet = snapshot.read("rubrics/generation.yaml")
            reader.objects.close()
            objects.close()
        rubric = codec.decode(Rubric, sheet, "rubrics/generation.yaml")
        scores = {each.id: Score(score=level, comment="As seen.") for each in rubric.criteria}
        result = scoring.score(rubric, scores, {}, "accept")
        moment = datetime.fromtimestamp(self.now + HOUR if saved is None else saved, UTC)
        stamp = moment.isoformat().replace("+00:00", "Z")
        return Grade(
            item=item, evaluator=evaluator, rubric=SheetRef(id="generation", sha256=sheet_sha256(sheet)), about=about,
            scores=scores, verdict="accept", points=result.points, total=result.total,
            times=Times(opened=stamp, active_s=300, saved=stamp),
        )  # fmt: skip

    def grade(self, evaluator: str, item: str, level: int, **commit: object) -> str:
        """`evaluator` saves a grade, as the desk does."""
        grade = self.grade_of(evaluator, item, level)
        path = ItemId.parse(item).grade_path(evaluator)
        who = str(commit.pop("who", evaluator))
        return self.commit(f"refs/heads/grades/{evaluator}", {path: codec.encode_yaml(grade)}, who, **commit)

    def forge(self, evaluator: str, item: str, who: str, **commit: object) -> str:
        """`who` writes over `evaluator`'s grade, sums included."""
        return self.grade(evaluator, item, 4, who=who, **commit)

    def altered(self, evaluator: str, item: str, who: str, change: Mapping[str, object], **commit: object) -> str:
        """`who` saves `evaluator`'s grade with some fields changed and nothing else."""
        grade = msgspec.structs.replace(self.grade_of(evaluator, item, 2), **change)
        path = ItemId.parse(item).grade_path(evaluator)
        return self.commit(f"refs/heads/grades/{evaluator}", {path: codec.encode_yaml(grade)}, who, **commit)

    # What leads do

    def seal(self, lead: str = "lea") -> str:
        """Seal the branches as they stand."""
        self.now += HOUR
        for name, value in (("gpg.format", "ssh"), ("user.signingKey", str(self.keys[lead]))):
            self.repo.git("config", name, value)
        reader = TreeReader(Git.open(self.repo.path))
        queue, settings = open_queue(reader)
        with mock.patch("kgrade.repository.commits.time.time", return_value=self.now):
            _, saved, _ = make_seal(reader, queue, settings, Identity(lead.title(), f"{lead}@example.org"), lead)
        reader.objects.close()
        return saved.commit

    def verified(self) -> Verification:
        """What verification finds in this clone."""
        reader = TreeReader(Git.open(self.repo.path))
        try:
            queue, settings = open_queue(reader)
            return verify(reader, queue, settings)
        finally:
            reader.objects.close()

    def alarms(self) -> set[str]:
        """The kinds of alarms; each must name a place and a command that git takes."""
        found = self.verified().alarms
        for alarm in found:
            assert alarm.where, alarm
            assert alarm.sentence, alarm
            subprocess.run(
                alarm.command, shell=True, cwd=self.repo.path, check=True, capture_output=True, timeout=60,
                env=os.environ | {"GIT_PAGER": "cat"},
            )  # fmt: skip
        return {alarm.kind for alarm in found}


def everyone() -> dict[str, tuple[list[str], list[str]]]:
    """Each person with their e-mail and key."""
    return {name: ([f"{name}@example.org"], [name]) for name in PEOPLE}


def sealed_queue(repo: Repo, keys: Mapping[str, Path]) -> Queue:
    """Four people, four grades on two branches, one seal."""
    queue = Queue(repo, keys)
    shutil.copytree(PROJECT / "rubrics", repo.path / "rubrics")
    sheets = {f"rubrics/{path.name}": path.read_bytes() for path in (PROJECT / "rubrics").glob("*.yaml")}
    files = {**SMALL_QUEUE, **sheets, "kgrade.yaml": queue.settings(everyone(), ["lea"])}
    queue.commit("refs/heads/main", files, "lea", message="a queue")
    repo.git("reset", "-q", "--hard")
    queue.grade("ada", "softmax/s01", 2)
    queue.grade("ada", "softmax/s02", 3)
    queue.grade("bob", "softmax/s01", 3)
    queue.grade("bob", "scan/s01", 1)
    queue.seal()
    return queue
