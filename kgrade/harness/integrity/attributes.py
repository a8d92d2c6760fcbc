"""Names, attributes, elements and modules: where a value is looked up, and what storing one means."""

from __future__ import annotations

import ast
import builtins
from pathlib import PurePosixPath

from kgrade.harness.integrity import objects, statements, vocabulary
from kgrade.harness.integrity.model import NOTHING
from kgrade.harness.integrity.values import ANY, UNKNOWN, Frame, Scope, Value, Walk, merge

_CALLABLE = ("def:", "bound:", "lambda:", "torch.", "builtins.", "tensor.", "class:", "types.")
_OWN_FIELDS = {"requires_grad", "grad", "data", "names", "__class__"}
_MODULES = {"time", "torch", "torch.cuda", "torch.testing", "numpy", "numpy.testing", "triton.testing", "builtins",
            "os", "math", "torch.Tensor", "torch.cuda.Event"}  # fmt: skip
"""Modules and classes whose table of names nobody else has a reason to fill."""
_FALSE_OF_DENSE = {"is_sparse", "is_sparse_csr", "is_quantized", "is_mkldnn", "is_nested", "is_meta", "is_complex"}


def module(walk: Walk, frame: Frame, dotted: str, node: ast.AST, level: int = 0) -> Value:
    """The module `dotted`: one of the submission's files, which is read now, or a library's."""
    here = PurePosixPath(frame.scope.path).parent
    folders = [here.joinpath(*[".."] * (level - 1))] if level else [here, *here.parents]
    for folder in folders:
        base = [part for part in folder.parts if part != ".."] + (dotted.split(".") if dotted else [])
        for path in ("/".join(base) + ".py", "/".join([*base, "__init__.py"])):
            if path in walk.trees:
                load(walk, path)
                return Value(names=frozenset({"mod:" + path}))
    if level:
        return ANY
    walk.note(frame, "import", dotted, node)
    if walk.reference is not None and dotted.rpartition(".")[2] == walk.reference:
        walk.note(frame, "import", "reference." + dotted, node)
        return Value(frozenset({"reference"}), frozenset({"reference"}))
    return Value(names=frozenset({dotted.removeprefix("neuronxcc.") if dotted == "nki" else dotted}))


def load(walk: Walk, path: str) -> Scope:
    """Read the file at `path` as an import does, once."""
    if path not in walk.modules:
        name = PurePosixPath(path).stem
        scope = Scope(path, variables={"__name__": Value(const=name), "__file__": Value(const="/" + path)})
        walk.modules[path] = scope
        statements.execute(walk, Frame(scope, live=False, setup=True), walk.trees[path].body)
    return walk.modules[path]


def lookup(walk: Walk, frame: Frame, name: str) -> Value:
    """The value of the variable `name`."""
    scope: Scope | None = frame.scope
    own = True
    while scope is not None:
        if name in scope.variables and (own or not scope.is_class):
            value = scope.variables[name]
            token = f"stored:var:{scope.path}:{name}"
            if token in walk.live_stores and not frame.setup:
                value = Value(value.names, value.tags | {token}, UNKNOWN)
            return value
        own = False
        scope = scope.parent
    return Value(names=frozenset({"builtins." + name})) if hasattr(builtins, name) else ANY


def bind(walk: Walk, frame: Frame, name: str, value: Value) -> None:
    """Bind a variable; where the statement may not run, what it held before stays possible."""
    if frame.impossible:
        return
    scope = frame.scope
    if name in scope.shared:
        outer = scope.parent
        while outer is not None and name not in outer.variables and outer.parent is not None:
            outer = outer.parent
        scope = outer or scope
        if not frame.setup:
            token = f"stored:var:{scope.path}:{name}"
            keep(walk, frame, token, value, NOTHING)
            scope.variables[name] = merge(scope.variables.get(name, value), value)
            return
    before = scope.variables.get(name)
    scope.variables[name] = merge(before, value) if frame.conditional and before is not None else value


def bind_all(walk: Walk, frame: Frame, source: Value) -> None:
    """`from source import *`."""
    for name in source.names:
        if name.startswith("mod:"):
            for variable, value in walk.modules[name[4:]].variables.items():
                if not variable.startswith("_"):
                    bind(walk, frame, variable, value)
        elif name == "reference":
            frame.scope.variables.setdefault("*", source)


