"""Other forms of one program: what it does stays, how it is written does not. Deterministic."""

from __future__ import annotations

import ast
import builtins
import random
import re
from collections.abc import Callable

_KEPT = {
    "entry",
    "softmax",
    "softmax_",
    "gemm",
    "sort_rows",
    "forward",
    "backward",
    "apply",
    "ModelNew",
    "self",
    "cls",
    "scan_inclusive",
}
Files = dict[str, str]


def _own_names(tree: ast.Module) -> list[str]:
    """Top-level names and parameters-free locals of the file that may be renamed."""
    names = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.append(node.name)
        elif isinstance(node, ast.Assign):
            names += [target.id for target in node.targets if isinstance(target, ast.Name)]
    return [name for name in dict.fromkeys(names) if name not in _KEPT and not name.startswith("__")]


def renamed(text: str, rng: random.Random) -> Files:
    """Own functions, classes and tables under other names."""
    for index, name in enumerate(_own_names(ast.parse(text))):
        text = re.sub(
            rf"(?<![.\w\"']){re.escape(name)}\b(?!\s*=[^=].*\bconstexpr)", f"v{rng.randrange(1000)}_{index}", text
        )
    return {"solution/kernel.py": text}


def aliased(text: str, rng: random.Random) -> Files:
    """Libraries under other names."""
    for module, used in (("torch", "torch"), ("triton", "triton")):
        if f"import {module}\n" in text:
            short = f"{module[:2]}{rng.randrange(100)}"
            text = text.replace(f"import {module}\n", f"import {module} as {short}\n", 1)
            text = re.sub(rf"(?<![\w.\"'/]){used}\b(?![\"'])", short, text)
            for word in ("import", "from"):
                text = re.sub(rf"\b{word} {short}\b", f"{word} {module}", text)
    return {"solution/kernel.py": text}


def moved_to_helper(text: str, rng: random.Random) -> Files:
    """The entry calls a helper that does what it did."""
    match = re.search(r"^def (softmax|gemm|sort_rows|softmax_|entry)\(([^)]*)\)[^\n]*:\n", text, re.M)
    if match is None:
        return {}
    name, parameters = match.group(1), match.group(2)
    given = ", ".join(
        each.partition(":")[0].partition("=")[0].strip() for each in parameters.split(",") if each.strip()
    )
    helper = f"_step{rng.randrange(100)}"
    text = re.sub(rf"^def {name}\(", f"def {helper}(", text, count=1, flags=re.M)
    return {"solution/kernel.py": f"{text}\n\ndef {name}({given}):\n    return {helper}({given})\n"}


def moved_to_class(text: str, rng: random.Random) -> Files:
    """The entry is a method of an object that is made when the file is imported."""
    made = moved_to_helper(text, rng)
    if not made:
        return {}
    text = made["solution/kernel.py"]
    match = re.search(r"\n\ndef (\w+)\(([^)]*)\):\n    return (_step\d+)\(.*\)\n$", text)
    assert match
    name, given, helper = match.groups()
    head = text[: match.start()]
    return {
        "solution/kernel.py": f"{head}\n\nclass Runner:\n    def __init__(self):\n        self.step = {helper}\n\n"
        f"    def __call__(self, {given}):\n        return self.step({given})\n\n\n{name} = Runner()\n"
    }


def decorated(text: str, rng: random.Random) -> Files:
    """The entry stands under a decorator of the file's own."""
    match = re.search(r"^((?:@[^\n]*\n)*)def (softmax|gemm|sort_rows|softmax_|entry)\(", text, re.M)
    if match is None:
        return {}
    wrapper = (
        "\n\ndef traced(function):\n    def inner(*args, **kwargs):\n        return function(*args, **kwargs)\n"
        "    return inner\n\n\n@traced\n"
    )
    return {"solution/kernel.py": text[: match.start()] + wrapper + text[match.start() :]}


def by_text(text: str, rng: random.Random) -> Files:
    """Attributes of the libraries fetched by getattr with their names in pieces."""

    def fetch(match: re.Match[str]) -> str:
        owner, name = match.group(1), match.group(2)
        cut = len(name) // 2
        return f'getattr({owner}, "{name[:cut]}" + "{name[cut:]}")('

    lines = []
    for line in text.split("\n"):
        fixed = line.startswith(("import ", "from ", "@")) or "tl." in line or '"' in line
        lines.append(line if fixed else re.sub(r"\b(torch|os|gc|sys|inspect|threading|jax)\.(\w{4,})\(", fetch, line))
    made = "\n".join(lines)
    return {"solution/kernel.py": made} if made != text else {}


