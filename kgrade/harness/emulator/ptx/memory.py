"""Loads, stores, atomics, asynchronous copies and fences."""

from __future__ import annotations

from kgrade.harness.emulator.ptx.statement import SITE, TYPES, Build, Statement, held, moved, only

_SPACES = ("global", "shared", "shared::cta")
_HINTS = ("nc", "ca", "cg", "cs", "lu", "cv", "wb", "wt")
_ORDERS = ("volatile", "relaxed", "acquire", "release", "acq_rel")
_ATOMIC = {
    "u32": "unsigned", "b32": "unsigned", "s32": "int", "f32": "float", "f64": "double", "b16": "unsigned short",
    "u64": "unsigned long long", "b64": "unsigned long long", "s64": "long long",
    "f16": "__half", "bf16": "__nv_bfloat16", "f16x2": "__half2", "bf16x2": "__nv_bfloat162",
}  # fmt: skip
_OPERATIONS = {
    "add": "Add", "min": "Min", "max": "Max", "and": "And", "or": "Or", "xor": "Xor", "exch": "Exch", "cas": "CAS",
    "inc": "Inc", "dec": "Dec",
}  # fmt: skip


def _accessed(words: list[str], count: int) -> str | None:
    """Return the type of what `ld` or `st` moves, or None where a word is not known."""
    vectors = {f"v{count}"} if count > 1 else set()
    known = only(words[1:-1], *_SPACES, *_HINTS, *_ORDERS, *vectors, "const", "local")
    return TYPES[words[-1]] if known and vectors <= set(words) and words[-1][1:].isdigit() else None


def _whole(kind: str, count: int, *, writing: bool) -> str:
    """Ask the checks for the alignment of a vector whose parts are moved one by one."""
    if count == 1:
        return ""
    return f"emu::ptx::require_whole(emu_at, {count} * sizeof({kind}), {str(writing).lower()}, {SITE}); "


def _load(statement: Statement, words: list[str], arguments: list[str]) -> str:
    targets = statement.group(arguments[0])
    kind = _accessed(words, len(targets))
    if kind is None:
        return ""
    at = statement.address(arguments[1], words)
    loads = " ".join(moved(target, f"{kind}(emu_at[{i}])") for i, target in enumerate(targets))
    if not {"volatile", "acquire", "relaxed"}.isdisjoint(words):
        whole = _whole(kind, len(targets), writing=False)
        return f"const volatile {kind}* emu_at = (const volatile {kind}*){at}; {whole}{loads}"
    vector = f"emu::ptx::Vector<{kind}, {len(targets)}>"
    return f"const {vector} emu_read = *(const {vector}*){at}; const {kind}* emu_at = emu_read.of; {loads}"


def _store(statement: Statement, words: list[str], arguments: list[str]) -> str:
    values = statement.group(arguments[1])
    kind = _accessed(words, len(values))
    if kind is None:
        return ""
    at = statement.address(arguments[0], words)
    written = [held(words[-1], value) for value in values]
    if not {"volatile", "release", "relaxed"}.isdisjoint(words):
        fence = "__threadfence(); " if "release" in words else ""
        stores = " ".join(f"emu_at[{i}] = {value};" for i, value in enumerate(written))
        whole = _whole(kind, len(values), writing=True)
        return f"{fence}volatile {kind}* emu_at = (volatile {kind}*){at}; {whole}{stores}"
    vector = f"emu::ptx::Vector<{kind}, {len(values)}>"
    # Of a variable, so that it stays one access: the parts of an initialiser would be stored one by one.
    return f"const {vector} emu_written{{{{{', '.join(written)}}}}}; *({vector}*){at} = emu_written;"


def _atomic(statement: Statement, words: list[str], arguments: list[str]) -> str:
    operations = [word for word in words if word in _OPERATIONS]
    vectors = [word for word in words if word in ("v2", "v4")]
    kind = _ATOMIC[words[-1]]
    if not only(words[1:-1], *_SPACES, *_ORDERS, *operations, *vectors, "noftz") or len(operations) != 1:
        return ""
    if "L2::cache_hint" in words:
        arguments = arguments[:-1]
    result = arguments.pop(0) if words[0] == "atom" else None
    if vectors and result is not None:
        return ""
    at, *operands = arguments
    name = f"atomic{_OPERATIONS[operations[0]]}"
    pointer = f"({kind}*){statement.address(at, words)}"
    if vectors:
        calls = [
            f"{name}(emu_at + {i}, {held(words[-1], value)});" for i, value in enumerate(statement.group(operands[0]))
        ]
        return f"{kind}* emu_at = {pointer}; {' '.join(calls)}"
    values = ", ".join(f"({kind}){held(words[-1], statement.value(value))}" for value in operands)
    call = f"{name}({pointer}, {values})"
    return moved(statement.value(result), call) if result not in (None, "_") else f"{call};"


def _copy(statement: Statement, words: list[str], arguments: list[str]) -> str:
    form = words[1:]
    if form == ["async", "commit_group"]:
        return "emu::commit_copies();"
    if form == ["async", "wait_group"]:
        return f"emu::wait_copies({statement.value(arguments[0])});"
    if form == ["async", "wait_all"]:
        return "emu::commit_copies(); emu::wait_copies(0);"
    if form[0] != "async" or not only(form[1:], "ca", "cg", "global", "shared", "shared::cta"):
        return ""
    if "L2::cache_hint" in words:
        arguments = arguments[:-1]
    to, source = statement.address(arguments[0], ["shared"]), statement.address(arguments[1], ["global"])
    size = statement.value(arguments[2])
    left = f"emu::ptx::left_out({size}, {statement.value(arguments[3])})" if len(arguments) > 3 else "0"
    return f"emu::copy_async({to}, {source}, {size}, {left}, true);"


def _prefetch(statement: Statement, words: list[str], arguments: list[str]) -> str:
    return "" if "tensormap" in words else "(void)0;"


def _fence(statement: Statement, words: list[str], arguments: list[str]) -> str:
    known = only(words[1:], "gl", "sc", "acq_rel", "acquire", "release")
    return "__threadfence();" if known else ""


def _policy(statement: Statement, words: list[str], arguments: list[str]) -> str:
    """A policy says which lines a cache keeps: no value depends on it."""
    return moved(statement.value(arguments[0]), "uint64_t(0)")


MEMORY: dict[str, Build] = {
    "ld": _load, "ldu": _load, "st": _store, "atom": _atomic, "red": _atomic, "cp": _copy, "membar": _fence,
    "fence": _fence, "prefetch": _prefetch, "prefetchu": _prefetch, "createpolicy": _policy,
}  # fmt: skip
