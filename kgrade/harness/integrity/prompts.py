"""What a task's prompt says in words about libraries and precision; only plain sentences are understood."""

from __future__ import annotations

import re

_SENTENCE = re.compile(r"(?<=[.!?;:])\s+|\n\s*\n|\n\s*[-*]\s")
_LIBRARY = re.compile(r"\b(torch|pytorch|cublas\w*|cudnn|cub|thrust|librar\w+|vendor|jax|xla|aten)\b", re.I)
_LEAVES = re.compile(
    r"\b(left to|leave\b.{0,60}\bto|allowed|permitted|accepted|welcome|is fine|are fine|"
    r"(may|can) (be )?(used?|call|come|delegated?|done|go|stay|remain))\b",
    re.I | re.S,
)
_REFUSES = re.compile(
    r"\b(not|no|never|without|forbidden|prohibited|disallowed|banned|rejected|except|neither|nor|n't|only for)\b", re.I
)
_WORK = {
    "matmul": re.compile(r"\b(gemms?|matmuls?|matrix (product|multipl\w+)|products?|projections?|linear)\b", re.I),
    "convolution": re.compile(r"\bconv(olution)?s?\d?d?\b", re.I),
    "sort": re.compile(r"\b(sort\w*|top-?k|argsort)\b", re.I),
    "scan": re.compile(r"\b(scans?|cumsum|prefix sums?)\b", re.I),
    "softmax": re.compile(r"\bsoftmax\b", re.I),
    "norm": re.compile(r"\b\w*norm(ali[sz]ation)?\b", re.I),
    "attention": re.compile(r"\b(attention|sdpa)\b", re.I),
    "fft": re.compile(r"\bffts?\b", re.I),
}
_TF32 = re.compile(r"\btf32\b", re.I)
_WHOLE = re.compile(r"\b(ieee|true fp32|full (fp32|float32|single)[\w -]{0,12}precision|strict fp32)\b", re.I)


def left_to_libraries(prompt: str) -> frozenset[str]:
    """Return the families of work of which a sentence says that a library may do them, and nothing else."""
    found: set[str] = set()
    for sentence in _sentences(prompt):
        if _LIBRARY.search(sentence) and _LEAVES.search(sentence) and not _REFUSES.search(sentence):
            found |= {family for family, words in _WORK.items() if words.search(sentence)}
    return frozenset(found)


def forbids_tf32(prompt: str) -> bool:
    """Whether a sentence names TF32 and refuses it, or asks for IEEE single precision."""
    return any(
        (_TF32.search(sentence) and _REFUSES.search(sentence)) or _WHOLE.search(sentence)
        for sentence in _sentences(prompt)
    )


def _sentences(prompt: str) -> list[str]:
    return [" ".join(each.split()) for each in _SENTENCE.split(prompt)]
