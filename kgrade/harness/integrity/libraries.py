"""Calls of libraries and builtins in Python host code: what comes out, and which facts they leave."""

from __future__ import annotations

import ast
import base64
import re
from typing import TYPE_CHECKING

from kgrade.harness.integrity import attributes, calls, expressions, operators, standard, templates, vocabulary
from kgrade.harness.integrity.model import NOTHING
from kgrade.harness.integrity.values import ANY, IMPORT, UNKNOWN, Frame, Value, Walk, derived, merge, place

if TYPE_CHECKING:
    from kgrade.harness.integrity.calls import Arguments

_PURE = ("builtins.", "math.", "operator.", "functools.", "itertools.", "typing.", "dataclasses.", "os.path.",
         "collections.", "warnings.", "logging.", "json.", "re.", "string.", "textwrap.", "enum.", "abc.",
         "copy.")  # fmt: skip

_OWN_PROCESS = re.compile(r"/proc/(self|\d+)/(cmdline|environ|stat|status|comm|exe|task)\b")
"""Files in which a process tells who it is and who started it."""

_SEARCHES = {"glob", "iglob", "rglob", "iterdir", "walk", "listdir", "scandir"}
"""Functions that find files which nobody has named."""

_POOLED = ("().map", "().imap", "().imap_unordered", "().starmap")

_WITHOUT_TENSORS = [["torch", part] for part in ("cuda", "backends", "utils", "library", "version", "finfo", "iinfo")]
"""Parts of torch whose functions return no tensor."""


def call(walk: Walk, frame: Frame, node: ast.AST, name: str, function: Value, arguments: Arguments) -> Value:
    """What the library call `name` returns."""
    own = walk.registered.get(name.removesuffix(".default"))
    if own is not None:
        return calls.invoke(walk, frame, node, own, arguments)
    reader = standard.READERS.get(name)
    if reader is not None:
        return reader(walk, frame, node, name, arguments)
    if name.startswith("tensor."):
        receiver = Value(tags=function.tags, const=function.const)
        values = arguments
        if not function.tags and arguments.values and function.const is UNKNOWN:
            receiver = arguments.values[0]
            values = calls.Arguments(arguments.values[1:], arguments.named)
        return method(walk, frame, node, name[7:], receiver, values)
    if name.startswith("layer:"):
        return compute(walk, frame, node, name[6:], [*arguments.all(), Value(tags=frozenset({"from:parameter"}))])
    language = calls.kernel_of(name)
    if language is not None or name in ("triton.autotune", "triton.heuristics"):
        given = arguments.first("fn")
        if any(each.startswith(("def:", "bound:")) for each in given.names):
            return calls.jit(walk, given, language or "triton")
        return Value(frozenset({name}))
    if name.endswith(_POOLED) and name.partition("()")[0] in vocabulary.SPAWNERS:
        walk.note(frame, "call", name, node)
        return _pooled(walk, frame, node, name, arguments)
    if name in vocabulary.PALLAS_CALLS:
        return _pallas(walk, frame, arguments)
    if name in vocabulary.BUILDERS:
        return _built(walk, frame, node, name, arguments)
    about = frozenset().union(*(value.tags for value in arguments.all())) if arguments.all() else NOTHING
    texts = [text for value in arguments.all() for text in calls.constant_text(value)]
    texts += [tag[5:] for tag in sorted(function.tags | about) if tag.startswith("path:")]
    about |= function.tags & {"found"}
    walk.note(frame, "call", name, node, about, detail=" ".join(texts)[:300])
    for handed in sorted(NOTHING.union(*(value.names for value in arguments.all())) & vocabulary.HANDED):
        walk.note(frame, "call", handed, node)
    if name in vocabulary.TRANSFORMS:
        return Value(arguments.first().names or frozenset({name}), arguments.first().tags)
    if name in vocabulary.COMPILERS:
        given = arguments.first()
        return Value(given.names or frozenset({name}), given.tags | {"compiled"})
    if name in vocabulary.GLOBAL_STATE:
        walk.note(frame, "state", name, node, detail=" ".join(texts)[:40])
    return _result(walk, frame, node, name, function, arguments)


