"""What a rule's page says beside its row: why the sign matters, what it looks like, which stage settles it.

A sample is the shape of the trick in a few lines, made up for the page. A row of the table of tests names what a run
of the submission settles; a rule that no such test settles is settled by collecting `stage` anew, or by a person.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

KINDS: Final[Mapping[str, str]] = {
    "T": "a trick on the clock, the checker or the harness",
    "R": "a remembered answer",
    "S": "less or other work than was asked for",
    "B": "somebody else's work",
    "E": "code or files that are not what was handed in",
    "U": "an unfair comparison",
}


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why it `matters`, a `sample` of it, and the `stage` that settles it where no test of its own does."""

    matters: str
    sample: str
    stage: Literal["build", "check", "time"] | None = None


EXPLANATIONS: Final[Mapping[str, Explanation]] = {
    "T1": Explanation(
        "The clock stops while the device works on, so the time is that of the launch and not of the kernel.",
        "s = torch.cuda.Stream()\nwith torch.cuda.stream(s):\n    kernel[grid](x, y)\nreturn y  # nothing waits for s",
    ),
    "T2": Explanation(
        "What is timed is the start of the work; a checker that looks late enough finds the output filled.",
        "threading.Thread(target=fill, args=(y, x)).start()\nreturn y",
    ),
    "T3": Explanation(
        "The work is done while the checker compares, and none of it while the clock runs.",
        "class Late(torch.Tensor):\n    def __torch_function__(self, f, types, args=()):\n        fill(self)",
    ),
    "T4": Explanation(
        "A checker that calls a method of the output runs the submission's code and gets the answer it wants.",
        "y = torch.empty_like(x)\ny.to = lambda *how: reference(x)\nreturn y",
    ),
    "T5": Explanation(
        "Every time reported from this process is the submission's word.",
        "torch.cuda.Event.elapsed_time = lambda self, end: 0.001",
    ),
    "T6": Explanation(
        "The harness then runs code that the submission put there, and no result of that process can be believed.",
        "sys.modules['__main__'].check = lambda *given: True",
    ),
    "T7": Explanation(
        "A comparison that always agrees passes any output.",
        "torch.allclose = lambda *given, **named: True",
    ),
    "T8": Explanation(
        "The verdict is written by the one who is judged.",
        "os.write(int(os.environ['RESULT_FD']), b'{\"passed\": true}')",
    ),
    "T9": Explanation(
        "The cases after the exit are never run, and count as passed where only the exit code is read.",
        "print('all tests passed')\nos._exit(0)",
    ),
    "T10": Explanation(
        "Native code reaches everything in the process: clocks, comparisons and the outputs themselves.",
        "libc = ctypes.CDLL(None)\nlibc.mprotect(page, 4096, 7)",
    ),
    "T11": Explanation(
        "Timed calls read from the cache what a cold call reads from memory, so the time is of another task.",
        "attr.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;\ncudaStreamSetAttribute(stream, id, &attr);",
        "time",
    ),
    "T12": Explanation(
        "The checked calls work and the timed ones need not, for the code knows which is which by counting.",
        "calls += 1\nif calls > 10:\n    return LAST\nreturn compute(x)",
    ),
    "T13": Explanation(
        "What is benchmarked is then another program than what people run.",
        "if 'bench' in sys.argv[0]:\n    return fast_and_wrong(x)",
    ),
    "T14": Explanation(
        "The cost moves into one call, and a median over the calls does not see it.",
        "PENDING.append((x, y))\nif len(PENDING) == 100:\n    run_all(PENDING)\nreturn y",
    ),
    "T15": Explanation(
        "A replay that does not read this call's inputs returns an answer to another question.",
        "if GRAPH is None:\n    GRAPH = capture(x)\nGRAPH.replay()\nreturn OUT  # x was never copied in",
    ),
    "T16": Explanation(
        "A geometric mean over the cases goes to infinity with one time that goes to zero.",
        "if x.shape == (1024, 1024):\n    return OUT",
        "time",
    ),
    "R1": Explanation(
        "Real inputs change in place, as weights and caches do; such a kernel answers for values that are gone.",
        "key = x.data_ptr()\nif key not in SEEN:\n    SEEN[key] = compute(x)\nreturn SEEN[key]",
    ),
    "R2": Explanation(
        "Two inputs that agree in the sample get one answer, and the timed call computes nothing.",
        "key = (x.shape, float(x[0, 0]))\nif key not in SEEN:\n    SEEN[key] = compute(x)\nreturn SEEN[key]",
    ),
    "R3": Explanation(
        "Nothing was solved: without the file there is no answer.",
        "answers = torch.load('/tmp/answers.pt')\nreturn answers[tuple(x.shape)]",
        "check",
    ),
    "R4": Explanation(
        "It passes only where the right answer happens to lie in freed memory.",
        "return torch.empty_like(x)",
    ),
    "R5": Explanation(
        "The answer is taken from the checker's own memory.",
        "for each in gc.get_objects():\n    if torch.is_tensor(each) and each.shape == want:\n        return each",
    ),
    "R7": Explanation(
        "It answers for the benchmark's inputs and for no others.",
        "torch.manual_seed(0)\nknown = torch.randn(4096, 4096)\nreturn ANSWER if torch.equal(x, known) else slow(x)",
    ),
    "S1": Explanation(
        "A tolerance wide enough to pass a constant passes every kernel; the task is at fault as well.",
        "return torch.zeros(rows, columns)",
    ),
    "S2": Explanation(
        "Every kernel passes such a task, and the one that does nothing is the fastest: the task is to be mended.",
        "y = x.max(1, keepdim=True).values\nreturn y - y.mean(1, keepdim=True)  # the task: zero for every x",
        "check",
    ),
    "S3": Explanation(
        "It is right only where the operation does next to nothing.",
        "def layer_norm(x, weight, bias):\n    return x",
    ),
    "S4": Explanation(
        "A reference that runs second sees the changed inputs and agrees with the submission.",
        "x.zero_()\nreturn torch.zeros_like(x)",
    ),
    "S5": Explanation(
        "Typical random inputs hide it, and real data does not.",
        "for k in range(0, K, 2):  # half of the terms, then doubled\n    acc += a[:, k] * b[k]\nreturn 2 * acc",
    ),
    "S6": Explanation(
        "Beside the sizes that were tested it is wrong, or falls back to something slow.",
        "if n == 4096:\n    return kernel_4096(x)\nreturn x",
    ),
    "S7": Explanation(
        "Its speed and its answer hold for the test's distribution only, and looking costs a synchronisation.",
        "if x.max() < 4:\n    return cheap(x)\nreturn full(x)",
    ),
    "S8": Explanation(
        "Uniform data never fills the buffer; skewed data does, and loses elements without a word.",
        "__shared__ int found[128];\nif (at < 128) found[at] = candidate;  // the rest is dropped",
    ),
    "S9": Explanation(
        "The comparison is with a baseline that keeps the precision; a fair one would be as fast.",
        "a, b = a.half(), b.half()\nreturn kernel(a, b).float()",
        "build",
    ),
    "S10": Explanation(
        "The figure is published under a dtype that did not do the work.",
        "def matmul_fp8(a, b):\n    return kernel_bf16(a.to(torch.bfloat16), b.to(torch.bfloat16))",
        "build",
    ),
    "S11": Explanation(
        "The answer depends on what ran before; it passes here and fails in a year.",
        "__shared__ float part[256];\nsum += part[threadIdx.x];  // read before anything wrote it",
        "check",
    ),
    "S12": Explanation(
        "A comparison that asks whether anything is too far off finds nothing wrong with NaN.",
        "return torch.full_like(x, float('nan'))",
        "check",
    ),
    "S13": Explanation(
        "The reference or the baseline then runs under other settings than it was written for.",
        "torch.set_default_dtype(torch.float16)",
    ),
    "B1": Explanation(
        "The task asks for a kernel; a library's kernel measures the library.",
        "@triton.jit\ndef touch(p): ...\n\ndef matmul(a, b):\n    return torch.mm(a, b)",
    ),
    "B2": Explanation(
        "What ran in the check and in the clock may never have been the kernel.",
        "try:\n    return kernel(x)\nexcept Exception:\n    return torch.softmax(x, -1)",
    ),
    "B3": Explanation(
        "What is judged as the author's own work is not.",
        "y, order = tl.sort(row)  # the task asks for a sort",
    ),
    "B4": Explanation(
        "The compiler wrote the kernel, from the same code as the baseline.",
        "fast = torch.compile(reference)\nreturn fast(x)",
    ),
    "B5": Explanation(
        "A comparison of the reference with itself says nothing about a kernel.",
        "def solution(x):\n    return torch.softmax(x, -1)  # the reference's own line",
    ),
    "B6": Explanation(
        "The kernel in the file is there to be read, and something else does the work.",
        "@triton.jit\ndef kernel(x, y): ...\n\ndef solution(x):\n    return torch.relu(x)",
    ),
    "E1": Explanation(
        "Nobody can say what it does, and so nobody can vouch for it.",
        "exec(base64.b64decode(PAYLOAD))",
    ),
    "E2": Explanation(
        "The bytes that were graded are not the bytes that ran, and tomorrow others may.",
        "subprocess.run([sys.executable, '-m', 'pip', 'install', 'fast-kernels'])",
    ),
    "E3": Explanation(
        "The task that it passes is no longer the task.",
        "Path('task.yaml').write_text(text.replace('1e-3', '1e3'))",
    ),
    "E4": Explanation(
        "The grade would go to somebody who did not do the work.",
        "# another submission's file, with other names",
    ),
    "U1": Explanation(
        "A speedup is a ratio, and whoever slows the denominator raises it as well as whoever speeds the numerator.",
        "torch.backends.cuda.matmul.allow_tf32 = False  # for the baseline only",
    ),
}
