"""Rules about who does the work: libraries, fallbacks, dead kernels, results that are not computed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from kgrade.harness.integrity import cuda_names, vocabulary
from kgrade.harness.integrity.model import Fact
from kgrade.harness.integrity.signs import DEGENERATE, Sign, View, at, opposite
from kgrade.harness.integrity.unfilled import COMPUTED, SMALL, unmade
from kgrade.records.evidence import Severity

_TEXTS = (".cu", ".cpp", ".cuh")


def work_of_libraries(view: View) -> Iterator[Sign]:
    """B1: a library does the task's main work."""
    asked = view.asked
    found = False
    for fact in view.model.of("call", live=True):
        if fact.name.startswith("ctypes.") and cuda_names.works(fact.name.rpartition(".")[2]):
            found = True
            yield at(fact, "suspect" if view.real else "tell", f"{fact.name.rpartition('.')[2]} does the work")
    for fact, family in view.calls_that_work():
        forbidden = asked.forbids(fact.name)
        if fact.name.startswith(("cub.", "thrust.", "cutlass.", "reference")) or _packaged(fact.name):
            continue
        if asked.language == "python" and not forbidden:
            continue
        given = family in asked.left and bool(view.real) and not forbidden
        severity = "note" if given else _weight(view, fact, family, forbidden)
        if severity is not None:
            found = True
            yield at(fact, severity, f"{fact.name} is called on the path that returns")
    if not found:
        yield from _no_kernel(view)


def _weight(view: View, fact: Fact, family: str | None, forbidden: bool) -> Severity | None:
    guarded = bool(view.open_guards(fact))
    if forbidden:
        on_cpu = guarded and view.looks_at(fact) == {"device"} and bool(view.real)
        return "note" if on_cpu else "suspect" if guarded else "tell"
    native = fact.detail == "cxx" and not fact.name.startswith(("torch.", "tensor."))
    if family is None and not native:
        return None
    known = view.asked.wants_kernel
    if not view.real:
        return "tell" if known and not guarded else "suspect"
    if native or view.main(fact, family):
        return "note" if view.looks_at(fact) == {"device"} else "suspect"
    return "note"


def _no_kernel(view: View) -> Iterator[Sign]:
    """The outputs are made by library operations, and no kernel of the author's is launched on the way."""
    if not view.asked.wants_kernel or not view.model.has_entry or view.useful:
        return
    for fact in view.model.of("return", live=True):
        if (
            any(tag.startswith(("op:", "from:in")) for tag in fact.about)
            and view.looks_at(fact) <= DEGENERATE
            and "except" not in fact.guards
        ):
            yield at(fact, "tell", "no kernel is launched; the result is made of library operations")
            return


def _packaged(name: str) -> bool:
    return name.partition(".")[0] in vocabulary.KERNEL_PACKAGES


def fallback(view: View) -> Iterator[Sign]:
    """B2: a handler or a condition hands the work to a library."""
    yield from _other_way(view)
    for fact, family in view.calls_that_work():
        main = view.asked.forbids(fact.name) or family is not None or view.main(fact, family)
        if "except" in fact.guards and (main or not fact.name.startswith("torch.") or view.launches):
            yield at(fact, "suspect", f"{fact.name} takes over when something raises")
            continue
        if not main:
            continue
        for guard in fact.guards:
            launched = [one for one in view.launches if guard not in one.guards]
            if guard != "except" and view.side(launched, opposite(guard)):
                looks = view.branches[guard[:-1]].about if guard[:-1] in view.branches else frozenset()
                severity: Severity = "note" if looks and looks <= {"device"} else "suspect"
                yield at(fact, severity, f"{fact.name} on one side of a condition, the kernel on the other")
                break


def _other_way(view: View) -> Iterator[Sign]:
    """Operations of a library that make the result on one side of a condition, with all launches on the other."""
    sides: dict[tuple[str, ...], list[Fact]] = {}
    for fact, _ in view.calls_that_work():
        guards = tuple(guard for guard in view.open_guards(fact) if guard != "except")
        looks = view.looks_at(fact)
        if guards and not (looks and looks <= {*DEGENERATE, "device"}):
            sides.setdefault(guards, []).append(fact)
    for guards, facts in sides.items():
        against = {opposite(guard) for guard in guards}
        if len(facts) > 1 and view.useful and all(against & set(one.guards) for one in view.useful):
            yield at(facts[0], "suspect", "on this side of a condition a library makes the result, and no kernel runs")


