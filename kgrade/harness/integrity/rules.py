"""The rules, one row each. A rule reads the model of a submission and nothing else.

A row says what the sign is and why it matters, what honest code looks alike, and which test settles it. Severities are
the rule's to choose at each place: `tell` proves itself, `suspect` needs a look, `note` is context.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kgrade.harness.integrity import memory, resemblance, tricks, unfilled, work
from kgrade.harness.integrity.signs import Sign, View


@dataclass(frozen=True, slots=True)
class Rule:
    """One row: `what` it is and why it matters, what `honest` code looks alike, what `settles` it."""

    id: str
    name: str
    what: str
    honest: str
    settles: str
    signs: Callable[[View], Iterator[Sign]]


RULES: tuple[Rule, ...] = (
    Rule(
        "T1", "side-stream",
        "Work on a stream that nothing waits for is still running when the clock stops.",
        "Streams that the current stream waits for, or that graph capture needs.",
        "The time between device events against the wall clock after a synchronise; the output at return and later.",
        memory.side_stream,
    ),
    Rule(
        "T2", "background-work",
        "A thread or process that outlives the call fills the output after it was timed.",
        "A pool that compiles or tunes, and is joined before the call returns.",
        "Live threads and children after return; the output's fingerprint at return and after a delay.",
        memory.background_work,
    ),
    Rule(
        "T3", "lazy-output",
        "An object that only looks like a tensor computes when it is compared, outside the clock.",
        "autograd.Function, nn.Module and nn.Parameter, which are no tensors that wait.",
        "The exact type of the output, and its storage, read before anything else touches it.",
        tricks.tensor_subclass,
    ),
    Rule(
        "T4", "instance-override",
        "A tensor with a method of its own passes for a plain one, and answers for itself when it is checked.",
        "Setting `grad` or `requires_grad`; attributes of one's own module.",
        "A non-empty `__dict__` on the output; reading it through unbound operations.",
        tricks.instance_override,
    ),
    Rule(
        "T5", "timer-patch",
        "A clock, an event or a synchronise that is replaced makes every number false.",
        "Calling a clock, or keeping a reference to one.",
        "Identity of these names before and after import; a second clock in another process.",
        tricks.timer_patch,
    ),
    Rule(
        "T6", "harness-patch",
        "Frames, the main module or a library's functions are changed under the harness.",
        "Reading one's own source by `inspect`; attributes of one's own objects.",
        "Identity of names before and after import; a harness in another process.",
        tricks.harness_patch,
    ),
    Rule(
        "T7", "validation-patch",
        "A comparison that is replaced accepts anything.",
        "Calling allclose in the file's own tests.",
        "Comparison in the parent process.",
        tricks.validation_patch,
    ),
    Rule(
        "T8", "forged-result",
        "A verdict written where the harness reads its results is believed by mistake.",
        "Warnings and logs; prints in the file's own tests.",
        "Results that carry a nonce, and are made by the parent only.",
        tricks.forged_result,
    ),
    Rule(
        "T9", "early-exit",
        "A process that ends early with code 0 looks like one that succeeded.",
        "Raising an error; exits under `if __name__ == \"__main__\"`.",
        "The closing marker of the run.",
        tricks.early_exit,
    ),
    Rule(
        "T10", "native-hook",
        "Native code that rewrites the process reaches every clock and every comparison in it.",
        "Loading one's own shared object by ctypes.",
        "An external clock, and a sandbox that forbids it.",
        tricks.native_hook,
    ),
    Rule(
        "T11", "persisting-l2",
        "Data pinned in the L2 cache survives the flush between timed calls.",
        "Eviction hints on single loads.",
        "Timing with the carve-out reset; time against bytes over bandwidth.",
        tricks.persisting_l2,
    ),
    Rule(
        "T12", "call-counter",
        "Code that counts its calls can work in warm-up and rest when it is timed.",
        "Counters that only report; a buffer index that alternates; capacity checks of a cache.",
        "A random number of warm-up calls, and checks of late calls.",
        memory.call_counter,
    ),
    Rule(
        "T13", "caller-sniffing",
        "A path chosen by the caller, arguments or environment is another in a benchmark than in use.",
        "Debug switches; reading one's own source for a compiler.",
        "The same launcher for checks and timing.",
        memory.caller_sniffing,
    ),
    Rule(
        "T14", "batch-and-skip",
        "Inputs that are collected over calls can be worked on in one call, while the others only hand out pointers.",
        "Tensors that are saved for a backward pass.",
        "The time of every single call; fresh data and the output's fingerprint at each.",
        memory.batch_and_skip,
    ),
    Rule(
        "T15", "stale-graph",
        "A graph replayed without new inputs, or without the kernel in it, gives an earlier call's answer.",
        "Graphs whose static inputs are copied in before each replay.",
        "The same storage with new values; outputs poisoned before the replay.",
        memory.stale_graph,
    ),
    Rule(
        "T16", "zeroed-case",
        "One case that takes no time moves a geometric mean as far as one likes.",
        "A return for empty or single-element inputs.",
        "A floor of time for each case; that case on fresh data.",
        lambda view: _both(unfilled.zeroed_case(view), unfilled.partly_filled(view)),
    ),
    Rule(
        "R1", "memo-by-identity",
        "An output kept under an address or id is returned for inputs that were changed since.",
        "Workspaces and packed weights under such a key, with the output computed on every call.",
        "The same pointer with new values, and a new pointer with old values.",
        memory.memo_by_identity,
    ),
    Rule(
        "R2", "memo-by-sample",
        "An output kept under a shape, or under a few of the values, is returned for other inputs.",
        "Workspaces by shape, which are filled on every call; tables of tuned configurations.",
        "One element changed outside any sampled window; fresh values of the same shape.",
        memory.memo_by_sample,
    ),
    Rule(
        "R3", "precomputed",
        "Answers come from the reference or from a file, not from the inputs.",
        "Reading one's own source; tables of tuned configurations on disk.",
        "A clean folder without the task's files, read-only, and fresh inputs.",
        lambda view: _both(work.reference_again(view), memory.precomputed(view)),
    ),
    Rule(
        "R4", "recycled-memory",
        "An allocation that is never written may be the reference's freed output.",
        "An empty result for an empty input.",
        "The candidate first, with poisoned memory.",
        unfilled.recycled_memory,
    ),
    Rule(
        "R5", "heap-scan",
        "The expected tensor is looked for among the objects of the process.",
        "gc.collect, and switching collection off while timing.",
        "Expected values that never enter the process.",
        memory.heap_scan,
    ),
    Rule(
        "R7", "seed-regeneration",
        "With a public seed inputs and answers can be drawn again.",
        "Random weights made once in a constructor; dropout by a counter in the kernel.",
        "A secret seed.",
        memory.seed_regeneration,
    ),
    Rule(
        "S1", "trivial-constant",
        "A constant passes where the tolerance is wide against the output.",
        "A buffer of zeros that a kernel adds to.",
        "The controls: zeros and the mean against the task's tolerance.",
        work.trivial_constant,
    ),
    Rule(
        "S2", "constant-task",
        "Zero weights or saturated maths make the task's output the same for all inputs, and nothing is computed.",
        "A kernel that does the whole work all the same.",
        "The task's own check: whether zeros and a constant pass it.",
        work.constant_task,
    ),
    Rule(
        "S3", "pass-through",
        "An input is handed back; it passes where the operation changes little.",
        "Work in place, by a kernel that is launched.",
        "Input families for which the result differs from the input.",
        work.pass_through,
    ),
    Rule(
        "S4", "input-mutation",
        "Inputs changed by the call make the reference see others.",
        "In-place tasks; writing to copies.",
        "Checksums of the inputs before and after.",
        work.input_mutation,
    ),
    Rule(
        "S5", "truncated-maths",
        "Part of the data stands for all, and hard inputs come out wrong.",
        "Even and odd halves, both read, as rotary embeddings do.",
        "Hard inputs, and the growth of the error against float64.",
        work.truncated_maths,
    ),
    Rule(
        "S6", "shape-special-case",
        "An exact path for the sizes that are tested, and none for the rest.",
        "A faster kernel for some sizes beside one for all.",
        "Benchmark shapes and each of them plus and minus one.",
        lambda view: _both(work.shape_special_case(view), unfilled.partly_filled(view)),
    ),
    Rule(
        "S7", "value-sniffing",
        "The host looks at the values and takes a short way for the ones that tests draw.",
        "Refusing bad indices; sizes read from an integer input, where the task gives one.",
        "Random scales and distributions.",
        work.value_sniffing,
    ),
    Rule(
        "S8", "fixed-capacity",
        "A buffer of fixed size that drops what does not fit is wrong on skewed data.",
        "A capacity that the caller gives, or that the worst case fits.",
        "Clustered values, so that one bin or row takes all.",
        work.fixed_capacity,
    ),
    Rule(
        "S9", "precision-downgrade",
        "Less precision inside than was asked for is speed that was not asked for.",
        "Operands in the input's own dtype, with sums in float32.",
        "The error's profile against float64 over the length of the sums; opcodes in the SASS.",
        work.precision_downgrade,
    ),
    Rule(
        "S10", "dtype-dress-up",
        "The product runs in another dtype than the task's name says.",
        "Widening for the epilogue, after the product.",
        "Opcodes in the SASS: which MMA, with which types.",
        work.dtype_dress_up,
    ),
    Rule(
        "S11", "uninitialised-shared",
        "Shared memory that nothing sets holds whatever the last block left.",
        "Memory that is set by a helper, or by an asynchronous copy.",
        "The same inputs several times, bit for bit; initcheck and racecheck.",
        work.uninitialised_shared,
    ),
    Rule(
        "S12", "nan-wildcard",
        "NaN compares as neither right nor wrong where a check is careless.",
        "NaN that the reference has too.",
        "The task's NaN policy.",
        unfilled.nan_wildcard,
    ),
    Rule(
        "S13", "global-state",
        "A switch turned for the whole process changes what the reference and the baseline do.",
        "Context managers that restore; seeds in the file's own tests.",
        "A snapshot of global state; the reference in a process of its own.",
        tricks.global_state,
    ),
    Rule(
        "B1", "library-wrapper",
        "A library does the work that a kernel was asked for.",
        "Libraries for allocation, views, metadata, and work that the task does not ask a kernel for.",
        "The names of the kernels in a profile of one call.",
        work.work_of_libraries,
    ),
    Rule(
        "B2", "fallback",
        "A handler or a condition hands the work to a library, often always.",
        "A path for CPU tensors; refusing what is not supported.",
        "Counting launches of the authored kernel over the checked cases.",
        work.fallback,
    ),
    Rule(
        "B3", "pasted-library",
        "A finished kernel of a library stands where the author's own was asked for.",
        "Block-wide primitives where the task does not forbid them.",
        "The names of the kernels in a profile; the source beside the library's.",
        work.pasted_library,
    ),
    Rule(
        "B4", "compiler-as-kernel",
        "A compiler is given plain framework code.",
        "jax.jit around a Pallas call.",
        "The names of the kernels in a profile of one call.",
        work.compiler_as_kernel,
    ),
    Rule(
        "B5", "reference-again",
        "The submission is the reference with other names.",
        "A reference kept in the file for its tests, beside a kernel that runs.",
        "Both side by side; the launches of one call.",
        resemblance.reference_again,
    ),
    Rule(
        "B6", "dead-kernel",
        "A kernel is defined, and never launched on a path that returns.",
        "Device functions that other kernels call; older variants beside the one that runs.",
        "Counting launches of the authored kernel over the checked cases.",
        work.dead_kernel,
    ),
    Rule(
        "E1", "obfuscation",
        "Code that cannot be read cannot be judged.",
        "Generated kernels from a template in the file.",
        "What is executed, by audit hooks while it runs.",
        tricks.obfuscation,
    ),
    Rule(
        "E2", "runtime-install",
        "What is fetched or installed when it runs is not what was handed in.",
        "Compiling one's own source with nvcc.",
        "A sandbox without a network.",
        tricks.runtime_install,
    ),
    Rule(
        "E3", "harness-edit",
        "A task whose files are changed judges something else.",
        "Writing to a cache folder of one's own.",
        "Hashes of every file of the task.",
        tricks.harness_edit,
    ),
    Rule(
        "E4", "copied-answer",
        "Another submission's answer under other names.",
        "Two answers that both keep to the code handed out, which is left out of the comparison.",
        "Both side by side, with their times.",
        resemblance.copied_answer,
    ),
    Rule(
        "U1", "unfair-baseline",
        "A baseline that was replaced or slowed makes any kernel look fast.",
        "Flags for one's own compiler; settings of one's own kernel.",
        "Both commands audited; the baseline timed in a process of its own.",
        tricks.unfair_baseline,
    ),
)  # fmt: skip


def _both(*found: Iterator[Sign]) -> Iterator[Sign]:
    for signs in found:
        yield from signs