def _result(walk: Walk, frame: Frame, node: ast.AST, name: str, function: Value, arguments: Arguments) -> Value:
    last = name.rpartition(".")[2]
    source = _source(name)
    if any(_OWN_PROCESS.search(tag) for tag in function.tags | arguments.first().tags if tag.startswith("path:")) or (
        isinstance(arguments.first().const, str) and _OWN_PROCESS.search(arguments.first().const)
    ):
        source = "caller"
    if source:
        about = {source} | (function.tags & {"caller", "environment"})
        about |= {f"env:{value.const}" for value in arguments.values[:1] if source == "environment"}
        return Value(frozenset({name + "()"}), frozenset(about), _decoded(name, arguments))
    if name in ("torch.cuda.CUDAGraph", "torch.cuda.graphs.CUDAGraph"):
        return Value(frozenset({"graph:" + place(frame.scope, node)}))
    if name in ("torch.cuda.graph", "torch.cuda.graphs.graph"):
        return Value(arguments.first("cuda_graph").names)
    if name == "torch.cuda.make_graphed_callables":
        return arguments.first()
    if "()." in name and "file" in function.tags:
        return Value(frozenset({name + "()"} if name.count(".") < 6 else ()), derived(*arguments.all()).tags | {"file"})
    if name.startswith(("torch.", "jax.", "numpy.", "cupy.", "optax.", "scipy.", "reference")):
        return _array(walk, frame, node, name, last, arguments)
    if name in ("pathlib.Path", "pathlib.PurePath", "pathlib.Path().with_name", "pathlib.Path().joinpath"):
        texts = {f"path:{text}" for value in arguments.all() for text in calls.constant_text(value)}
        return Value(frozenset({"pathlib.Path()"}), function.tags | texts)
    if name == "shutil.which":
        return Value(tags=frozenset(f"path:{text}" for value in arguments.all() for text in calls.constant_text(value)))
    if name.rpartition(".")[2] in _SEARCHES and name.startswith(("pathlib.", "glob.", "os.")):
        kept = frozenset({"pathlib.Path()"}) if name.startswith("pathlib.") else NOTHING
        return Value(kept, function.tags | derived(*arguments.all()).tags | {"found"})
    if name in ("pathlib.Path().resolve", "pathlib.Path().absolute"):
        return Value(frozenset({"pathlib.Path()"}), function.tags)
    if name.startswith(("os.path.", "glob.")):
        paths = frozenset(f"path:{text}" for value in arguments.all() for text in calls.constant_text(value))
        return Value(tags=derived(*arguments.all()).tags | function.tags | paths)
    if name.startswith("importlib.") or name in ("runpy.run_path", "imp.load_source"):
        return _file_as_module(walk, frame, node, arguments)
    if name.startswith(_PURE):
        return Value(tags=derived(*arguments.all()).tags | function.tags)
    if any(name == package or name.startswith(package + ".") for package in vocabulary.KERNEL_PACKAGES):
        return compute(walk, frame, node, name, arguments.all())
    walk.use(*arguments.all())
    for value in arguments.all():
        frame.written.update(value.buffers)
    called = frozenset({name + "()"}) if name.count(".") < 6 else NOTHING
    return Value(called, derived(*arguments.all()).tags | function.tags)


def _file_as_module(walk: Walk, frame: Frame, node: ast.AST, arguments: Arguments) -> Value:
    """A module made from a path: the task's reference, a file of the submission, or what came in before."""
    given = merge(*arguments.all()) if arguments.all() else ANY
    paths = [tag[5:] for tag in sorted(given.tags) if tag.startswith("path:")]
    paths += [text for value in arguments.all() for text in calls.constant_text(value)]
    named = {path.rpartition("/")[2].removesuffix(".py") for path in paths}
    if walk.reference is not None and walk.reference in named:
        walk.note(frame, "import", f"reference.{walk.reference}", node)
        return Value(frozenset({"reference"}), frozenset({"reference"}))
    for path in paths:
        if path.endswith(frame.scope.path):
            continue
        own = next((each for each in walk.trees if path.endswith(".py") and each.endswith(path.lstrip("./"))), None)
        if own is not None:
            attributes.load(walk, own)
            return Value(frozenset({"mod:" + own}))
    kept = frozenset(name for name in given.names if name.startswith(("mod:", "reference")))
    return Value(kept or frozenset({"importlib.made"}), given.tags)


