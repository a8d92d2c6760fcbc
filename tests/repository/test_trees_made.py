"""Trees that were made here are what git itself would have made of the same change, and are followed as git would."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import closing

from kgrade.repository.commits import Change, Committer, Identity
from kgrade.repository.moves import FileMove, moves_between
from kgrade.repository.runner import Git
from kgrade.repository.tree import Snapshot, TreeReader, parse_tree
from tests.conftest import Repo

ADA = Identity("Ada", "ada@example.org")
NAMES = ("a", "a.b", "a-b", "a0", "ab", "b", "é", "z")
"""Git sorts a folder as if its name ended with a slash, so some of these change places with what they are."""


def test_trees_made_step_by_step_are_gits(make_repo: Callable[..., Repo]) -> None:
    draw = random.Random(20261203)
    repo = make_repo("steps")
    reader = TreeReader(Git.open(repo.path))
    committer = Committer(reader, ADA)
    held: dict[str, bytes] = {}
    tip: str | None = None
    with closing(reader.objects):
        for step in range(40):
            wanted: dict[str, bytes | None] = {}
            for _ in range(draw.randint(1, 4)):
                path = "/".join(draw.choice(NAMES) for _ in range(draw.randint(1, 3)))
                content = b"%d\n" % step if draw.random() < 0.7 else None
                others = [each for each in {**held, **wanted} if each != path]
                if not any(each.startswith(f"{path}/") or path.startswith(f"{each}/") for each in others):
                    wanted[path] = content
            before, tip = tip, committer.commit(tip, [Change(path, data) for path, data in wanted.items()], "a step")
            for path, data in wanted.items():
                held.pop(path, None)
                held |= {path: data} if data is not None else {}
            listed = repo.git("-c", "core.quotePath=false", "ls-tree", "-r", "--name-only", tip).split("\n")
            assert set(listed) - {""} == held.keys()
            for path, data in held.items():
                assert Snapshot(reader, tip).read(path) == data
            if before and before != tip:
                assert _followed(reader, before, tip) == _told(repo, before, tip)


def test_a_tree_that_git_would_not_make_is_followed_and_left_as_it_is(make_repo: Callable[..., Repo]) -> None:
    repo = make_repo("odd", sound=False)
    blobs = [repo.git("hash-object", "-w", "--stdin", input=data) for data in (b"1", b"2", b"3")]
    twice = b"".join(b"100644 %b\0%b" % (name, bytes.fromhex(blob)) for name, blob in zip((b"a", b"a", b"b"), blobs))
    tree = repo.git("hash-object", "-w", "-t", "tree", "--literally", "--stdin", input=twice)
    odd = repo.git("commit-tree", tree, "-m", "twice the same name")
    reader = TreeReader(Git.open(repo.path))
    with closing(reader.objects):
        made = Committer(reader, ADA).commit(odd, [Change("c", b"4")], "a neighbour")
        content = reader.objects.object(reader.root(made))[1]
        assert [(entry.name, entry.oid) for entry in parse_tree(content, 20)[:3]] == list(zip("aab", blobs))
        new = Snapshot(reader, made).entry("c")
        assert new is not None
        assert moves_between(reader, odd, made) == [FileMove("c", None, new.oid)]
        over = Committer(reader, ADA).commit(made, [Change("a", b"5")], "the first of them")
        assert [entry.name for entry in reader.entries(reader.root(over))] == ["a", "b", "c"]


def _followed(reader: TreeReader, old: str, new: str) -> set[tuple[str, str | None, str | None]]:
    return {(move.path, move.old, move.new) for move in moves_between(reader, old, new)}


def _told(repo: Repo, old: str, new: str) -> set[tuple[str, str | None, str | None]]:
    raw = repo.git("diff-tree", "-r", "-z", "--no-renames", "--no-abbrev", old, new).split("\0")
    found = set()
    for head, path in zip(raw[0::2], raw[1::2]):
        _, _, before, after, _ = head.split(" ")
        found.add((path, before if before.strip("0") else None, after if after.strip("0") else None))
    return found