def keep(walk: Walk, frame: Frame, token: str, value: Value, key: frozenset[str]) -> None:
    """Note that a call leaves `value` behind under `key`, for later calls to find."""
    walk.live_stores.add(token)
    walk.use(value)
    guarding = frozenset().union(*(frame.branch_tags.get(guard[:-1], NOTHING) for guard in frame.guards))
    walk.keys[token] |= key | guarding
    about = value.tags.union(*(walk.contents[each] for each in value.identity))
    if any(each in frame.written for each in value.identity):
        about |= {"computed"}
    walk.contents[token] |= frozenset(tag for tag in about if not tag.startswith("stored:"))
    stale = any(tag.startswith("stored:") and tag not in frame.written for tag in value.tags)
    if not stale:
        frame.written.add(token)


def lasting(walk: Walk, frame: Frame, target: ast.expr, before: Value) -> bool:
    """Whether `target` outlives the call and holds a host number."""
    if before.identity - walk.live_stores:
        return False
    return bool(lasting_name(walk, frame, target))


def lasting_name(walk: Walk, frame: Frame, target: ast.expr) -> str:
    """A name for what `target` writes to, when that outlives the call; else ''."""
    from kgrade.harness.integrity import expressions

    if isinstance(target, ast.Name):
        return f"{frame.scope.path}:{target.id}" if target.id in frame.scope.shared else ""
    if isinstance(target, ast.Attribute):
        owner = expressions.evaluate(walk, frame, target.value)
        kept = [name for name in owner.names if name.startswith(("obj:", "class:", "def:", "mod:"))]
        return f"{kept[0]}.{target.attr}" if kept else ""
    if isinstance(target, ast.Subscript):
        owner = expressions.evaluate(walk, frame, target.value)
        kept = [name for name in owner.names if name in walk.persistent]
        return kept[0] if kept else ""
    return ""


def get_attribute(walk: Walk, frame: Frame, owner: Value, attr: str, node: ast.AST) -> Value:
    """The value of `owner.attr`."""
    found: list[Value] = []
    names: set[str] = set()
    for name in owner.names:
        if name.startswith("mod:"):
            scope = walk.modules.get(name[4:])
            if scope is not None and attr in scope.variables:
                found.append(lookup(walk, Frame(scope, frame.live, frame.setup), attr))
        elif name.startswith(("obj:", "class:")):
            found.append(objects.property_of(walk, frame, node, member(walk, frame, name, attr)))
        elif name.startswith("super:"):
            found.append(objects.of_parent(walk, frame, name, attr))
        elif name.startswith(("def:", "bound:")):
            owned = "def:" + name.partition(":")[2].partition("|")[0]
            kept = walk.attributes.get((owned, attr))
            if kept is not None:
                token = f"stored:attr:{owned}.{attr}"
                lives = token in walk.live_stores and not frame.setup
                found.append(Value(kept.names, kept.tags | {token}, UNKNOWN, kept.items) if lives else kept)
            elif attr in ("__wrapped__", "fn", "__func__", "__call__", "func"):
                found.append(Value(frozenset({name})))
            elif attr in ("run", "__getitem__"):
                names.add(("launcher:" if attr == "run" else "subscript:") + name.partition(":")[2])
            elif attr in vocabulary.FRAME_ATTRIBUTES:
                names.add("function." + attr)
        elif name.startswith("box:"):
            names.add(f"boxmethod:{name}|{attr}")
        elif name.startswith("layer:"):
            if attr in vocabulary.FORWARDS:
                names.add(name)
            elif attr in vocabulary.LAYER_SIZES:
                found.append(Value(tags=frozenset({"shape"})))
            else:
                found.append(Value(tags=frozenset({"parameter"})))
        elif name.startswith(("ext:", "graph:")):
            names.add(f"{name}|{attr}")
        elif not name.startswith(("boxmethod:", "launcher:", "pallas:", "subscript:", "never")):
            same = name == "pathlib.Path()" and attr in ("parent", "parents")
            names.add(name if same else _canonical(f"{name}.{attr}"))
    if attr in ("__dict__", "__class__") and owner.names:
        return owner
    tags: frozenset[str] = owner.tags if owner.names and not owner.tensor else NOTHING
    if owner.tensor and ("tensor", attr) in walk.attributes:
        return Value(tags=walk.attributes[("tensor", attr)].tags | {f"stored:tensor.{attr}"})
    if owner.tensor and not found:
        return _of_tensor(owner, attr, names)
    if attr in vocabulary.SHAPES and not owner.names:
        tags = frozenset({"shape"})
    elif not names and not found:
        tags = owner.tags
        names.add("tensor." + attr)
    if attr in vocabulary.FRAMES or ("caller" in owner.tags and attr in vocabulary.FRAME_ATTRIBUTES):
        walk.note(frame, "call", "frame." + attr, node)
    special = _special({*names}, attr)
    if names or not found:
        text = owner.const if isinstance(owner.const, str | bytes) and not owner.names else UNKNOWN
        found.append(Value(frozenset(names), tags | special, text))
    return merge(*found)


