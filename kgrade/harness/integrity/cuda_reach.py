"""From the functions of one text of CUDA C++ to facts: what is reached from the entries, and what state is kept."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection

from kgrade.harness.integrity import cuda_memory
from kgrade.harness.integrity.cuda_unit import Function, Unit
from kgrade.harness.integrity.model import Fact, Kernel


def settle(unit: Unit, entries: Collection[str] | None) -> set[str]:
    """Find what is reached from the entries, and hand every fact over with it; return the entries."""
    roots = _roots(unit, entries)
    reached: set[str] = set()
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name in reached or name not in unit.functions:
            continue
        reached.add(name)
        waiting.extend(unit.functions[name].mentions & unit.functions.keys())
        waiting.extend(fact.name for fact in unit.functions[name].facts if fact.kind == "launch")
    incremented = defaultdict(set)
    for function in unit.functions.values():
        if not (function.is_kernel or function.is_device):
            incremented[function.name] = (function.assigned | function.added) & (function.statics | unit.globals)
    for name, function in unit.functions.items():
        live = name in reached
        if function.is_kernel:
            key = f"{unit.path}:{name}"
            trifle = function.operations <= 1 or function.moves
            unit.model.kernels[key] = Kernel(name, "cuda", unit.path, function.line, trifle, function.blind)
        _kernel_facts(unit, function)
        if re.match(
            r"(cuda|hip)(Event|Device|Stream)(ElapsedTime|Synchronize|Record)|clock_gettime$|gettimeofday$", name
        ):
            unit.model.facts.append(Fact("patch", "time." + name, unit.path, function.line, live=True))
        for fact in function.facts:
            _hand_over(unit, function, fact, live, incremented[name])
    return roots if entries is not None else _uncalled(unit, roots)


def _uncalled(unit: Unit, host: set[str]) -> set[str]:
    """The host functions that no other calls: those that are called from outside."""
    mentioned = {each for name in host for each in unit.functions[name].mentions if each != name}
    return {name for name in host if name not in mentioned} or host


def _roots(unit: Unit, entries: Collection[str] | None) -> set[str]:
    host = {name for name, each in unit.functions.items() if not (each.is_kernel or each.is_device)}
    if entries is None:
        return host
    wanted = {unit.exports.get(name, name) for name in entries}
    if not wanted:
        return set()
    return wanted if wanted & unit.functions.keys() else host


def _hand_over(unit: Unit, function: Function, fact: Fact, live: bool, assigned: set[str]) -> None:
    name, about = fact.name, fact.about
    if fact.kind == "launch":
        name = f"{unit.path}:{name}"
    if fact.kind == "branch":
        kept = {tag[7:] for tag in about if tag.startswith("static:")} & assigned
        text = unit.model.snippet(fact.path, fact.line)
        pointers = "data_ptr" in function.text
        launches = _launches(unit, function)
        words = "|".join(map(re.escape, sorted(kept)))
        if "held" in about and kept and launches:
            key = frozenset({"pointer" if pointers else "shape", "computed"})
            unit.model.facts.append(Fact("memo", "stored:static", fact.path, fact.line, key, live, False, fact.guards))
        elif kept and re.search(rf"[A-Za-z_]\w*\s*==\s*({words})\b|\b({words})\s*==\s*(?!nullptr|NULL)[A-Za-z_]", text):
            key = frozenset({"pointer", "computed"})
            unit.model.facts.append(Fact("memo", "stored:static", fact.path, fact.line, key, live, False, fact.guards))
        elif kept and re.search(rf"\b({words})\s*(\+\+|>=?|<=?|==|%)|\+\+\s*({words})\b", text):
            about |= {"count"}
    unit.model.facts.append(Fact(fact.kind, name, fact.path, fact.line, about, live, False, fact.guards, fact.detail))


def _launches(unit: Unit, function: Function) -> bool:
    """Whether a kernel is launched here, or in a function that is named here."""
    named = [function, *(unit.functions[name] for name in function.mentions if name in unit.functions)]
    return any(fact.kind == "launch" for each in named for fact in each.facts)


def _kernel_facts(unit: Unit, function: Function) -> None:
    for divisor, line in function.shortened:
        if divisor != "1" and not cuda_memory.reads_whole(function.text, divisor):
            part = f"a {divisor}th of a length"
            function.facts.append(Fact("sampled", part, unit.path, line, detail="short"))
    for name, line in function.shared.items():
        if name.startswith("half:"):
            if name[5:] in function.assigned | function.added and re.search(r"(acc|sum|total|partial)", name):
                function.facts.append(Fact("accumulator", "float16", unit.path, line, frozenset({"summed"})))
        elif function.is_kernel and cuda_memory.unset(
            name, function.assigned | function.passed, function.added, function.handed
        ):
            function.facts.append(Fact("shared", name, unit.path, line, frozenset({"unset"})))
        elif function.is_kernel and not function.barriers:
            function.facts.append(Fact("shared", name, unit.path, line, frozenset({"no-barrier"})))
