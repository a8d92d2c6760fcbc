"""One worker as kgrade sees it: started behind the wall, asked over the channel, and never believed.

A worker serves functions of one folder of the queue (the task's, or one submission's) and dies with that item.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kgrade.harness import footprint
from kgrade.harness.arguments import (
    ALIGNMENT,
    Argument,
    Array,
    Made,
    Returned,
    described,
    dtype_of,
    packed,
    shape_of,
    unpacked,
)
from kgrade.harness.channel import Broken, Cancelled, Channel, Memory, TooLate
from kgrade.harness.device.gpus import driver_folders, nodes
from kgrade.harness.device.nvml import Gpu
from kgrade.harness.endings import how_it_ended
from kgrade.harness.sandbox import Bind, Ended, Interpreter, Shut, Wall, start
from kgrade.harness.watchdog import Limits

Entry = tuple[str, str] | tuple[str, str, str]  # file, attribute and, unless it is a plain function, its kind
PACKAGE = Path(__file__).parent / "worker"
INSIDE = Path("/kgrade")
UNABLE = "worker.extensions.CannotEmulate"  # claimed by the worker: it can only lead to a check that is not run
START_S = 60.0
GOODBYE_S = 10.0
DYING_S = 2.0
SETTLING_S = 0.05
TEXT_BYTES = 32 << 20
CPU_LIST = Path("/sys/devices/system/cpu")
REST_S = 0.4
RESTLESS = 0.1  # share of the time of rest; a busy machine gives a busy thread no more than a share
_BOOT = "import sys; sys.path.insert(0, sys.argv.pop(2)); from worker.main import main; main()"


class Lost(Exception):
    """The call did not give a result. `text` is what a classifier reads, `reason` one sentence for a person."""

    def __init__(self, kind: str, reason: str, text: str, *, alive: bool) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason
        self.text = text
        self.alive = alive


@dataclass
class Worker:
    """A worker process. `framework` is torch, jax or numpy; `stand_in` what stands for the device, if anything.

    One that is `watched` can be asked for `watch` and `left`, which tell what differs from before its last `load`.
    With `device`, the facts of one that is not here, kernels are not run: they are recorded and compiled for it.
    With `extensions`, it makes CUDA extensions of PyTorch (see `harness/extensions.py`), for which it sees `binds` too.
    With `gpu`, it sees that GPU and no other, and its arrays lie there; without, it sees none.
    """

    wall: Wall
    interpreter: Interpreter
    folder: Path
    framework: str
    stand_in: str | None
    limits: Limits
    precise: bool = False
    watched: bool = False
    device: dict[str, Any] | None = None
    extensions: dict[str, Any] | None = None
    binds: tuple[Bind, ...] = ()
    gpu: Gpu | None = None
    versions: dict[str, str] = field(default_factory=dict)
    cancelled: Callable[[], bool] = lambda: False
    _channel: Channel | None = None
    _shut: Shut | None = None
    _ended: Ended | None = None

    @property
    def alive(self) -> bool:
        """Whether the worker has been started and can still be asked."""
        return self._shut is not None and self._ended is None

    def another(self) -> Worker:
        """Return a worker like this one that has not been started."""
        return Worker(
            self.wall,
            self.interpreter,
            self.folder,
            self.framework,
            self.stand_in,
            self.limits,
            self.precise,
            self.watched,
            self.device,
            self.extensions,
            self.binds,
            self.gpu,
            cancelled=self.cancelled,
        )

    def start(self) -> None:
        """Start the process and prepare its framework; raise `Lost` when that fails."""
        where = INSIDE if self.wall.moves_paths else PACKAGE.parent
        binds, environment = self.shown()
        self._channel = Channel()
        descriptor = self._channel.other.fileno()
        command = [self.interpreter.executable, "-I", "-B", "-c", _BOOT, str(descriptor), str(where)]
        self._shut = start(
            self.wall,
            command,
            binds=binds,
            limits=self.limits,
            environment=environment,
            keep_open=[descriptor],
        )
        self._channel.opened()
        path = [entry for entry in self.interpreter.path if Path(entry).exists()]
        try:
            answer = self._ask(
                "prepare",
                START_S,
                framework=self.framework,
                interpreter=self.stand_in,
                precise=self.precise,
                device=self.device,
                extensions=self.extensions,
                on_gpu=self.gpu is not None,
                path=path,
            )
        except Lost as lost:
            reason = f"{self.framework} cannot be used in {self.interpreter.executable}: {lost.reason}"
            raise Lost("environment", reason, lost.text, alive=lost.alive) from None
        said = answer.get("versions")
        if isinstance(said, dict):
            self.versions = {_text(name)[:40]: _text(version)[:80] for name, version in said.items()}

    def shown(self) -> tuple[list[Bind], dict[str, str]]:
        """Return what such a process sees of this machine, and its environment."""
        folders = [Bind(folder, folder) for folder in self.interpreter.folders]
        binds = list(dict.fromkeys([*folders, *self.binds]))
        binds += [Bind(PACKAGE, INSIDE / "worker"), Bind(self.folder, INSIDE / "queue")]
        if self.device is not None and CPU_LIST.exists():
            binds.append(Bind(CPU_LIST, CPU_LIST))  # libtpu counts the processors there, and aborts where it cannot
        environment = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        environment["CUDA_VISIBLE_DEVICES"] = self.gpu.uuid if self.gpu else ""
        if self.gpu is not None:
            binds += [Bind(node, node, node=True) for node in nodes(self.gpu)]
            if of_driver := driver_folders():
                binds += [Bind(folder, folder) for folder in of_driver if not folder.is_relative_to("/usr")]
                environment["LD_LIBRARY_PATH"] = ":".join(str(folder) for folder in of_driver)
        return binds, environment

    def place(self, file: str) -> str:
        """Return the path of `file`, relative to the worker's folder, as the worker sees it."""
        return str((INSIDE / "queue" if self.wall.moves_paths else self.folder) / file)

    def load(self, functions: Mapping[str, Entry], within_s: float) -> float:
        """Import functions by name; return the seconds it took."""
        placed = {name: [self.place(file), *how] for name, (file, *how) in functions.items()}
        watch = self.place("") if self.watched else None
        return _seconds(self._ask("import", within_s, functions=placed, watch=watch))

    def call(
        self,
        function: str,
        arguments: Sequence[Argument],
        outputs: dict[str, int],
        within_s: float,
        *,
        widen: bool = False,
        gradients: Sequence[str] = (),
        upstream: Sequence[Argument] = (),
        launch: Mapping[str, Any] | None = None,
        order: int = 0,
    ) -> Returned:
        """Call `function` once. `outputs` maps each output to the most bytes that it can have.

        With `gradients`, the last outputs are those of the inputs it names, for `upstream` gradients of the first.
        `launch` is what a native launcher is told beside its inputs (see `worker.interfaces.cuda_emulated`). `order`
        is that in which the threads of emulated extensions run.
        """
        sent, specs, upstream_specs = packed(arguments, upstream)
        answer, arrays = self._with_outputs(
            "call",
            within_s,
            outputs,
            sent,
            function=function,
            inputs=specs,
            widen=widen,
            gradients=list(gradients),
            upstream=upstream_specs,
            **({"launch": launch} if launch is not None else {}),
            **({"order": order} if order else {}),
        )
        touched = answer.get("touched")
        named = touched if isinstance(touched, list) else []
        return Returned(arrays, [each.name for each in arguments if each.name in named], _seconds(answer))

    def watch(
        self,
        function: str,
        arguments: Sequence[Argument],
        outputs: dict[str, int],
        within_s: float,
        *,
        slot: str = "",
        again: bool = False,
        delay_s: float = 0.0,
        retrace: bool = False,
    ) -> tuple[Returned, dict[str, Array], dict[str, Any]]:
        """Call once on the storage called `slot`: new, or with `again` the one that is there, given new values.

        `retrace` has a compiling framework trace the call anew, so that its launches are seen.

        Return what came back at once, the same outputs `delay_s` seconds later, and the worker's claims about types,
        threads, children and launches.
        """
        memory, specs = packed(arguments)
        twice = {**outputs, **{f"{name} later": room for name, room in outputs.items()}}
        how = {"slot": slot, "again": again, "delay_s": delay_s, "retrace": retrace}
        answer, arrays = self._with_outputs("watch", within_s, twice, memory, function=function, inputs=specs, **how)
        late = {name: arrays.pop(f"{name} later") for name in outputs}
        return Returned(arrays, [], _seconds(answer)), late, answer

    def left(self, within_s: float) -> dict[str, Any]:
        """Return the worker's claims about what is not as it was before the submission was imported."""
        return self._ask("left", within_s)

    def capture(
        self,
        function: str,
        arguments: Sequence[Argument],
        within_s: float,
        *,
        fake: bool,
        gradients: Sequence[str] = (),
    ) -> dict[str, Any]:
        """Call `function` so that its launches are recorded; return what stopped it, if anything.

        With `fake` the arrays have no data: only their shape, dtype and layout cross.
        """
        details: dict[str, Any] = {"function": function, "fake": fake, "gradients": list(gradients)}
        if fake:
            return self._ask("capture", within_s, inputs=described(arguments), **details)
        memory, specs = packed(arguments)
        with contextlib.closing(memory):
            return self._ask("capture", within_s, [memory], inputs=specs, **details)

    def captured(self, start: int, within_s: float) -> dict[str, Any]:
        """Return the recorded launches from number `start` on, as many as fit into an answer."""
        return self._ask("captured", within_s, start=start)

    def recorded(self, within_s: float) -> bytes:
        """Return what `worker.extension_sources` recorded, as the JSON text that it wrote."""
        return self._with_outputs("captured", within_s, {"text": TEXT_BYTES}, None)[1]["text"].tobytes()

    def lower(self, number: int, within_s: float) -> tuple[bytes, dict[str, Any]]:
        """Compile the recorded launch of that number; return its text and what the compiler says about it.

        Compilers print what they refuse and then say little, or end the process: a `Lost` holds what was printed.
        """
        assert self._shut is not None, "the worker has not been started"
        before = len(self._shut.output["stderr"])
        try:
            answer, arrays = self._with_outputs("lower", within_s, {"text": TEXT_BYTES}, None, launch=number)
        except Lost as lost:
            printed = self._printed(before)
            raise Lost(lost.kind, lost.reason, f"{printed}\n{lost.text}", alive=lost.alive) from None
        return arrays["text"].tobytes(), answer

    def _printed(self, start: int) -> str:
        """Return what the worker has printed as errors from byte `start` on, once no more of it comes."""
        assert self._shut is not None, "the worker has not been started"
        kept, length = self._shut.output["stderr"], -1
        while len(kept) != length:
            length = len(kept)
            time.sleep(SETTLING_S)
        return bytes(kept[start:]).decode(errors="replace")[:8000]

    def faults(self, function: str, within_s: float) -> str:
        """Return what the checks of an emulated launcher saw in its last call, as the worker tells it."""
        return _text(self._ask("faults", within_s, function=function).get("text", ""))

    def make(self, function: str, name: str, room: int, within_s: float, *, fake: bool = False, **details: Any) -> Made:
        """Let the task's own code make arrays, named after `name`; together they may take `room` bytes.

        With `fake` it makes them without data: each array that is returned is one element seen everywhere.
        """
        with contextlib.closing(Memory.holding([])) as nothing, contextlib.closing(Memory.empty(room)) as received:
            memory = [nothing, received]
            told = {"function": function, "name": name, "room": room, "fake": fake, "details": details}
            answer = self._ask("make", within_s, memory, **told)
            try:
                arrays: dict[str, Array] = {}
                for entry in answer["made"]:
                    dtype, shape = dtype_of(str(entry["dtype"])), shape_of(entry["shape"])
                    called = _text(entry["name"])[:200]
                    if fake:
                        arrays[called] = np.broadcast_to(np.zeros((), dtype), shape)
                        continue
                    raw = received.read(int(entry["offset"]), math.prod(shape) * dtype.itemsize)
                    arrays[called] = np.frombuffer(raw, dtype).reshape(shape)
                form = answer["form"]
            except (Broken, TypeError, ValueError, KeyError, OverflowError) as error:
                raise Lost("form", f"what {function} made cannot be read: {error}", str(error), alive=True) from None
        if not isinstance(form, dict):
            raise Lost("form", f"what {function} made has no form", "", alive=True)
        return Made(arrays, form)

    def judge(
        self,
        function: str,
        groups: tuple[Sequence[Argument], Sequence[Argument], Sequence[Argument]],
        within_s: float,
        *,
        native: bool = False,
    ) -> tuple[bool, str]:
        """Run the task's checker on (inputs, outputs, reference); return whether it passes, and what it says.

        It gets numpy arrays, or with `native` those of the worker's framework.
        """
        memory, *specs = packed(*groups)
        with contextlib.closing(memory):
            names = ("inputs", "outputs", "reference")
            described = dict(zip(names, specs, strict=True))
            answer = self._ask("judge", within_s, [memory], function=function, native=native, **described)
        return answer.get("passed") is True, _text(answer.get("message", ""))[:2000]

    def hold(
        self, arguments: Sequence[Argument], sets: int, within_s: float, launch: Mapping[str, Any] | None = None
    ) -> float:
        """Let the worker make `sets` fresh sets of inputs for the timed calls to come.

        `launch` is what a native launcher is told beside its inputs. Returns the worker's own claim of the microseconds
        that preparing one set took; 0 where nothing is prepared.
        """
        memory, specs = packed(arguments)
        with contextlib.closing(memory):
            more = {"launch": launch} if launch is not None else {}
            claimed = self._ask("hold", within_s, [memory], inputs=specs, sets=sets, **more).get("prepare_us")
        return float(claimed) if isinstance(claimed, float) and 0 <= claimed < math.inf else 0.0

    def repeat(
        self, function: str, within_s: float, *, cache: str | None = None, spin_us: float = 0.0
    ) -> tuple[list[float], float]:
        """Call `function` on every set held; return the worker's own claims, in microseconds.

        They are what each call took, and what the host took to launch the slowest. On a GPU `cache` is `cold` or
        `warm`, `spin_us` is how long the device is kept busy before each call, and the function of no name does all but
        the call.
        """
        answer = self._ask("repeat", within_s, function=function, cache=cache, spin_us=spin_us)
        claimed, launch_us = answer.get("claimed_us"), answer.get("launch_us")
        each = [value for value in claimed if isinstance(value, float)] if isinstance(claimed, list) else []
        return each, launch_us if isinstance(launch_us, float) and 0 <= launch_us < math.inf else 0.0

    def nothing(self) -> None:
        """Go there and back."""
        self._ask("nothing", GOODBYE_S)

    def works_unasked(self, within_s: float) -> str | None:
        """Wait, asking nothing, and say so when the worker does not rest: a thread or process was left running."""
        assert self._shut is not None, "the worker has not been started"
        family = self._shut.process.pid
        before = footprint.cpu_seconds(footprint.descendants(family))
        time.sleep(within_s)
        used = footprint.cpu_seconds(footprint.descendants(family)) - before
        if used <= RESTLESS * within_s:
            return None
        return f"a thread was left: {used:.2f} s of CPU in {within_s:g} s in which nothing was asked of it"

    def fetch(self, outputs: dict[str, int], within_s: float) -> dict[str, Array]:
        """Return the outputs of the last timed call."""
        return self._with_outputs("fetch", within_s, outputs, None)[1]

    def _with_outputs(
        self, what: str, within_s: float, outputs: dict[str, int], sent: Memory | None, **details: Any
    ) -> tuple[dict[str, Any], dict[str, Array]]:
        places, size = {}, 0
        for name, room in outputs.items():
            places[name] = (size, room)
            size += -(-room // ALIGNMENT) * ALIGNMENT
        wanted = [{"name": name, "offset": offset, "room": room} for name, (offset, room) in places.items()]
        inputs = sent or Memory.holding([])
        with contextlib.closing(inputs), contextlib.closing(Memory.empty(size)) as received:
            answer = self._ask(what, within_s, [inputs, received], outputs=wanted, **details)
            try:
                return answer, unpacked(answer.get("outputs"), places, received)
            except (Broken, TypeError, ValueError, KeyError, OverflowError) as error:
                raise Lost("form", f"the outputs cannot be read: {error}", str(error), alive=True) from None

    def _ask(self, what: str, within_s: float, memory: Sequence[Memory] = (), **details: Any) -> dict[str, Any]:
        """Ask, and turn every way of not answering into a `Lost`."""
        assert self._shut is not None, "the worker has not been started"
        assert self._channel is not None, "the worker has not been started"
        self._shut.watchdog.allow(within_s + GOODBYE_S)
        try:
            answer = self._channel.ask(what, within_s=within_s, memory=memory, cancelled=self.cancelled, **details)
        except Cancelled:
            self.stop()
            raise
        except TooLate as error:
            self.stop()
            raise Lost("timeout", f"time limit: {error}", self._said(), alive=False) from None
        except Broken as error:
            ended = self.stop(grace_s=DYING_S)
            raise Lost(*how_it_ended(ended, str(error)), self._said(), alive=False) from None
        self._shut.watchdog.allow(math.inf)  # while it waits for the next request, only its CPU time counts
        failed = answer.get("failed")
        if isinstance(failed, dict):
            message = _text(failed.get("message", ""))
            text = _text(failed.get("traceback", message))
            first = message.strip().splitlines()[0] if message.strip() else "no message"
            reason = f"{_text(failed.get('type', 'error')).removeprefix('builtins.')}: {first}"
            kind = "unable" if failed.get("type") == UNABLE else "exception"
            if failed.get("sticky") is True:  # the device's context is lost, so every further call would fail too
                self.stop()
            raise Lost(kind, reason[:500], text, alive=self.alive)
        return answer

    def _said(self) -> str:
        return self._ended.stderr.decode(errors="replace")[-4000:] if self._ended else ""

    def stop(self, grace_s: float = 0.0) -> Ended:
        """End the process and everything it started; `grace_s` lets one that is dying show how it died."""
        assert self._shut is not None, "the worker has not been started"
        assert self._channel is not None, "the worker has not been started"
        if self._ended is None:
            self._channel.close()
            if not self._shut.ends_within(grace_s):
                self._shut.kill()
            self._ended = self._shut.wait()
        return self._ended

    def finish(self) -> bytes:
        """Say goodbye; return what the worker printed. A run without the closing answer is not complete."""
        if self._shut is None:
            return b""
        complete = False
        if self._ended is None:
            with contextlib.suppress(Lost):
                complete = self._ask("quit", GOODBYE_S).get("closing") is True
        ended = self.stop(grace_s=DYING_S)
        log = ended.stdout + ended.stderr
        return log if complete else log + b"\n[this worker ended without its closing answer]\n"


def _seconds(answer: dict[str, Any]) -> float:
    """Return the worker's own claim of how long it took; what is not a time counts as none."""
    value = answer.get("seconds")
    return float(value) if isinstance(value, float) and 0 <= value < math.inf else 0.0


def _text(value: object) -> str:
    """Return hostile text in a form that can be written down: JSON may carry halves of characters."""
    return str(value).encode("utf-8", "replace").decode()