def _canonical(name: str) -> str:
    for short, full in (("torch.Tensor.", "tensor."), ("torch.nn.functional.torch.", "torch.")):
        if name.startswith(short):
            return full + name[len(short) :]
    return name[:300]


def _special(names: set[str], attr: str) -> frozenset[str]:
    if names & vocabulary.CALLERS:
        return frozenset({"caller"})
    if any(name in ("os.environ", "os.getenv") for name in names):
        return frozenset({"environment"})
    return NOTHING


def _of_tensor(owner: Value, attr: str, names: set[str]) -> Value:
    names.add("tensor." + attr)
    if attr == "layout":
        return Value(frozenset({"torch.strided"}), frozenset({"dtype"}))
    if attr in _FALSE_OF_DENSE and attr != "is_complex":
        return Value(tags=frozenset({"dtype"}), const=False)
    if attr == "_version":
        return Value(tags=frozenset({"version"}))
    if attr in vocabulary.POINTERS and attr.startswith("__"):
        return Value(tags=frozenset({"pointer"}))
    if attr in vocabulary.SHAPES:
        return Value(frozenset({"shape.of"}), frozenset({"shape"}))
    if attr == "type":
        return Value(frozenset({"tensor.type"}), owner.tags)
    if attr in vocabulary.KINDS:
        return Value(frozenset({"tensor." + attr}), frozenset({vocabulary.KINDS[attr]}))
    if attr in ("T", "mT", "H", "data", "real"):
        return Value(frozenset(), owner.tags)
    return Value(frozenset(names), owner.tags)


def member(walk: Walk, frame: Frame, name: str, attr: str, seen: int = 0) -> Value:
    """An attribute or method of an object or class of the submission, its bases included."""
    key = name.partition(":")[2]
    found = walk.classes.get(key)
    if found is None or seen > 8:
        return ANY
    kept = walk.attributes.get((key, attr))
    if kept is not None:
        token = f"stored:attr:{key}.{attr}"
        if token in walk.live_stores and not frame.setup:
            return Value(kept.names, kept.tags | {token}, UNKNOWN)
        return kept
    if attr in found.scope.variables:
        value = found.scope.variables[attr]
        token = f"stored:attr:{key}.{attr}"
        methods = frozenset(
            f"bound:{each[4:]}|{name}" if each.startswith("def:") and _bindable(walk, each, name) else each
            for each in value.names
        )
        tags = value.tags | {token} if token in walk.live_stores and not frame.setup else value.tags
        return Value(methods, tags, value.const, value.items)
    inherited = [base for base in found.bases if base.startswith("class:")]
    if attr in ("__class__", "__dict__"):
        return Value(frozenset({name}))
    for base in inherited:
        value = member(walk, frame, name.partition(":")[0] + ":" + base[6:], attr, seen + 1)
        if value is not ANY:
            return Value(
                frozenset(
                    f"{each.partition('|')[0]}|{name}" if each.startswith("bound:") else each for each in value.names
                ),
                value.tags,
                value.const,
                value.items,
            )
    if attr == "apply" and any("autograd" in base or "Function" in base for base in found.bases):
        for step in ("backward", "forward"):
            forward = found.scope.variables.get(step)
            if forward is not None:
                return Value(frozenset(f"apply:{key}" for _ in "1"))
    if attr in ("forward", "__call__") or not found.bases:
        return ANY
    return Value(frozenset({f"base.{attr}"}))


def _bindable(walk: Walk, name: str, owner: str) -> bool:
    function = walk.functions.get(name[4:])
    called = owner.startswith("obj:") or (function is not None and function.of_class)
    return function is not None and not function.static and function.jit is None and called


def anywhere(walk: Walk, owner: Value) -> str:
    """The box that holds what is set on a module, object or function under names that are made while it runs, or ''."""
    for name in sorted(owner.names):
        if name.startswith(("mod:", "obj:", "class:", "def:", "bound:")):
            box = "box:attributes:" + name.partition(":")[2].partition("|")[0]
            walk.persistent.add(box)
            walk.boxes.setdefault(box, ANY)
            return box
    return ""