def pasted_library(view: View) -> Iterator[Sign]:
    """B3: a library's kernel or intrinsic stands where the author's own is asked for."""
    asked = view.asked
    for fact in view.model.of("call", live=True):
        if fact.name in vocabulary.LIBRARY_SORTS:
            family = vocabulary.LIBRARY_SORTS[fact.name]
            if family == "scan" and fact.name not in asked.forbidden:
                yield at(fact, "note", f"{fact.name} scans within a block")
            elif asked.forbids(fact.name):
                yield at(fact, "tell", f"{fact.name} is forbidden here")
            elif family in asked.families and family in ("sort", "histogram"):
                yield at(fact, "suspect", f"{fact.name} does the task's main work")
        elif fact.name.startswith(("cub.", "thrust.", "cutlass.")):
            if asked.forbids(fact.name):
                yield at(fact, "tell", f"{fact.name} is forbidden here")
            elif "compute" in fact.about and not view.real:
                yield at(fact, "suspect", f"{fact.name} works, and no kernel of the author's")
            elif _sorts(fact.name) and "sort" in asked.families:
                yield at(fact, "suspect", f"{fact.name} does the task's main work")
            elif "compute" in fact.about:
                yield at(fact, "note", f"{fact.name} is used")
        elif _packaged(fact.name) and "compute" in fact.about and view.flows(fact):
            severity: Severity = (
                "tell" if asked.forbids(fact.name) or (asked.wants_kernel and not view.real) else "suspect"
            )
            yield at(fact, severity, f"{fact.name} belongs to a library of finished kernels")


def _sorts(name: str) -> bool:
    """Whether a device-wide call of CUB or Thrust sorts or ranks."""
    last = name.rpartition(".")[2].lower()
    return "sort" in last or "topk" in last or "sort" in name.rpartition(".")[0].lower()


def compiler_as_kernel(view: View) -> Iterator[Sign]:
    """B4: a compiler is handed plain framework code in place of a kernel."""
    for fact in view.model.acting("call"):
        pallas = view.real or any(kernel.language == "pallas" for kernel in view.model.kernels.values())
        if fact.name not in vocabulary.COMPILERS or (fact.name.startswith("jax.") and pallas):
            continue
        if view.asked.forbids(fact.name) or (view.asked.wants_kernel and not view.real):
            yield at(fact, "tell", f"{fact.name} makes the code that runs")
        else:
            yield at(fact, "suspect", f"{fact.name} is used")


def dead_kernel(view: View) -> Iterator[Sign]:
    """B6: a kernel is there for the eye only."""
    if not view.model.has_entry:
        return
    launched = view.model.launched()
    works = any(True for _ in view.calls_that_work())
    returns = list(view.model.of("return", live=True))
    for key, kernel in view.model.kernels.items():
        if key in launched or kernel.device_only:
            continue
        # A file of kernels alone is called from somewhere else.
        alone = not (view.asked.language or returns or view.launches)
        runs = view.real or (launched and not works) or alone
        sure = works and returns and view.asked.language
        severity: Severity = "note" if runs else "tell" if sure else "suspect"
        yield Sign(severity, kernel.path, kernel.line, f"{kernel.name} is never launched on a path that returns")
    real = [fact for fact in view.real if fact.name in view.model.kernels]
    if real and returns and works and not any(_holds(fact.about) for fact in returns):
        for fact in real:
            yield at(fact, "tell", "the kernel runs, and what it writes is not returned")
    for fact in view.model.of("launch", live=True):
        trifling = view.model.kernels.get(fact.name)
        if trifling is not None and trifling.trifle and not view.real and works:
            yield at(fact, "suspect", f"{trifling.name} only moves or scales what a library computed")


def _holds(about: frozenset[str]) -> bool:
    return "computed" in about or any(tag.startswith("written:") for tag in about)