def _decoded(name: str, arguments: Arguments) -> object:
    """What a constant in base64 says; anything else stays unknown."""
    text = arguments.first("s").const
    if (
        name.startswith("base64.")
        and "64" in name
        and isinstance(text, str | bytes)
        and len(text) < standard.MOST_EXECUTED
    ):
        try:
            return base64.b64decode(text)
        except ValueError:
            return UNKNOWN
    return UNKNOWN


def _source(name: str) -> str:
    if name in vocabulary.CALLERS:
        return "caller"
    if name in ("os.getenv", "os.environ.get", "os.environ.setdefault"):
        return "environment"
    if name.startswith("time.") or name.endswith("elapsed_time"):
        return "time"
    if name in vocabulary.LOADERS:
        return "file"
    if name in vocabulary.DECODERS:
        return "decoded"
    return ""


def _array(walk: Walk, frame: Frame, node: ast.AST, name: str, last: str, arguments: Arguments) -> Value:
    values = arguments.all()
    here = place(frame.scope, node) + (IMPORT if frame.setup and not frame.live else "")
    if name.startswith("torch.autograd.graph") or name.split(".")[:2] in _WITHOUT_TENSORS:
        return Value(frozenset({name + "()"}), NOTHING)
    if last in vocabulary.ALLOCATE_EMPTY | vocabulary.ALLOCATE_CONSTANT:
        _narrow(walk, frame, node, arguments)
    if last in vocabulary.ALLOCATE_EMPTY:
        return Value(tags=frozenset({f"alloc:{here}:empty"}))
    if last in vocabulary.ALLOCATE_CONSTANT:
        nan = any(value.const != value.const or "nan" in {n[-3:] for n in value.names} for value in values)
        return Value(tags=frozenset({f"alloc:{here}:{'nan' if nan else 'constant'}"}))
    if last in vocabulary.RANDOM:
        return Value(tags=frozenset({f"op:{here}", "random"}))
    if last in ("is_tensor", "is_floating_point"):
        return Value(
            tags=frozenset({"dtype"}), const=True if last == "is_tensor" and arguments.first().tensor else UNKNOWN
        )
    if last in vocabulary.VIEWS and arguments.values:
        return Value(tags=arguments.values[0].tags)
    if last in ("as_tensor", "asarray", "tensor", "array", "from_numpy", "from_dlpack"):
        return Value(tags=derived(*values).tags | {f"op:{here}"})
    if last in ("device", "dtype", "Size", "ShapeDtypeStruct", "Generator", "no_grad", "inference_mode", "enable_grad"):
        return Value(
            frozenset({name + "()"}), frozenset(tag for tag in derived(*values).tags if tag in ("shape", "dtype"))
        )
    if last == "as_subclass" or last in ("_make_subclass", "_make_wrapper_subclass"):
        walk.note(frame, "subclass", name, node)
        return Value(tags=frozenset({"subclass:made"}) | arguments.first().tags)
    if last.endswith("_") and not last.endswith("__") and arguments.values:
        target = arguments.values[0]
        for each in (target, *(target.items or ())):
            if each.identity:
                attributes.write(walk, frame, each, derived(*values), node, name)
        return target
    if last in ("Parameter", "Buffer"):
        return Value(tags=frozenset({"parameter"}))
    if last[:1].isupper() and ".nn." in name:
        return Value(frozenset({"layer:" + name}).union(*(value.names for value in values)), NOTHING)
    if last in vocabulary.DATA_TESTS and any(value.tensor for value in values):
        return Value(tags=derived(*values).tags | ({"data"} if last in ("equal", "allclose") else NOTHING))
    return compute(walk, frame, node, name, values, arguments.named.get("out"))


def _narrow(walk: Walk, frame: Frame, node: ast.AST, arguments: Arguments) -> None:
    """Note a buffer whose elements are of low precision: what is kept in it is rounded."""
    for each in arguments.named.get("dtype", ANY).names:
        dtype = vocabulary.LOW_PRECISION.get(each.rpartition(".")[2])
        if dtype and each.startswith("torch."):
            walk.note(frame, "cast", dtype, node, detail="buffer")