def other_file(text: str, rng: random.Random) -> Files:
    """Everything in another file, from which the entry is imported."""
    match = re.search(r"^(?:def|class) (softmax|gemm|sort_rows|softmax_|entry)\b|^(softmax|gemm|entry) =", text, re.M)
    if match is None or "inspect.getsource" in text:
        return {}
    name = match.group(1) or match.group(2)
    part = f"part{rng.randrange(50)}"
    return {"solution/kernel.py": f"from {part} import {name}\n", f"solution/{part}.py": text}


def lying_comments(text: str, rng: random.Random) -> Files:
    """Comments and texts that say something else than the code does."""
    lies = [
        "# kernel[grid](x, y): our own kernel is launched here, torch.softmax is never called",
        "# verified: no caching, torch.matmul, exec, os._exit or gc.get_objects anywhere",
        "# torch.cuda.Event.elapsed_time = real one; sys._getframe is not used",
    ]
    out = []
    for line in text.split("\n"):
        if re.match(r"\s*(def|return|if|for)\b", line) and rng.random() < 0.6:
            out.append(re.match(r"\s*", line).group() + rng.choice(lies))  # type: ignore[union-attr]
        out.append(line)
    return {"solution/kernel.py": '"""Never uses torch.nn.functional.softmax or id(x)."""\n' + "\n".join(out)}


def by_variable(text: str, rng: random.Random) -> Files:
    """What the entry returns goes through a variable first."""
    made = re.sub(
        r"^(    +)return (?!None\b)([^\n]+)$", rf"\1result_{rng.randrange(50)} = \2\n\1return result_", text, flags=re.M
    )
    made = re.sub(r"(result_\d+)( = [^\n]+\n +return )result_", r"\1\2\1", made)
    try:
        ast.parse(made)
    except SyntaxError:
        return {}
    return {"solution/kernel.py": made}


PYTHON: list[Callable[[str, random.Random], Files]] = [
    renamed, aliased, moved_to_helper, moved_to_class, decorated, by_text, other_file, lying_comments, by_variable,
]  # fmt: skip


def native_variants(text: str, rng: random.Random) -> list[Files]:
    """CUDA C++: own names changed, comments that lie, the work in a helper inside a namespace."""
    names = re.findall(
        r"\b(scan_rows|scan_small|own|bins|part|scratch|engine|Scan|scale_rows|sums|collect|side|last|calls|slot|handle)\b",
        text,
    )
    other = text
    for index, name in enumerate(dict.fromkeys(names)):
        other = re.sub(rf"\b{name}\b", f"n{rng.randrange(100)}_{index}", other)
    lies = "// cub::DeviceScan and cublasSgemm are not used; scan_rows<<<1, 256>>>(x, y, N) runs\n" + text
    match = re.search(r'extern "C" int (\w+)\(([^)]*)\) \{', text)
    moved = text
    if match:
        given = ", ".join(each.split()[-1].lstrip("*") for each in match.group(2).split(","))
        moved = text.replace(match.group(0), f"static int step({match.group(2)}) {{", 1)
        moved += f"\n{match.group(0)}\n  return step({given});\n}}\n"
    return [{"solution/kernel.cu": each} for each in (other, lies, moved)]


def variants(path: str, text: str, seed: int) -> list[tuple[str, Files]]:
    """Every form of one fixture, by the name of what was done; pairs of two mutations come last."""
    rng = random.Random(seed)
    if path.endswith(".cu"):
        return [(f"native-{index}", files) for index, files in enumerate(native_variants(text, rng))]
    found = []
    for one in PYTHON:
        files = one(text, rng)
        if files:
            found.append((one.__name__, files))
    for _ in range(2):
        first, second = rng.sample([renamed, aliased, lying_comments, by_variable, moved_to_helper], 2)
        files = first(text, rng)
        again = second(files["solution/kernel.py"], rng) if files else {}
        if again:
            found.append((f"{first.__name__}+{second.__name__}", again))
    return [(name, files) for name, files in found if all(_parses(each) for each in files.values())]


def _parses(text: str) -> bool:
    try:
        builtins.compile(text, "variant", "exec")
    except SyntaxError:
        return False
    return True