def trivial_constant(view: View) -> Iterator[Sign]:
    """S1: a constant is returned, or what kernels make that no input reaches."""
    written = any(_computed_by_kernel(fact.about) for fact in view.model.of("return", live=True))
    reached = [fact for fact in view.launches if any(tag.startswith(COMPUTED) for tag in fact.about)]
    native = any(
        fact.name.startswith("ext:")
        or not fact.about
        or (fact.name in view.model.kernels and view.model.kernels[fact.name].language == "cuda")
        for fact in view.launches
    )
    if written and view.launches and not reached and not native and not list(view.calls_that_work()):
        for fact in view.model.of("launch", live=True):
            yield at(fact, "suspect", "the kernel is given no input and nothing computed from one")
    for fact in unmade(view, ":constant"):
        yield at(fact, "tell", "the result is a constant")
    yield from _on_one_side(view)
    for fact in view.model.of("unused", live=True):
        if fact.name in view.asked.main or (not view.asked.call.tensors and fact.detail == "all"):
            yield at(fact, "suspect", f"no element of {fact.name} goes into anything that is computed")
    read = any(kernel.language == "cuda" for kernel in view.model.kernels.values())
    moving = [fact for fact in view.launches if fact.live and not (read and fact.name.startswith("ext:"))]
    known = [view.model.kernels[fact.name] for fact in moving if fact.name in view.model.kernels]
    if known and len(known) == len(moving) and all(kernel.blind for kernel in known):
        for kernel in known:
            yield Sign(
                "suspect", kernel.path, kernel.line, f"nothing that {kernel.name} stores depends on what it loads"
            )


def _on_one_side(view: View) -> Iterator[Sign]:
    """Launches on one side of a condition that read nothing of a main input, or store what depends on none."""
    for fact in view.useful:
        looks = view.looks_at(fact)
        against = {opposite(guard) for guard in view.open_guards(fact)}
        beside = [one for one in view.useful if not against & set(one.guards)]
        nothing = looks <= DEGENERATE and bool(looks - {"shape", "dtype"})
        if not against or len(beside) == len(view.useful) or nothing:
            continue
        if any(one.name.startswith("ext:") or one.path.endswith(_TEXTS) for one in view.useful):
            continue
        kernels = [view.model.kernels.get(one.name) for one in beside]
        if all(kernel is not None and kernel.blind for kernel in kernels):
            yield at(fact, "suspect", "on this side of a condition nothing that is stored depends on what is loaded")
        about = frozenset[str]().union(*(one.about for one in beside))
        mixed = any(tag.startswith(("from:in", "op:", "lib:", "stored:", "kept")) for tag in about)
        others = frozenset[str]().union(*(one.about for one in view.useful))
        missing = sorted(name for name in view.asked.main if "in:" + name in others - about)
        if missing and not mixed:
            yield at(fact, "suspect", f"on this side of a condition no kernel is given {', '.join(missing)}")


def constant_task(view: View) -> Iterator[Sign]:
    """S2: the task's output is the same whatever comes in, and the submission counts on it."""
    if not view.asked.constant:
        return
    skipped = False
    for sign in trivial_constant(view):
        skipped = True
        yield replace(
            sign, severity="suspect", said=f"no input decides the result, nor the task's: {view.asked.constant}"
        )
    if not skipped:
        for fact in view.model.of("return", live=True):
            yield at(
                fact, "note", f"the task's output is constant, so any answer like it passes: {view.asked.constant}"
            )


def _computed_by_kernel(about: frozenset[str]) -> bool:
    return any(tag.startswith("written:") for tag in about)


def pass_through(view: View) -> Iterator[Sign]:
    """S3: an input is handed back."""
    mutated = frozenset().union(*(fact.about for fact in view.model.of("mutation", live=True)))
    for fact in view.model.of("return", live=True):
        sources = {
            tag for tag in fact.about if tag.startswith(("in:", "lib:", "op:", "alloc:", "stored:", "from:in", "file"))
        }
        if (
            sources
            and all(tag.startswith("in:") for tag in sources)
            and not sources & mutated
            and not view.open_guards(fact)
        ):
            severity: Severity = "tell" if view.asked.language else "suspect"
            yield at(fact, severity, "an input is returned as the result, and no kernel wrote to it")
    moving = [fact for fact in view.launches if fact.live]
    if moving and not view.real and view.asked.operations > 1 and not list(view.calls_that_work()):
        for fact in moving:
            yield at(fact, "suspect", "the only kernel moves or scales an input, where more is asked for")