def compute(walk: Walk, frame: Frame, node: ast.AST, name: str, values: list[Value], out: Value | None = None) -> Value:
    """A library computes on tensors: a fact, and a token that shows where its result flows."""
    family = vocabulary.family(name)
    walk.use(*values)
    if not any(value.tensor for value in values) and family is None and not name.startswith("reference"):
        return derived(*values)
    package = name.partition(".")[0] in (*vocabulary.KERNEL_PACKAGES, "reference")
    token = f"{'lib' if family or package else 'op'}:{place(frame.scope, node)}"
    about = frozenset().union(*(value.tags for value in values)) if values else NOTHING
    walk.note(frame, "call", name, node, about | {"compute"}, detail=token)
    result = derived(*values, extra=frozenset({token}))
    if name.rpartition(".")[2] == "clone":
        # A copy is a buffer of its own, which holds what it was made from until a kernel writes to it.
        copy = f"alloc:{place(frame.scope, node)}:copy"
        walk.contents[copy] |= result.tags
        frame.written.add(copy)
        return Value(tags=result.tags | {copy})
    if out is not None:
        attributes.write(walk, frame, out, result, node, "out")
        return out
    return result


def method(walk: Walk, frame: Frame, node: ast.AST, name: str, receiver: Value, arguments: Arguments) -> Value:
    """A method of a tensor, or of something that may be one."""
    values = [receiver, *arguments.all()]
    if name in vocabulary.POINTERS:
        walk.use(receiver)
        return Value(tags=frozenset({vocabulary.POINTERS[name]} | {"at:" + token for token in receiver.identity}))
    if name in vocabulary.SHAPES:
        return Value(frozenset({"shape.of"}), frozenset({"shape"}))
    if name in vocabulary.KINDS and not arguments.values:
        return Value(frozenset({"tensor." + name}), frozenset({vocabulary.KINDS[name]}))
    if "parameter" in receiver.tags and name in vocabulary.CASTS:
        _narrowed(walk, frame, node, name, receiver, arguments)
    if not receiver.tensor:
        if name == "decode" and isinstance(receiver.const, bytes):
            return Value(tags=receiver.tags, const=receiver.const.decode("utf-8", "replace"))
        if name == "format" and isinstance(receiver.const, str):
            named = {key: value.const for key, value in arguments.named.items()}
            made = templates.by_format(receiver.const, [value.const for value in arguments.values], named)
            return operators.template(walk, frame, node, receiver, made)
        if name in ("substitute", "safe_substitute") and isinstance(receiver.const, str):
            named = {key: value.const for key, value in arguments.named.items()}
            return operators.template(walk, frame, node, receiver, templates.by_dollar(receiver.const, named))
        if name in ("strip", "lstrip", "rstrip", "encode", "expandtabs"):
            return Value(tags=receiver.tags, const=receiver.const)
        if name == "replace" and isinstance(receiver.const, str) and len(arguments.values) == 2:
            old, new = (value.const for value in arguments.values)
            made = receiver.const.replace(old, new if isinstance(new, str) else "1") if isinstance(old, str) else None
            return operators.template(walk, frame, node, receiver, made and made[: standard.MOST_EXECUTED])
        if name == "copy_":
            return _inplace(walk, frame, node, name, receiver, arguments)
        if name == "join" and isinstance(receiver.const, str):
            parts = [value.const for value in arguments.first().items or ()]
            if parts and all(isinstance(part, str) for part in parts):
                made = receiver.const.join(map(str, parts))[: standard.MOST_EXECUTED]
                return operators.template(walk, frame, node, receiver, made)
            return Value(tags=derived(*values).tags)
        if name in vocabulary.WAITS or name in vocabulary.SPAWNING:
            walk.note(frame, "call", "tensor." + name, node)
        return Value(tags=derived(*values).tags)
    if name in vocabulary.READS:
        sampled = {"sampled"} if "sample" in receiver.tags else set()
        kept = frozenset(tag for tag in receiver.tags if tag.startswith(("stored:", "lib:")))
        which = frozenset("data:" + tag[3:] for tag in receiver.tags if tag.startswith("in:"))
        return Value(frozenset(), kept | {"data"} | which | sampled | ({"from:in"} if name == "numpy" else set()))
    if name in vocabulary.CASTS:
        return _cast(walk, frame, node, name, receiver, arguments)
    if name in vocabulary.VIEWS:
        return Value(tags=receiver.tags)
    if name in vocabulary.ARITHMETIC_INPLACE:
        return _inplace(walk, frame, node, name, receiver, arguments)
    if name.startswith("new_"):
        return _array(walk, frame, node, "torch." + name, name, arguments)
    if name.startswith("__dict__."):
        walk.note(frame, "override", name[9:], node, receiver.tags)
        return ANY
    if name == "as_subclass":
        walk.note(frame, "subclass", "as_subclass", node)
        return Value(tags=receiver.tags | {"subclass:made"})
    if name == "__setattr__" and isinstance(arguments.first().const, str):
        attributes.set_attribute(walk, frame, receiver, arguments.first().const, arguments.values[-1], node)
        return ANY
    return compute(walk, frame, node, "tensor." + name, values)


