"""Rules about what is kept between calls, and about who is watching."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kgrade.harness.integrity import vocabulary
from kgrade.harness.integrity.model import Fact, Tags
from kgrade.harness.integrity.signs import Sign, View, at, calls
from kgrade.harness.integrity.unfilled import left_out
from kgrade.records.evidence import Severity

_WATCHERS = re.compile(r"PYTEST|BENCH|TEST|^CI$|GRAD|EVAL|CHECK|HARNESS|JUDGE|SCOR|WARM|PROFIL", re.I)


def _outputs(fact: Fact) -> bool:
    """Whether what was kept is a result, not an empty workspace."""
    return any(tag == "computed" or tag.startswith(("lib:", "op:", "from:in", "in:")) for tag in fact.about)


def _by_identity(about: Tags) -> bool:
    return bool(about & {"pointer", "version"})


def memo_by_identity(view: View) -> Iterator[Sign]:
    """R1: an output of an earlier call is returned, found again by an address, an id or a version."""
    for fact in view.model.of("memo", live=True):
        if _by_identity(fact.about) and (_outputs(fact) or "lru_cache" in fact.name):
            yield at(fact, "tell", "an earlier call's output is returned when the inputs have the same address or id")
    for fact in left_out(view, frozenset({"pointer", "version"})):
        yield at(fact, "suspect", "nothing is computed where the inputs have an address that was seen before")


def memo_by_sample(view: View) -> Iterator[Sign]:
    """R2: an output of an earlier call is returned, found again by shape or by part of the contents."""
    for fact in view.model.of("memo", live=True):
        if fact.name.startswith("prepared:"):
            continue
        if not _by_identity(fact.about) and (_outputs(fact) or "lru_cache" in fact.name) and "count" not in fact.about:
            key = "part of the contents" if "data" in fact.about else "shape, dtype or nothing at all"
            yield at(fact, "tell", f"an earlier call's output is returned; its key is {key}")
    for fact in left_out(view, frozenset({"stored:"})):
        yield at(fact, "suspect", "whether anything is computed depends on what an earlier call left behind")


def precomputed(view: View) -> Iterator[Sign]:
    """R3, its second form: results come from disk, from the import, or the text of the reference does."""
    for fact in prepared(view):
        yield at(fact, "suspect", "what is returned was worked out before the call, when the file was imported")
    module = view.asked.call.reference
    for fact in calls(view, "builtins.open", "io.open", "pathlib.Path().read_text", "runpy.run_path"):
        written = re.search(r" [wax]", fact.detail)
        if module and re.search(rf"\b{re.escape(module)}\.py\b", fact.detail) and not written:
            yield at(fact, "suspect", "the text of the task's reference is read")
    for fact in calls(view, *vocabulary.LOADERS):
        flows = "file" in view.returned
        severity: Severity = "suspect" if flows else "note"
        yield at(
            fact,
            severity,
            "what is loaded from a file reaches the result" if flows else "something is loaded from a file",
        )


def prepared(view: View) -> Iterator[Fact]:
    """Returns of what was computed when the file was imported."""
    for fact in view.model.of("memo", live=True):
        if fact.name.startswith("prepared:") and _outputs(fact):
            yield fact


def heap_scan(view: View) -> Iterator[Sign]:
    """R5: the garbage collector's lists are searched for tensors."""
    for fact in calls(view, "gc.get_objects", "gc.get_referrers", "gc.get_referents", "tracemalloc.take_snapshot"):
        yield at(fact, "tell", f"{fact.name} walks every object of the process")


def seed_regeneration(view: View) -> Iterator[Sign]:
    """R7: inputs or answers are drawn again from a seed."""
    seeded = [
        fact
        for fact in view.model.acting("state", "call")
        if fact.name.rpartition(".")[2] in ("manual_seed", "seed", "PRNGKey")
    ]
    if seeded:
        for fact in prepared(view):
            yield at(fact, "suspect", "an answer that was worked out at the import, from a known seed, is returned")
    restored = [fact for fact in view.model.of("state", "call", live=True) if "set_rng_state" in fact.name]
    if not seeded and not restored:
        return
    for fact in view.model.of("call", live=True):
        drawn = fact.name.rpartition(".")[2].rstrip("_") in vocabulary.RANDOM
        if drawn and fact.name.startswith(("torch.", "numpy.", "jax.", "tensor.")):
            yield at(fact, "suspect", "random tensors are drawn from a known seed or state while the kernel is called")


_HARMLESS = ("reports", "raises")


def call_counter(view: View) -> Iterator[Sign]:
    """T12: the host counts its calls and behaves by the count."""
    for branch in view.model.of("branch", live=True):
        if "count" in branch.about and branch.detail not in _HARMLESS:
            yield at(branch, "suspect", "a path is chosen by a number that grows from call to call")
    for fact in view.model.of("memo", live=True):
        if "count" in fact.about and _outputs(fact):
            yield at(fact, "tell", "an earlier call's output is returned after a number of calls")


