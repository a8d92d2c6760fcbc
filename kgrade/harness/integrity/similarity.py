"""How alike two programs are, whatever their names are: winnowing over normalised tokens.

Schleimer, Wilkerson and Aiken, "Winnowing: Local Algorithms for Document Fingerprinting", SIGMOD 2003: of every window
of W consecutive hashes of K tokens the smallest is kept, so that any common run of W + K - 1 tokens is found.
"""

from __future__ import annotations

import io
import keyword
import re
import tokenize
import zlib
from collections import deque
from collections.abc import Mapping
from functools import lru_cache

GRAM = 12
WINDOW = 8
LEAST = 12
_MOST_BYTES = 2 << 20
_MOST_KEPT = 8192
_TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|[A-Za-z_]\w*|\d[\w.]*|[^\s\w]')
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_KEPT = frozenset(keyword.kwlist) | frozenset(
    [
        "torch",
        "tl",
        "triton",
        "jnp",
        "jax",
        "pl",
        "nl",
        "load",
        "store",
        "dot",
        "exp",
        "sum",
        "max",
        "where",
        "sqrt",
        "zeros",
        "empty",
        "arange",
        "program_id",
        "log",
        "softmax",
        "matmul",
        "mean",
        "rsqrt",
        "abs",
        "float",
        "int",
        "half",
        "if",
        "else",
        "for",
        "while",
        "return",
        "void",
        "const",
        "__global__",
        "__device__",
        "__shared__",
        "blockIdx",
        "threadIdx",
        "gelu",
        "relu",
        "sigmoid",
        "view",
        "reshape",
        "transpose",
        "cat",
        "stack",
        "einsum",
        "mm",
        "bmm",
        "conv2d",
        "layer_norm",
        "sort",
        "topk",
        "cumsum",
    ]
)


def tokens(path: str, data: bytes) -> list[str]:
    """The tokens of a file; the author's names become one letter, numbers and strings one sign, comments nothing."""
    text = data[:_MOST_BYTES].decode("utf-8", "replace")
    return _python(text) if path.endswith(".py") else _plain(_COMMENT.sub(" ", text))


def _python(text: str) -> list[str]:
    found: list[str] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.NAME:
                found.append(token.string if token.string in _KEPT else "v")
            elif token.type == tokenize.OP:
                found.append(token.string)
            elif token.type == tokenize.NUMBER:
                found.append("0")
            elif token.type == tokenize.STRING and found and found[-1] not in ("", "v:"):
                found.append("s")
    except (tokenize.TokenError, SyntaxError, IndentationError, RecursionError):
        return _plain(text)
    return found


def _plain(text: str) -> list[str]:
    return [_normal(match.group()) for match in _TOKEN.finditer(text)]


def _normal(token: str) -> str:
    if token[0] in "\"'":
        return "s"
    if token[0].isdigit():
        return "0"
    return token if token in _KEPT or not (token[0].isalpha() or token[0] == "_") else "v"


def fingerprints(found: list[str]) -> frozenset[int]:
    """The winnowed hashes of a list of tokens."""
    hashes = [zlib.crc32("\x1f".join(found[at : at + GRAM]).encode()) for at in range(len(found) - GRAM + 1)]
    kept: set[int] = set()
    window: deque[int] = deque()
    for at, value in enumerate(hashes):
        while window and hashes[window[-1]] >= value:
            window.pop()
        window.append(at)
        if window[0] <= at - WINDOW:
            window.popleft()
        if at >= WINDOW - 1:
            kept.add(hashes[window[0]])
    return frozenset(kept) if len(hashes) >= WINDOW else frozenset(hashes)


def of_files(files: Mapping[str, bytes]) -> frozenset[int]:
    """The fingerprints of all source files together; each file's are worked out once and kept."""
    return frozenset().union(*(_of_text(path.endswith(".py"), data) for path, data in sorted(files.items())))


@lru_cache(maxsize=_MOST_KEPT)
def _of_text(is_python: bool, data: bytes) -> frozenset[int]:
    return fingerprints(tokens("a.py" if is_python else "a.cu", data))


def contained(part: frozenset[int], whole: frozenset[int]) -> float:
    """The share of `part` that stands in `whole`, 0 to 1; 0 where `part` is too short to say anything."""
    return len(part & whole) / len(part) if len(part) >= LEAST else 0.0
