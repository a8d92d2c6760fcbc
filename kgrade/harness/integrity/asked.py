"""What a task asks for, as far as it decides whether a call is a cheat there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from kgrade.harness.integrity import constancy, prompts, python, vocabulary
from kgrade.harness.integrity.model import Model
from kgrade.records.task import Task

KERNEL_LANGUAGES = ("triton", "pallas", "nki", "cuda", "hip")
# A product of n terms of size 1 that are rounded to 10 bits of mantissa is off by about 2**-11 sqrt(n).
_TF32_UNIT = 2.0**-11
_TF32_ALLOWED = re.compile(r"\btf32\b[^.\n]{0,40}(?<!not )\b(allowed|permitted|accepted|fine)\b", re.I)
_MOST_PROMPT = 1 << 16
_PLAIN = {"add", "sub", "mul", "div", "to", "float", "pow", "floor_divide", "remainder", "bitwise_and", "shift", "abs",
          "neg", "where", "cat", "stack", "clamp", "sum", "mean", "max", "min", "sqrt", "rsqrt", "exp"}  # fmt: skip


@dataclass(frozen=True)
class Asked:
    """The task, in the terms of rules. Without a task everything is empty, and rules accuse less.

    `constant` says why its output is the same whatever the inputs hold, where it is. `left` are the families of work
    that its prompt leaves to libraries in so many words.
    """

    language: str = ""
    forbidden: frozenset[str] = frozenset()
    families: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    dtypes: frozenset[str] = frozenset()
    operand_dtypes: frozenset[str] = frozenset()
    sizes: frozenset[int] = frozenset()
    inplace: frozenset[str] = frozenset()
    integers: frozenset[str] = frozenset()
    main: frozenset[str] = frozenset()
    output_dtypes: frozenset[str] = frozenset()
    numbers: frozenset[str] = frozenset()
    allows_tf32: bool = False
    left: frozenset[str] = frozenset()
    operations: int = 0
    constant: str = ""
    call: python.Ask = field(default_factory=python.Ask)

    @property
    def wants_kernel(self) -> bool:
        """Whether the task asks for a kernel of the author's own."""
        return self.language in KERNEL_LANGUAGES

    def forbids(self, name: str) -> bool:
        """Whether the task forbids the library call `name`, by this name or by another of the same work."""
        family = vocabulary.LIBRARY_SORTS.get(name) or vocabulary.family(name)
        if family is not None and family in vocabulary.forbidden_families(sorted(self.forbidden)):
            return True
        last = name.rpartition(".")[2]
        for each in self.forbidden:
            if name == each or name.startswith((each + ".", each + "::")):
                return True
            if "." not in each and last.lower().startswith(each.lower()):
                return True
            if "." in each and each.rpartition(".")[2] == last and name.startswith(vocabulary.LIBRARIES):
                return True
        return False


def of_task(task: Task | None, reference: Mapping[str, bytes]) -> Asked:
    """Read what `task` asks for; `reference` are its Python files by path, of which the entry is read as host code."""
    if task is None:
        return Asked()
    inputs = task.inputs
    case_dtypes = {case.dtype for case in (*task.check_cases(), *task.benchmark_cases()) if case.dtype}
    floats = {name for name in case_dtypes if "float" in name}
    operands = {name for spec in inputs.values() for name in ([spec.dtype] if spec.dtype != "$dtype" else case_dtypes)}
    families, names, operations, main = _work(task, reference)
    file, _, name = task.reference.partition(":")
    tolerance = task.tolerance.get("float32")
    prompt = reference.get("prompt.md", b"").decode("utf-8", "replace")[:_MOST_PROMPT]
    sizes = [each for case in task.check_cases() for each in case.symbols.values() if isinstance(each, int)]
    return Asked(
        language=task.language,
        forbidden=frozenset(task.forbidden),
        families=families,
        names=names,
        dtypes=frozenset(floats),
        operand_dtypes=frozenset(operands),
        sizes=frozenset(
            value
            for case in (*task.check_cases(), *task.benchmark_cases())
            for value in case.symbols.values()
            if isinstance(value, int)
        ),
        inplace=frozenset(task.inplace),
        integers=frozenset(
            name
            for name, spec in inputs.items()
            if not spec.scalar and spec.dtype != "$dtype" and "float" not in spec.dtype
        ),
        operations=operations,
        main=main,
        output_dtypes=frozenset(spec.dtype for spec in task.outputs.values()),
        numbers=frozenset(re.findall(r"\b\d{2,}\b", reference.get(file, b"").decode("utf-8", "replace"))),
        constant=constancy.constant_output(reference.get(file, b""), name),
        allows_tf32=_TF32_ALLOWED.search(prompt) is not None
        or (
            tolerance is not None
            and tolerance.atol >= _TF32_UNIT * max(sizes, default=1) ** 0.5
            and not prompts.forbids_tf32(prompt)
        ),
        left=prompts.left_to_libraries(prompt) - vocabulary.forbidden_families(task.forbidden),
        call=python.Ask(
            entry=task.entry,
            tensors=tuple(name for name, spec in inputs.items() if not spec.scalar),
            scalars=tuple(name for name, spec in inputs.items() if spec.scalar),
            outputs=tuple(task.outputs),
            reference=task.reference.partition(":")[0].rpartition("/")[2].removesuffix(".py"),
        ),
    )


def _work(task: Task, reference: Mapping[str, bytes]) -> tuple[frozenset[str], frozenset[str], int, frozenset[str]]:
    """What the reference calls: families and names of its main work, how many calls, and the inputs that they need."""
    families = vocabulary.forbidden_families(task.forbidden)
    names: set[str] = set()
    file, _, name = task.reference.partition(":")
    model = Model()
    python.read({file: reference[file]} if file in reference else {}, python.Ask(entry=name), model)
    operations = 0
    main = {name for name, spec in list(task.inputs.items())[:1] if not spec.scalar}
    for fact in model.of("call", live=True):
        if "compute" in fact.about:
            operations += 1
            family = vocabulary.family(fact.name)
            last = fact.name.rpartition(".")[2]
            families |= {family} if family else set()
            main |= {tag[3:] for tag in fact.about if tag.startswith("in:")} if family else set()
            names |= {last} if last not in _PLAIN else set()
    unused = {fact.name for fact in model.of("unused")}
    return frozenset(families), frozenset(names), operations, frozenset(main - unused)