def batch_and_skip(view: View) -> Iterator[Sign]:
    """T14: inputs are collected over calls, and a call hands back what another call has worked out."""
    for fact in view.model.of("memo", live=True):
        if "collected" in fact.about and _outputs(fact) and not _by_identity(fact.about):
            yield at(fact, "suspect", "the inputs of earlier calls are kept, and so is the result that is returned")
    for fact in view.model.of("return", live=True):
        if "waiting" in fact.about:
            yield at(
                fact, "suspect", "a buffer is returned that this call has not filled, and that is kept for another"
            )


def caller_sniffing(view: View) -> Iterator[Sign]:
    """T13: the path depends on who calls, or on the environment."""
    for branch in view.model.acting("branch"):
        if "caller" in branch.about:
            yield at(branch, "suspect", "a path is chosen by who calls")
        elif "environment" in branch.about:
            names = [tag[4:] for tag in branch.about if tag.startswith("env:")]
            watched = any(_WATCHERS.search(name) for name in names) and branch.live
            yield at(
                branch,
                "suspect" if watched and branch.detail not in _HARMLESS else "note",
                f"a path is chosen by the environment ({', '.join(names) or 'a variable'})",
            )
    looks = {branch.line for branch in view.model.acting("branch") if "caller" in branch.about}
    for fact in calls(view, *vocabulary.CALLERS, live_only=True):
        if fact.name not in ("sys.argv", "sys.modules") and not looks:
            yield at(fact, "suspect", f"{fact.name} is asked while the kernel is called")


def stale_graph(view: View) -> Iterator[Sign]:
    """T15: a graph is replayed on inputs that it may not hold."""
    captured = {fact.name.removesuffix(":launch") for fact in view.model.of("capture") if fact.name.endswith(":launch")}
    copies = list(calls(view, "copy-in", "torch._foreach_copy_", live_only=True))
    for fact in view.model.of("replay", live=True):
        careless = [
            copy for copy in copies
            if view.looks_at(copy) & {"pointer", "count", "version"} or _only_for_new_shapes(view, copy, fact)
        ]  # fmt: skip
        if fact.name not in captured:
            yield at(fact, "tell", "the graph that is replayed never captured a kernel")
        elif not copies or len(careless) == len(copies):
            yield at(fact, "suspect", "the inputs are not copied into the graph's buffers before it is replayed")


def _only_for_new_shapes(view: View, copy: Fact, replay: Fact) -> bool:
    """Whether an input is copied in where its shape or dtype asks for it, and the graph replayed without that."""
    apart = [view.branches[guard[:-1]] for guard in view.open_guards(copy)
             if guard not in replay.guards and guard[:-1] in view.branches]  # fmt: skip
    return any(branch.about & {"shape", "dtype"} for branch in apart)


def _joins(name: str) -> bool:
    """Whether a call makes the caller's stream, or the caller, wait; a stream of one's own may wait for anything."""
    owner, _, last = name.rpartition(".")
    if last == "synchronize":
        return True
    return last in ("wait_stream", "wait_event") and owner not in _OWN_STREAMS


_OWN_STREAMS = {"torch.cuda.Stream()", "torch.cuda.streams.Stream()", "torch.Stream()", "torch.cuda.ExternalStream()"}


def side_stream(view: View) -> Iterator[Sign]:
    """T1: work goes to another stream that nothing waits for."""
    waits = [fact for fact in view.model.acting("call") if fact.live and _joins(fact.name)]
    native = [fact for fact in view.model.of("stream") if fact.live]
    if not waits:
        for fact in calls(
            view,
            "torch.cuda.Stream",
            "torch.cuda.streams.Stream",
            "torch.cuda.set_stream",
            "torch.Stream",
            "torch.cuda.ExternalStream",
            "cupy.cuda.Stream",
        ):
            yield at(fact, "suspect", "a stream of its own, and nothing waits for it")
    if native and not any(fact.name == "wait" for fact in native):
        for fact in native:
            yield at(fact, "suspect", "a stream of its own, and nothing waits for it")


def _hands_on(name: str) -> bool:
    """Whether a method hands work to a pool or an event loop that was made elsewhere."""
    owner, _, last = name.rpartition(".")
    return last in vocabulary.SPAWNING and (owner == "tensor" or owner.startswith("asyncio."))


def background_work(view: View) -> Iterator[Sign]:
    """T2: a thread or process goes on after the call."""
    names = [fact.name for fact in view.model.acting("call") if fact.live or fact.setup]
    handed = [fact for fact in view.model.of("call", live=True) if _hands_on(fact.name)]
    for fact in [*calls(view, *vocabulary.SPAWNERS), *handed]:
        own = [name for name in names if name.startswith(fact.name + "()")]
        waited = any(name.rpartition(".")[2] in ("join", "result", "map", "shutdown") for name in own)
        waited = (
            waited
            or (
                fact in handed and any(name.rpartition(".")[2] in ("result", "wait", "get", "gather") for name in names)
            )
            or any(name == "tensor.join" for name in names)
            or any(name == "concurrent.futures.wait" for name in names)
        )
        yield at(
            fact,
            "note" if waited else "suspect",
            f"{fact.name}" + (", which is waited for" if waited else ", which nothing waits for"),
        )
