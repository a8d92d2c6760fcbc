"""Inline PTX: each `asm` statement becomes C++ statements, one for each instruction.

Instructions and their operands: PTX ISA. An instruction that is not in these tables is refused by its name.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import tree_sitter


class UnknownInstruction(Exception):
    """An instruction for which the runtime has no function."""


_SPECIAL = {
    "laneid": "emu::lane()", "warpid": "(emu::machine.rank / 32)", "nwarpid": "32u", "smid": "0u", "nsmid": "132u",
    "lanemask_eq": "emu::ptx::special_lanemask(0)", "lanemask_lt": "emu::ptx::special_lanemask(-1)",
    "lanemask_gt": "emu::ptx::special_lanemask(1)",
    "lanemask_le": "(emu::ptx::special_lanemask(-1) | emu::ptx::special_lanemask(0))",
    "lanemask_ge": "(emu::ptx::special_lanemask(1) | emu::ptx::special_lanemask(0))",
    "clock": "unsigned(clock64())", "clock64": "clock64()", "globaltimer": "clock64()",
    **{f"{word}.{axis}": f"{name}.{axis}" for axis in "xyz" for word, name in
       (("tid", "threadIdx"), ("ntid", "blockDim"), ("ctaid", "blockIdx"), ("nctaid", "gridDim"))},
}  # fmt: skip
_TYPES = {
    "b8": "uint8_t", "u8": "uint8_t", "s8": "int8_t", "b16": "uint16_t", "u16": "uint16_t", "s16": "int16_t",
    "b32": "uint32_t", "u32": "uint32_t", "s32": "int32_t", "b64": "uint64_t", "u64": "uint64_t", "s64": "int64_t",
    "f32": "float", "f64": "double", "pred": "bool",
}  # fmt: skip
_KINDS = {"f16": "F16", "bf16": "BF16", "tf32": "TF32", "s8": "S8", "u8": "U8", "e4m3": "FP8E4M3", "e5m2": "FP8E5M2"}
_COMPARE = {
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "lo": "<",
    "ls": "<=",
    "hi": ">",
    "hs": ">=",
}
_SITE = "emu::Site::here()"
# What changes a result, and what nothing stands for here: instructions with these words, and those of 64 bits.
_IGNORED = {"sat", "satfinite", "relu", "rz", "rm", "rp", "NaN", "xorsign", "cc", "or", "and", "xor"}
_ONE_WIDTH = {
    "popc", "clz", "brev", "bfi", "prmt", "lop3", "ex2", "lg2", "rsqrt", "sqrt", "tanh", "sin", "cos",
}  # fmt: skip

_HALVES = {"b32": ("uint32_t", "uint16_t", 16), "b64": ("uint64_t", "uint32_t", 32)}

Build = Callable[["_Statement", list[str], list[str]], str]


@dataclass
class _Statement:
    """One asm statement: the C++ expressions of its operands, outputs first."""

    operands: Sequence[str]

    def value(self, text: str) -> str:
        """Return the C++ expression of one PTX operand."""
        text = text.strip()
        special = re.fullmatch(r"%%?([a-z_]+[\w.]*)", text)
        if special:
            if special.group(1) not in _SPECIAL:
                raise UnknownInstruction(f"special register %{special.group(1)}")
            return _SPECIAL[special.group(1)]
        floating = re.fullmatch(r"0[fF]([0-9a-fA-F]{8})", text)
        if floating:
            return f"emu::as<float>(0x{floating.group(1)}u)"
        return re.sub(r"%(\d+)", lambda found: f"({self.operands[int(found.group(1))]})", text)

    def group(self, text: str) -> list[str]:
        """Return the expressions of `{a, b}`, or of a single operand."""
        return [self.value(part) for part in text.strip().strip("{}").split(",")]

    def address(self, text: str, space: str) -> str:
        """Return the pointer that `[a]` or `[a + 16]` stands for in a space of memory."""
        inside = self.value(text.strip().strip("[]"))
        return f"emu::ptx::{'shared' if space == 'shared' else 'global'}({inside})"


def translate_asm(node: tree_sitter.Node, text: bytes) -> bytes:
    """Return the statement that stands for an `asm` expression; raise `UnknownInstruction`."""
    template, operands = _parts(node, text)
    statement = _Statement(operands)
    body = re.sub(r"//[^\n]*|/\*.*?\*/", " ", template, flags=re.DOTALL)
    lines = [_instruction(statement, part) for part in _split(body)]
    made = f"do {{ {' '.join(lines)} }} while (0)".replace("\n", " ").encode()
    return made + b"\n" * text.count(b"\n", node.start_byte, node.end_byte)


def _parts(node: tree_sitter.Node, text: bytes) -> tuple[str, list[str]]:
    template = ""
    operands = []
    for child in node.children:
        if child.type in ("string_literal", "concatenated_string"):
            for literal in [child] if child.type == "string_literal" else child.named_children:
                if literal.type == "string_literal":
                    template += ast.literal_eval(text[literal.start_byte : literal.end_byte].decode(errors="replace"))
        elif child.type in ("gnu_asm_output_operand_list", "gnu_asm_input_operand_list"):
            for operand in child.named_children:
                raw = text[operand.start_byte : operand.end_byte].decode(errors="replace")
                operands.append(raw[raw.index("(") + 1 : raw.rindex(")")])
    return template, operands


def _split(body: str) -> list[str]:
    """Instructions without the braces of scopes; braces around vectors follow an operand and stay."""
    body = re.sub(r"^\s*\{(?=\s*(?:\.reg|[a-z@]))|\}\s*$", " ", body)
    return [part.strip() for part in body.split(";") if part.strip()]


def _arguments(text: str) -> list[str]:
    return [part.strip() for part in re.findall(r"\{[^}]*\}|\[[^\]]*\]|[^,\s][^,]*", text) if part.strip()]


def _instruction(statement: _Statement, text: str) -> str:
    declared = re.fullmatch(r"\.reg\s+\.(\w+)\s+(.+)", text, re.DOTALL)
    if declared:
        kind = _TYPES.get(declared.group(1))
        if kind is None or "<" in declared.group(2):
            raise UnknownInstruction(text)
        return f"{kind} {', '.join(f'{name.strip()} = 0' for name in declared.group(2).split(','))};"
    guard = re.match(r"@(!?)(%?\w+)\s+", text)
    condition = ""
    if guard:
        condition = f"if ({guard.group(1)}{statement.value(guard.group(2))}) "
        text = text[guard.end() :]
    opcode, _, rest = text.partition(" ") if " " in text else (text.partition("\t")[0], "", text.partition("\t")[2])
    words = opcode.strip().split(".")
    build = _BUILDERS.get(words[0])
    made = build(statement, words, _arguments(rest)) if build is not None else ""
    if not made:
        raise UnknownInstruction(opcode.strip())
    return f"{condition}{{ {made} }}"


def _assign(expression: str) -> Build:
    """A builder for `op d, a, b, c`: `{a}`, `{b}`, `{c}` in `expression` are the operands, `{type}` their type."""

    def build(statement: _Statement, words: list[str], arguments: list[str]) -> str:
        kind = _TYPES.get(words[-1])
        wide = words[0] in _ONE_WIDTH and not words[-1].endswith("32")
        if kind is None or wide or not _IGNORED.isdisjoint(words[1:]):  # packed halves and the like
            return ""
        values = dict(zip("abcd", map(statement.value, arguments[1:])))
        return _moved(statement.value(arguments[0]), expression.format(type=kind, **values))

    return build


def _typed(operator: str) -> Build:
    return _assign("({type})(({type})({a}) " + operator + " ({type})({b}))")


def _mov(statement: _Statement, words: list[str], arguments: list[str]) -> str:
    to, value = arguments
    if "{" in to + value and (words[-1] not in _HALVES or (to + value).count(",") != 1):
        return ""
    if value.startswith("{"):
        low, high = statement.group(value)
        whole, part, bits = _HALVES[words[-1]]
        joined = " | ".join(
            f"({whole})emu::ptx::held<{part}>({each}) << {shift}" for each, shift in ((low, 0), (high, bits))
        )
        return _moved(statement.value(to), joined)
    if to.startswith("{"):
        low, high = statement.group(to)
        whole, part, bits = _HALVES[words[-1]]
        parts = f"{_moved(low, f'{part}(emu_whole)')} {_moved(high, f'{part}(emu_whole >> {bits})')}"
        return f"const {whole} emu_whole = emu::ptx::held<{whole}>({statement.value(value)}); {parts}"
    return _moved(statement.value(to), statement.value(value))


def _moved(to: str, value: str) -> str:
    """The bits of `value` in `to`, where one is an integer and the other a floating value of the same size."""
    return f"emu::ptx::move({to}, {value});"


def _memory_words(words: list[str]) -> tuple[str, int, str]:
    space = "shared" if "shared" in words or "shared::cta" in words else "global"
    if "shared::cluster" in words or "param" in words:
        raise UnknownInstruction(".".join(words))
    count = 4 if "v4" in words else 2 if "v2" in words else 1
    kind = _TYPES.get(words[-1])
    if kind is None:
        raise UnknownInstruction(".".join(words))
    return space, count, kind


def _load(statement: _Statement, words: list[str], arguments: list[str]) -> str:
    space, _, kind = _memory_words(words)
    targets = statement.group(arguments[0])
    volatile = "volatile " if {"volatile", "acquire", "relaxed"} & set(words) else ""
    at = statement.address(arguments[1], space)
    loads = " ".join(_moved(target, f"{kind}(emu_at[{i}])") for i, target in enumerate(targets))
    return f"const {volatile}{kind}* emu_at = (const {volatile}{kind}*){at}; {loads}"


def _store(statement: _Statement, words: list[str], arguments: list[str]) -> str:
    space, _, kind = _memory_words(words)
    volatile = "volatile " if {"volatile", "release", "relaxed"} & set(words) else ""
    fence = "__threadfence(); " if "release" in words else ""
    at = statement.address(arguments[0], space)
    stores = " ".join(_moved(f"emu_at[{i}]", value) for i, value in enumerate(statement.group(arguments[1])))
    return f"{fence}{volatile}{kind}* emu_at = ({volatile}{kind}*){at}; {stores}"


def _atomic(statement: _Statement, words: list[str], arguments: list[str]) -> str:
    space = "shared" if "shared" in words else "global"
    name = {
        "add": "Add",
        "min": "Min",
        "max": "Max",
        "and": "And",
        "or": "Or",
        "xor": "Xor",
        "exch": "Exch",
        "cas": "CAS",
    }
    operation = next((name[word] for word in words if word in name), None)
    kind = {
        "u32": "unsigned", "b32": "unsigned", "s32": "int", "f32": "float", "f64": "double",
        "u64": "unsigned long long", "b64": "unsigned long long",
    }.get(words[-1])  # fmt: skip
    if operation is None or kind is None or "v2" in words or "v4" in words:
        return ""
    target = f"{statement.value(arguments.pop(0))} = " if words[0] == "atom" else ""
    values = ", ".join(f"({kind})({statement.value(value)})" for value in arguments[1:])
    return f"{target}atomic{operation}(({kind}*){statement.address(arguments[0], space)}, {values});"


def _cp(statement: _Statement, words: list[str], arguments: list[str]) -> str:
    if words[1:2] != ["async"] or "bulk" in words or "mbarrier" in words:
        return ""
    if "commit_group" in words:
        return "emu::commit_copies();"
    if "wait_group" in words:
        return f"emu::wait_copies({statement.value(arguments[0])});"
    if "wait_all" in words:
        return "emu::commit_copies(); emu::wait_copies(0);"
    to, source = statement.address(arguments[0], "shared"), statement.address(arguments[1], "global")
    size = statement.value(arguments[2])
    zeros = f"({size}) - ({statement.value(arguments[3])})" if len(arguments) > 3 else "0"
    return f"emu::copy_async({to}, {source}, {size}, {zeros});"


def _ldmatrix(statement: _Statement, words: list[str], arguments: list[str]) -> str:
    count = next((int(word[1:]) for word in words if word in ("x1", "x2", "x4")), 0)
    if not count or "m8n8" not in words or words[-1] != "b16":
        return ""
    targets = statement.group(arguments[0])
    transposed = "true" if "trans" in words else "false"
    moved = " ".join(f"{target} = emu_out[{i}];" for i, target in enumerate(targets))
    at = statement.address(arguments[1], "shared")
    return f"unsigned emu_out[{count}]; emu::ptx::ldmatrix<{count}, {transposed}>(emu_out, {at}, {_SITE}); {moved}"


def _mma(statement: _Statement, words: list[str], arguments: list[str]) -> str:
    shape = next((re.fullmatch(r"m16n8k(\d+)", word) for word in words if word.startswith("m16n8k")), None)
    types = [word for word in words if word in ("f32", "f16", "s32", *_KINDS)]
    if (
        words[1:2] != ["sync"]
        or shape is None
        or len(types) != 4
        or types[1] != types[2]
        or "satfinite" in words
        or any(word.startswith(("sp", "kind")) for word in words)
        or types[0] != types[3]
        or "row" not in words
    ):
        return ""
    kind = _KINDS.get(types[1])
    targets, a, b, c = (statement.group(argument) for argument in arguments)
    if kind is None or len(a) != 2 * len(b):
        return ""
    half = types[0] == "f16"
    sum_type = "unsigned" if half else {"f32": "float", "s32": "int"}[types[0]]
    name = "mma_half" if half else "mma"
    moved = " ".join(f"{target} = emu_d[{i}];" for i, target in enumerate(targets))
    return (
        f"unsigned emu_a[] = {{{', '.join(f'emu::as<unsigned>({value})' for value in a)}}}, "
        f"emu_b[] = {{{', '.join(f'emu::as<unsigned>({value})' for value in b)}}}; "
        f"{sum_type} emu_c[] = {{{', '.join(f'({sum_type})({value})' for value in c)}}}, emu_d[{len(targets)}]; "
        f"emu::ptx::{name}<emu::ptx::{kind}, {len(b)}>(emu_d, emu_a, emu_b, emu_c, {_SITE}); {moved}"
    )


def _setp(statement: _Statement, words: list[str], arguments: list[str]) -> str:
    kind = _TYPES.get(words[2]) if len(words) == 3 else None
    if kind is None or words[1] not in _COMPARE:
        return ""
    to, a, b = map(statement.value, arguments)
    return f"{to} = ({kind})({a}) {_COMPARE[words[1]]} ({kind})({b});"


def _barrier(statement: _Statement, words: list[str], arguments: list[str]) -> str:
    if "cluster" in words:
        return ""
    values = [statement.value(argument) for argument in arguments]
    if "arrive" in words:
        return f"emu::wait_named({_SITE}, {values[0]}, {values[1]}, true);"
    if "sync" not in words:
        return ""
    if values == ["0"]:
        return "__syncthreads();"
    return f"emu::wait_named({_SITE}, {values[0]}, {values[1] if len(values) > 1 else '0'}, false);"


def _cvt(statement: _Statement, words: list[str], arguments: list[str]) -> str:
    to = statement.value(arguments[0])
    values = [statement.value(argument) for argument in arguments[1:]]
    name = ".".join(word for word in words if word not in ("satfinite", "relu"))
    if "satfinite" in words or "relu" in words:
        return ""
    made = {
        "cvt.rn.f16x2.f32": "emu::ptx::pack_half({0}, {1})", "cvt.rn.bf16x2.f32": "emu::ptx::pack_bf16({0}, {1})",
        "cvt.rna.tf32.f32": "emu::ptx::round_tf32({0})", "cvt.f32.f16": "emu::half_bits_to_float({0})",
        "cvt.rn.f16.f32": "emu::float_to_half_bits({0})", "cvt.rn.bf16.f32": "emu::float_to_bfloat16_bits({0})",
        "cvt.rni.s32.f32": "__float2int_rn({0})", "cvt.rzi.s32.f32": "__float2int_rz({0})",
        "cvt.rn.f32.s32": "float(int({0}))", "cvt.rn.f32.u32": "float(unsigned({0}))",
    }.get(name)  # fmt: skip
    return f"{to} = {made.format(*values)};" if made else ""


def _cvta(statement: _Statement, words: list[str], arguments: list[str]) -> str:
    to, value = map(statement.value, arguments)
    if "shared" in words:
        call = (
            "__cvta_generic_to_shared((const void*)(uintptr_t)({}))"
            if "to" in words
            else "(uint64_t)__cvta_shared_to_generic({})"
        )
        return f"{to} = {call.format(value)};"
    return f"{to} = {value};"


def _nothing(statement: _Statement, words: list[str], arguments: list[str]) -> str:
    return "(void)0;"


def _prefetch(statement: _Statement, words: list[str], arguments: list[str]) -> str:
    return "" if "tensormap" in words else "(void)0;"


def _fence(statement: _Statement, words: list[str], arguments: list[str]) -> str:
    return "" if "proxy" in words or "mbarrier_init" in words else "__threadfence();"


_BUILDERS: dict[str, Build] = {
    "mov": _mov, "ld": _load, "ldu": _load, "st": _store, "atom": _atomic, "red": _atomic, "cp": _cp,
    "ldmatrix": _ldmatrix, "mma": _mma, "setp": _setp, "bar": _barrier, "barrier": _barrier, "cvt": _cvt, "cvta": _cvta,
    "membar": _fence, "fence": _fence, "nanosleep": lambda s, w, a: "__nanosleep(0);", "prefetch": _prefetch,
    "pragma": _nothing, "trap": lambda s, w, a: "__trap();", "exit": lambda s, w, a: "",
    "add": _typed("+"), "sub": _typed("-"), "and": _typed("&"), "or": _typed("|"), "xor": _typed("^"),
    "not": _assign("~({type})({a})"), "neg": _assign("-({type})({a})"), "abs": _assign("std::abs(({type})({a}))"),
    "min": _assign("min(({type})({a}), ({type})({b}))"), "max": _assign("max(({type})({a}), ({type})({b}))"),
    "shl": _assign("({b}) > 31 && sizeof({type}) == 4 ? 0 : ({type})({a}) << ({b})"),
    "shr": _assign("({type})({a}) >> (({b}) > 31 && sizeof({type}) == 4 ? 31 : ({b}))"),
    "fma": _assign("std::fma(({type})({a}), ({type})({b}), ({type})({c}))"),
    "prmt": _assign("__byte_perm({a}, {b}, {c})"), "lop3": _assign("emu::ptx::lop3({a}, {b}, {c}, {d})"),
    "popc": _assign("__popc({a})"), "clz": _assign("__clz({a})"), "brev": _assign("__brev({a})"),
    "bfi": _assign("emu::ptx::bfi({a}, {b}, {c}, {d})"),
    "dp4a": _assign("__dp4a(({type})({a}), ({type})({b}), ({type})({c}))"),
    "ex2": _assign("exp2f({a})"), "lg2": _assign("log2f({a})"), "rcp": _assign("({type})1 / ({type})({a})"),
    "rsqrt": _assign("rsqrtf({a})"), "sqrt": _assign("sqrtf({a})"), "tanh": _assign("tanhf({a})"),
    "sin": _assign("sinf({a})"), "cos": _assign("cosf({a})"),
}  # fmt: skip


def _bfe(statement: _Statement, words: list[str], arguments: list[str]) -> str:
    to, *values = map(statement.value, arguments)
    return f"{to} = emu::ptx::bfe_{words[-1]}({', '.join(values)});" if words[-1] in ("u32", "s32") else ""


def _mul(statement: _Statement, words: list[str], arguments: list[str]) -> str:
    to, a, b, *c = map(statement.value, arguments)
    kind = _TYPES.get(words[-1])
    if kind is None:
        return ""
    plus = f" + ({kind})({c[0]})" if c else ""
    if "wide" in words:
        wide = {"u32": "uint64_t", "s32": "int64_t", "u16": "uint32_t", "s16": "int32_t"}.get(words[-1])
        return f"{to} = ({wide})({kind})({a}) * ({kind})({b}){plus.replace(kind, str(wide), 1)};" if wide else ""
    if "hi" in words:
        function = {"u32": "__umulhi", "s32": "__mulhi"}.get(words[-1])
        return f"{to} = {function}({a}, {b}){plus};" if function else ""
    return f"{to} = ({kind})({a}) * ({kind})({b}){plus};"


_BUILDERS |= {"bfe": _bfe, "mul": _mul, "mad": _mul}