def input_mutation(view: View) -> Iterator[Sign]:
    """S4: an input that is not the task's to write is written by host code."""
    for fact in view.model.of("mutation", live=True):
        touched = (
            {tag[3:] for tag in fact.about if tag.startswith("in:")} - view.asked.inplace - set(view.asked.call.outputs)
        )
        if touched:
            known = bool(view.asked.language)
            yield at(fact, "suspect" if known else "note", f"{', '.join(sorted(touched))} is written by {fact.name}")


def truncated_maths(view: View) -> Iterator[Sign]:
    """S5: every k-th element stands for all."""
    facts = list(view.model.of("sampled", live=True))
    whole = frozenset[str]().union(*(fact.about for fact in facts if fact.detail == "whole"))
    # Where inputs are integers, a byte may hold several values, and a loop over a part of the length is honest.
    packed = bool(view.asked.integers) or not view.asked.language
    for fact in facts:
        if fact.detail == "short" and view.asked.numbers & set(re.findall(r"\d+", fact.name)):
            continue
        if fact.detail == "tile":
            refused = any(branch.detail == "raises" for branch in view.model.of("branch", live=True))
            yield at(fact, "note" if refused else "suspect", f"only the first {fact.name} elements of an axis are read")
        elif fact.detail == "short":
            yield at(fact, "note" if packed else "suspect", f"only a part is read, which ends or begins at {fact.name}")
        elif fact.detail == "gap":
            yield at(fact, "suspect", f"a loop reads {fact.name} of what it stands before")
        elif fact.detail == "grid":
            yield at(fact, "suspect", f"the grid covers {fact.name} of a length")
        elif fact.detail == "prefix":
            missing = sorted(tag[3:] for tag in fact.about - whole if tag.startswith("in:"))
            if missing and view.useful:
                yield at(fact, "suspect", f"of {', '.join(missing)} only the first {fact.name} are given to a kernel")
        elif fact.detail == "window":
            yield at(fact, "suspect", f"a window of {fact.name} elements stands for a whole row")
        elif fact.detail == "part":
            if any(other.detail == "offset" and other.name == fact.name for other in facts):
                continue
            yield at(fact, "note" if packed else "suspect", "the kernel is given a fixed part of an input")
        elif fact.detail not in ("offset", "whole") and not any(
            other.detail == "offset" and other.name == fact.name for other in facts
        ):
            yield at(fact, "suspect", f"only every {fact.name}th element is read")


def shape_special_case(view: View) -> Iterator[Sign]:
    """S6: an exact path for sizes that are tested, and another for the rest."""
    for branch in view.model.of("branch", live=True):
        if branch.detail == "table":
            yield at(branch, "suspect", "a table of sizes chooses the kernel; for all others none is launched")
            continue
        numbers = {int(tag[7:]) for tag in branch.about if tag.startswith("equals:")}
        tested = {number for number in numbers if number > SMALL}
        if not tested or branch.detail == "raises" or ("shape" not in branch.about and not _native(branch)):
            continue
        sides = [view.side(view.launches, branch.name + sign) for sign in "+-"]
        loose = [
            fact for fact in view.launches if fact.live and not any(guard[:-1] == branch.name for guard in fact.guards)
        ]
        returns = [view.side(view.model.of("return", "call", live=True), branch.name + sign) for sign in "+-"]
        for mine, other in ((0, 1), (1, 0)):
            made = [fact for fact in returns[other] if fact.kind == "return" or "compute" in fact.about]
            made += [fact for fact in view.model.of("return", live=True) if branch.name + "+-"[mine] not in fact.guards]
            if _native(branch):
                made.append(branch)
            if sides[mine] and not sides[other] and not loose and made:
                yield at(
                    branch, "suspect", f"the kernel runs only where a size is {', '.join(map(str, sorted(tested)))}"
                )
                break