def set_attribute(walk: Walk, frame: Frame, owner: Value, attr: str, value: Value, node: ast.AST) -> None:
    """`owner.attr = value`: an object's own state, a library patched, or a tensor that is given a method."""
    if frame.impossible:
        return
    for name in owner.names:
        if name.startswith("bound:"):
            name = "def:" + name[6:].partition("|")[0]
        if name.startswith(("obj:", "class:", "def:")):
            key = name if name.startswith("def:") else name.partition(":")[2]
            before = walk.attributes.get((key, attr))
            if frame.live and not frame.setup:
                keep(walk, frame, f"stored:attr:{key}.{attr}", value, NOTHING)
                walk.attributes[(key, attr)] = merge(before, value) if before is not None else value
            else:
                strong = before is None or not frame.conditional
                walk.attributes[(key, attr)] = value if strong else merge(before or value, value)
            if frame.setup:
                walk.persistent.update(each for each in value.names if each.startswith("box:"))
        elif name.startswith("mod:"):
            scope = walk.modules.get(name[4:])
            if scope is not None:
                scope.variables[attr] = value
        elif not name.startswith(("tensor.", "box:", "builtins.object", "shape.of")) and "." in name + "." + attr:
            patched(walk, frame, f"{name}.{attr}", value, node)
    if owner.tensor:
        if attr not in _OWN_FIELDS and any(name.startswith(_CALLABLE) for name in value.names):
            walk.note(frame, "override", attr, node, owner.tags)
        elif attr == "data":
            write(walk, frame, owner, value, node, "data")
        elif attr not in _OWN_FIELDS and value.tensor and any(tag.startswith("in:") for tag in owner.tags):
            keep(walk, frame, f"stored:tensor.{attr}", value, frozenset({"pointer"}))
            walk.attributes[("tensor", attr)] = value


def patched(walk: Walk, frame: Frame, target: str, value: Value, node: ast.AST) -> None:
    """Something of a library is replaced, or one of its switches is turned."""
    variable = target.removeprefix("os.environ.")
    if variable != target and variable.startswith(vocabulary.STATE_VARIABLES):
        walk.note(frame, "state", target, node)
    elif target.startswith(vocabulary.STATE_ATTRIBUTES) or "_config." in target:
        walk.note(frame, "state", target, node, detail=str(value.const)[:40] if value.const is not UNKNOWN else "")
    else:
        walk.note(frame, "patch", target, node, value.tags)


def set_element(walk: Walk, frame: Frame, owner: Value, key: Value, value: Value, node: ast.AST) -> None:
    """`owner[key] = value`: something kept, a tensor written, or a library's table changed."""
    if frame.impossible:
        return
    for name in owner.names:
        if name.startswith("box:"):
            known = walk.boxes.get(name, ANY)
            walk.boxes[name] = value if known == ANY else merge(known, value)
            if name in walk.persistent and not frame.setup:
                keep(walk, frame, "stored:" + name, value, key.tags)
        elif isinstance(key.const, str) and name.partition(".")[0] in (
            "os",
            "sys",
            "torch",
            "builtins",
            "time",
            "triton",
        ):
            patched(walk, frame, f"{name}.{key.const}", value, node)
        elif key.const is UNKNOWN and name in _MODULES and any(each.startswith(_CALLABLE) for each in value.names):
            patched(walk, frame, name + ".?", value, node)
        elif name.startswith("mod:") and isinstance(key.const, str) and name[4:] in walk.modules:
            walk.modules[name[4:]].variables[key.const] = value
    # A list that holds an input is not the input.
    if owner.tensor and not any(name.startswith("box:") for name in owner.names):
        write(walk, frame, owner, value, node, "element")


def write(walk: Walk, frame: Frame, owner: Value, value: Value, node: ast.AST, how: str) -> None:
    """Host code writes `value` into the tensor `owner`."""
    walk.use(value)
    inputs = frozenset(tag for tag in owner.tags if tag.startswith("in:"))
    if inputs and not any(tag.startswith(("alloc:", "op:", "lib:")) for tag in owner.tags):
        walk.note(frame, "mutation", how, node, inputs)
    for token in owner.identity:
        about = value.tags.union(*(walk.contents[each] for each in value.identity))
        walk.contents[token] |= frozenset(tag for tag in about if tag != token)
        frame.written.add(token)
