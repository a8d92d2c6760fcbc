"""What the threads of a warp or of a block do together: shuffles, votes, matrices, barriers."""

from __future__ import annotations

import re

from kgrade.harness.emulator.ptx.statement import SITE, Build, Statement, held, moved, only

_KINDS = {"f16": "F16", "bf16": "BF16", "tf32": "TF32", "s8": "S8", "u8": "U8", "e4m3": "FP8E4M3", "e5m2": "FP8E5M2"}
_HELD = {"f16": 2, "bf16": 2, "tf32": 1, "s8": 4, "u8": 4, "e4m3": 4, "e5m2": 4}


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


def _matrices(words: list[str]) -> int:
    """Return how many 8 x 8 matrices of 16 bits are moved, 0 where it is another form."""
    known = only(words[1:], "sync", "m8n8", "x1", "x2", "x4", "trans", "shared", "shared::cta", "b16")
    return next((int(word[1:]) for word in words if word in ("x1", "x2", "x4")), 0) if known and "m8n8" in words else 0


def _load_matrix(statement: Statement, words: list[str], arguments: list[str]) -> str:
    count, targets = _matrices(words), statement.group(arguments[0])
    if count != len(targets):
        return ""
    given = " ".join(moved(target, f"emu_out[{i}]") for i, target in enumerate(targets))
    template = f"<{count}, {'true' if 'trans' in words else 'false'}>"
    at = statement.address(arguments[1], words)
    return f"unsigned emu_out[{count}]; emu::ptx::ldmatrix{template}(emu_out, {at}, {SITE}); {given}"


def _store_matrix(statement: Statement, words: list[str], arguments: list[str]) -> str:
    count, values = _matrices(words), statement.group(arguments[1])
    if count != len(values):
        return ""
    at = statement.address(arguments[0], words)
    given = ", ".join(held("b32", value) for value in values)
    template = f"<{count}, {'true' if 'trans' in words else 'false'}>"
    return f"const unsigned emu_in[] = {{{given}}}; emu::ptx::stmatrix{template}({at}, emu_in, {SITE});"


def _move_matrix(statement: Statement, words: list[str], arguments: list[str]) -> str:
    if words[1:] != ["sync", "aligned", "m8n8", "trans", "b16"]:
        return ""
    to, value = map(statement.value, arguments)
    return moved(to, f"emu::ptx::transpose({held('b32', value)}, {SITE})")


def _multiply(statement: Statement, words: list[str], arguments: list[str]) -> str:
    """`mma.sync.aligned.m16n8kK.row.col.D.A.B.C`, one integer or floating sum for each element."""
    shape = re.fullmatch(r"mma\.sync\.aligned\.m16n8k(\d+)\.row\.col\.(\w+)\.(\w+)\.(\w+)\.(\w+)", ".".join(words))
    if shape is None:
        return ""
    k, to, first, second, plus = shape.groups()
    targets, a, b, c = (statement.group(argument) for argument in arguments)
    integers, eight = ({"s8", "u8"}, {"e4m3", "e5m2"})
    together = first == second or {first, second} <= integers or {first, second} <= eight
    sums = "s32" if first in integers else "f32"
    half = to == "f16" and first in ("f16", *eight)
    if not together or to != plus or (to != sums and not half):
        return ""
    if len(a) != 2 * len(b) or 4 * len(b) * _HELD[first] != int(k) or {len(targets), len(c)} != {2 if half else 4}:
        return ""
    kind = "b32" if half else sums
    name, sum_type = ("mma_half", "unsigned") if half else ("mma", {"f32": "float", "s32": "int"}[sums])
    given = " ".join(moved(target, f"emu_d[{i}]") for i, target in enumerate(targets))
    lists = [", ".join(held("b32", value) for value in group) for group in (a, b)]
    return (
        f"const unsigned emu_a[] = {{{lists[0]}}}, emu_b[] = {{{lists[1]}}}; "
        f"const {sum_type} emu_c[] = {{{', '.join(held(kind, value) for value in c)}}}; "
        f"{sum_type} emu_d[{len(targets)}]; "
        f"emu::ptx::{name}<emu::ptx::{_KINDS[first]}, emu::ptx::{_KINDS[second]}, {len(b)}>"
        f"(emu_d, emu_a, emu_b, emu_c, {SITE}); {given}"
    )


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
    "ldmatrix": _load_matrix, "stmatrix": _store_matrix, "movmatrix": _move_matrix, "mma": _multiply,
    "bar": _barrier, "barrier": _barrier, "pragma": _nothing,
    "griddepcontrol": _nothing,  # launches run in order, one after another
    "nanosleep": lambda statement, words, arguments: "__nanosleep(0);",
    "trap": lambda statement, words, arguments: "__trap();",
}  # fmt: skip
