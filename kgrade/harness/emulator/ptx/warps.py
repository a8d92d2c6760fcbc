"""What the threads of a warp or of a block do together: shuffles, votes, barriers."""

from __future__ import annotations

from kgrade.harness.emulator.ptx.statement import SITE, Build, Statement, held, moved


def _shuffle(statement: Statement, words: list[str], arguments: list[str]) -> str:
    _, sync, mode, kind = words
    if sync != "sync" or kind != "b32" or mode not in ("up", "down", "bfly", "idx"):
        return ""
    (to, *inside), value, lane, limits, mask = (arguments[0].split("|"), *map(statement.value, arguments[1:]))
    made = (
        f"bool emu_inside; const unsigned emu_got = emu::ptx::shuffle<emu::ptx::Shuffle::{mode}>("
        f"{held('b32', value)}, {lane}, {limits}, {mask}, emu_inside, {SITE}); {moved(statement.value(to), 'emu_got')}"
    )
    return f"{made} {statement.value(inside[0])} = emu_inside;" if inside else made


def _vote(statement: Statement, words: list[str], arguments: list[str]) -> str:
    call = {
        "sync.ballot.b32": "__ballot_sync", "sync.any.pred": "__any_sync", "sync.all.pred": "__all_sync",
        "sync.uni.pred": "__uni_sync",
    }[".".join(words[1:])]  # fmt: skip
    to, predicate, mask = map(statement.value, arguments)
    return moved(to, f"{call}({mask}, {predicate})")


def _match(statement: Statement, words: list[str], arguments: list[str]) -> str:
    _, mode, sync, kind = words
    if sync != "sync" or kind not in ("b32", "b64"):
        return ""
    (to, *same), value, mask = (arguments[0].split("|"), *map(statement.value, arguments[1:]))
    if mode == "any":
        return moved(statement.value(to), f"__match_any_sync({mask}, {held(kind, value)})")
    made = f"int emu_same; {moved(statement.value(to), f'__match_all_sync({mask}, {held(kind, value)}, &emu_same)')}"
    return f"{made} {statement.value(same[0])} = emu_same != 0;" if same else made


def _reduce(statement: Statement, words: list[str], arguments: list[str]) -> str:
    _, sync, operation, kind = words
    kinds = {"and": ("b32",), "or": ("b32",), "xor": ("b32",)}.get(operation, ("u32", "s32"))
    if sync != "sync" or operation not in ("add", "min", "max", "and", "or", "xor") or kind not in kinds:
        return ""
    to, value, mask = map(statement.value, arguments)
    return moved(to, f"__reduce_{operation}_sync({mask}, {held(kind, value)})")


def _elect(statement: Statement, words: list[str], arguments: list[str]) -> str:
    if words[1:] != ["sync"]:
        return ""
    lane, elected = arguments[0].split("|")
    made = f"const unsigned emu_lane = emu::ptx::elect({statement.value(arguments[1])}, {SITE}); "
    if lane.strip() != "_":
        made += moved(statement.value(lane), "emu_lane")
    return f"{made} {statement.value(elected)} = emu_lane == emu::lane();"


def _active(statement: Statement, words: list[str], arguments: list[str]) -> str:
    return moved(statement.value(arguments[0]), "__activemask()") if words[1:] == ["b32"] else ""


def _barrier(statement: Statement, words: list[str], arguments: list[str]) -> str:
    form = [word for word in words[1:] if word not in ("aligned", "cta")]
    if form == ["warp", "sync"]:
        return f"__syncwarp({statement.value(arguments[0])});"
    if form[:1] == ["red"]:
        call = {"popc.u32": "count", "and.pred": "and", "or.pred": "or"}[".".join(form[1:])]
        to, barrier, predicate = arguments
        if barrier != "0":
            return ""
        return moved(statement.value(to), f"__syncthreads_{call}({statement.value(predicate)})")
    values = [statement.value(argument) for argument in arguments]
    if form == ["arrive"]:
        return f"emu::wait_named({SITE}, {values[0]}, {values[1]}, true);"
    if form != ["sync"]:
        return ""
    if values == ["0"]:
        return "__syncthreads();"
    return f"emu::wait_named({SITE}, {values[0]}, {values[1] if len(values) > 1 else '0'}, false);"


def _nothing(statement: Statement, words: list[str], arguments: list[str]) -> str:
    return "(void)0;"


WARPS: dict[str, Build] = {
    "shfl": _shuffle, "vote": _vote, "match": _match, "redux": _reduce, "elect": _elect, "activemask": _active,
    "bar": _barrier, "barrier": _barrier, "pragma": _nothing,
    "griddepcontrol": _nothing,  # launches run in order, one after another
    "nanosleep": lambda statement, words, arguments: "__nanosleep(0);",
    "trap": lambda statement, words, arguments: "__trap();",
}  # fmt: skip