def fixed_capacity(view: View) -> Iterator[Sign]:
    """S8: what comes after a fixed number of entries is dropped."""
    for fact in view.model.of("dropped"):
        yield at(fact, "suspect", f"what does not fit into {fact.name} entries is dropped")


def _native(branch: Fact) -> bool:
    return branch.path.endswith((".cu", ".cpp", ".cuh"))


def value_sniffing(view: View) -> Iterator[Sign]:
    """S7: the host reads the data and chooses a path by it."""
    for branch in view.model.of("branch", live=True):
        if "data" not in branch.about or branch.detail in ("raises", "decided"):
            continue
        read = {tag[5:] for tag in branch.about if tag.startswith("data:")}
        kept = any(tag.startswith("stored:") for tag in branch.about)
        if read and read <= view.asked.integers and not kept:
            yield at(branch, "note", "a path is chosen by what integer inputs hold")
        elif not view.asked.language and not _one_sided(view, branch):
            yield at(branch, "note", "a path may be chosen by what the inputs hold")
        else:
            yield at(branch, "suspect", "a path is chosen by what the inputs hold")


def _one_sided(view: View, branch: Fact) -> bool:
    """Whether kernels are launched on one side of a branch only."""
    return bool(view.side(view.launches, branch.name + "+")) != bool(view.side(view.launches, branch.name + "-"))


def precision_downgrade(view: View) -> Iterator[Sign]:
    """S9: less precision inside than was asked for."""
    dtypes = view.asked.dtypes
    for fact in view.model.of("accumulator", live=True):
        if "summed" in fact.about:
            yield at(fact, "suspect", f"sums are kept in {fact.name}")
    for fact in view.model.of("cast", live=True):
        if fact.name == "tf32":
            strict = "float32" in dtypes and not view.asked.allows_tf32
            yield at(fact, "suspect" if strict else "note", "float32 products are rounded to TF32")
        elif (fact.detail == "buffer" and not dtypes <= {"float32"}) or (
            fact.detail == "kernel" and fact.name in view.asked.output_dtypes
        ):
            continue
        elif (dtypes and fact.name not in dtypes | view.asked.operand_dtypes) or (
            "float32" in dtypes and fact.detail in ("host", "operand") and "dtype" not in view.looks_at(fact)
        ):
            if not any(name.startswith(fact.name) for name in dtypes - {"float32"}) or "float32" in dtypes:
                yield at(
                    fact,
                    "suspect",
                    f"values are rounded to {fact.name}, which no case is in"
                    if fact.name not in dtypes
                    else f"every case is rounded to {fact.name}, float32 too",
                )
        elif not dtypes:
            yield at(fact, "note", f"values are rounded to {fact.name}")


def dtype_dress_up(view: View) -> Iterator[Sign]:
    """S10: the products run in another dtype than the task's."""
    operands = {name for name in view.asked.operand_dtypes if name.startswith("float8")}
    if not operands:
        return
    for fact in view.model.of("cast", live=True):
        if fact.detail in ("operand", "host") and fact.name in ("float16", "bfloat16"):
            yield at(
                fact,
                "suspect",
                f"operands of the product are widened to {fact.name}, where {min(operands)} is asked for",
            )


def uninitialised_shared(view: View) -> Iterator[Sign]:
    """S11: shared memory is read before anything is written to it."""
    for fact in view.model.of("shared"):
        if "unset" in fact.about:
            yield at(fact, "suspect", f"nothing ever sets {fact.name}; it starts with whatever is there")
        else:
            yield at(fact, "note", f"{fact.name} is shared, and the kernel has no barrier")


def reference_again(view: View) -> Iterator[Sign]:
    """R3, its first form: the reference is imported and called."""
    for fact in view.model.acting("import"):
        if fact.name.startswith("reference."):
            called = any(name.name.startswith("reference") for name in view.model.of("call", live=True))
            yield at(
                fact,
                "tell" if called or "reference" in view.returned else "suspect",
                "the task's reference is imported",
            )