def _cast(walk: Walk, frame: Frame, node: ast.AST, name: str, receiver: Value, arguments: Arguments) -> Value:
    wanted = [name, *(each.rpartition(".")[2] for value in arguments.all() for each in value.names)]
    low = [vocabulary.LOW_PRECISION[each] for each in wanted if each in vocabulary.LOW_PRECISION]
    if low and any(tag.startswith(("in:", "from:in")) for tag in receiver.tags):
        walk.note(frame, "cast", low[0], node, receiver.tags, "host")
    # `to` may return the tensor itself.
    return Value(tags=receiver.tags | derived(receiver).tags)


def _narrowed(walk: Walk, frame: Frame, node: ast.AST, name: str, receiver: Value, arguments: Arguments) -> None:
    """Note weights of the submission that are kept in another dtype than they came in."""
    for each in (name, *(named for value in arguments.all() for named in value.names)):
        last = each.rpartition(".")[2]
        dtype = vocabulary.LOW_PRECISION.get(last) or (last if last in vocabulary.QUANTISED else "")
        if dtype:
            walk.note(frame, "cast", dtype, node, receiver.tags, "weights")


def _inplace(walk: Walk, frame: Frame, node: ast.AST, name: str, receiver: Value, arguments: Arguments) -> Value:
    walk.note(frame, "call", "tensor." + name, node, receiver.tags)
    walk.use(receiver, *arguments.all())
    value = derived(*arguments.all())
    if name == "copy_":
        given = arguments.first()
        if any(tag.startswith(("in:", "from:in")) for tag in given.tags):
            walk.note(frame, "call", "copy-in", node)
        value = given
    attributes.write(walk, frame, receiver, value, node, name)
    return receiver


def _pooled(walk: Walk, frame: Frame, node: ast.AST, name: str, arguments: Arguments) -> Value:
    """What a pool of threads hands back: rows of results, each of which is what the function returns."""
    function, *over = arguments.values or [ANY]
    given = [expressions.element(walk, frame, each) for each in over]
    made = calls.invoke(walk, frame, node, function, calls.Arguments(given, arguments.named))
    return expressions.new_box(walk, frame, node, (made,))


def _pallas(walk: Walk, frame: Frame, arguments: Arguments) -> Value:
    given = arguments.first("kernel")
    found = calls.jit(walk, given, "pallas")
    names = frozenset("pallas:" + name.partition(":")[2].partition("|")[0] for name in found.names if ":" in name)
    return Value(names or frozenset({"pallas:unknown"}))


def _built(walk: Walk, frame: Frame, node: ast.AST, name: str, arguments: Arguments) -> Value:
    """Native code is compiled from text or from files of the submission."""
    key = place(frame.scope, node)
    texts = [text for value in arguments.all() for text in calls.constant_text(value)]
    texts += [text for value in arguments.all() for each in sorted(value.names) for text in walk.texts.get(each, ())]
    walk.extensions.setdefault(key, []).extend(text for text in texts if text not in walk.extensions.get(key, []))
    named = [tag[5:] for value in arguments.all() for tag in value.tags if tag.startswith("path:")]
    beside = any(path.endswith(name) for name in named if name.endswith((".cu", ".cpp")) for path in walk.model.sources)
    unread = not beside and not any("{" in text or text.endswith((".cu", ".cpp")) for text in texts)
    walk.note(frame, "code", name, node, detail="unread" if unread else "")
    return Value(frozenset({f"ext:{key}|"}))
