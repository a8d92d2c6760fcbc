"""What a submission asks of PyTorch's `load_inline` and `load`: sources, where they stand in its files, flags."""

from __future__ import annotations

import ast
import os
import re
import sys
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

Texts = Union[None, str, Sequence[str]]
Place = Tuple[str, int]  # a file, and the line of it on which a text begins
HEADERS = (".h", ".hpp", ".cuh", ".inl")
IMPLICIT = "#include <torch/types.h>\n#include <cuda.h>\n#include <cuda_runtime.h>\n"
ALIKE = 0.3  # share of the lines of a text that must stand in a string which it may have been made from


class Piece(NamedTuple):
    """CUDA source that nvcc is given: the path of its file, or a text and where it stands, if that is known."""

    path: str
    text: str
    place: Optional[Place]


class Asked(NamedTuple):
    """One extension: `sources` are texts by path, `places` says for some in which file and line of it they begin.

    `pieces` are the CUDA sources as PyTorch gives them to nvcc, `cuda_flags` what nvcc is told beyond PyTorch's own.
    """

    name: str
    sources: Dict[str, str]
    places: Dict[str, Place]
    pieces: List[List[Piece]]
    flags: List[str]
    cuda_flags: List[str]
    includes: List[str]
    is_python_module: bool


def install(make: Callable[[Asked], Any]) -> None:
    """Take the place of PyTorch's own functions: `make` returns what they return."""
    from torch.utils import cpp_extension

    def load_inline(
        name: str,
        cpp_sources: Texts,
        cuda_sources: Texts = None,
        functions: Union[str, Sequence[str], Dict[str, str], None] = None,
        extra_cflags: Optional[Sequence[str]] = None,
        extra_cuda_cflags: Optional[Sequence[str]] = None,
        extra_include_paths: Texts = None,
        is_python_module: bool = True,
        with_pytorch_error_handling: bool = True,
        no_implicit_headers: bool = False,
        **others: Any,
    ) -> Any:
        """Return the extension made of texts, with bindings for `functions`."""
        caller = sys._getframe(1).f_code.co_filename
        host, device = _joined(cpp_sources), _joined(cuda_sources)
        places = {"main.cpp": place_of(host, caller), "cuda.cu": place_of(device, caller)}
        host += _bindings(functions, with_pytorch_error_handling)
        sources = {path: text for path, text in (("main.cpp", host), ("cuda.cu", device)) if text.strip()}
        pieces = [Piece("cuda.cu", text, place_of(text, caller)) for text in _listed(cuda_sources)]
        implicit = [] if no_implicit_headers else [Piece("implicit headers", IMPLICIT, None)]
        return make(
            Asked(
                name,
                sources,
                {path: (os.path.basename(each[0]), each[1]) for path, each in places.items() if each},
                [[*implicit, *pieces]] if pieces else [],
                [*(extra_cflags or ()), *(extra_cuda_cflags or ())],
                list(extra_cuda_cflags or ()),
                [os.path.abspath(path) for path in _listed(extra_include_paths)],
                is_python_module,
            )
        )

    def load(
        name: str,
        sources: Texts,
        extra_cflags: Optional[Sequence[str]] = None,
        extra_cuda_cflags: Optional[Sequence[str]] = None,
        extra_include_paths: Texts = None,
        is_python_module: bool = True,
        **others: Any,
    ) -> Any:
        """Return the extension made of files; headers beside them belong to it."""
        caller = sys._getframe(1).f_code.co_filename
        paths = [os.path.abspath(path) for path in _listed(sources)]
        root = os.path.commonpath([os.path.dirname(path) for path in paths])
        texts, pieces = {}, []
        for folder in sorted({os.path.dirname(path) for path in paths}):
            for file in sorted(os.listdir(folder)):
                path = os.path.join(folder, file)
                if path in paths or file.endswith(HEADERS):
                    with open(path, encoding="utf-8", errors="replace") as opened:
                        texts[os.path.relpath(path, root)] = text = opened.read()
                    if path.endswith(".cu"):
                        pieces.append([Piece(path, text, place_of(text, caller))])
        return make(
            Asked(
                name,
                texts,
                {},
                pieces,
                [*(extra_cflags or ()), *(extra_cuda_cflags or ())],
                list(extra_cuda_cflags or ()),
                [os.path.abspath(path) for path in _listed(extra_include_paths)],
                is_python_module,
            )
        )

    cpp_extension.load_inline = load_inline
    cpp_extension.load = load


def place_of(text: str, caller: str) -> Optional[Place]:
    """Return the file and the line of it on which `text` begins; None where no string of the submission is alike.

    It is looked for in the file of the caller and in what lies beside it: as it stands, else as a string that has as
    many lines and shares some of them, because a template or an escape has changed the others.
    """
    if not text.strip():
        return None
    for file in _beside(caller):
        try:
            with open(file, encoding="utf-8") as opened:
                source = opened.read()
        except (OSError, UnicodeDecodeError):
            continue
        at = source.find(text)
        line = source.count("\n", 0, at) + 1 if at >= 0 else _line_of_string(text, source)
        if line is not None:
            return file, line
    return None


def _beside(caller: str) -> Iterator[str]:
    yield caller
    folder = os.path.dirname(caller)
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    for name in names:
        if name.endswith((".py", ".cu", ".cuh")) and os.path.join(folder, name) != caller:
            yield os.path.join(folder, name)


def _line_of_string(text: str, source: str) -> Optional[int]:
    """Return the line on which the string that is most like `text` begins, among those with as many lines."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    lines, wanted = source.split("\n"), text.split("\n")
    best, most = None, ALIKE
    for node in ast.walk(tree):
        if not isinstance(node, ast.JoinedStr) and not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            continue
        first, last = node.lineno - 1, node.end_lineno or node.lineno
        first += lines[first].rstrip().endswith("\\")  # the first line of the string is continued on the next
        if last - first != len(wanted):
            continue
        shared = sum(_bare(one) == _bare(other) for one, other in zip(lines[first:last], wanted) if other.strip())
        share = shared / max(1, sum(1 for line in wanted if line.strip()))
        if share > most:
            best, most = first + 1, share
    return best


def _bare(line: str) -> str:
    """Return a line as a template and what is made of it have it alike."""
    return line.replace("{{", "{").replace("}}", "}").strip()


def _listed(value: Texts) -> List[str]:
    return [value] if isinstance(value, str) else list(value or ())


def _joined(texts: Texts) -> str:
    return "\n".join(_listed(texts))


def _bindings(functions: Union[str, Sequence[str], Dict[str, str], None], handled: bool) -> str:
    if functions is None:
        return ""
    named = functions if isinstance(functions, dict) else {each: each for each in _listed(functions)}
    lines = ["", "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {"]
    for function, text in named.items():
        called = "torch::wrap_pybind_function({})".format(function) if handled else function
        lines.append("m.def({}, {}, {});".format(_quoted(function), called, _quoted(text)))
    return "\n".join([*lines, "}", ""])


def _quoted(text: str) -> str:
    return '"{}"'.format(re.sub(r'(["\\])', r"\\\1", text).replace("\n", "\\n"))
