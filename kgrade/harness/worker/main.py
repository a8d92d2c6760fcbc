"""The worker's life: prepare the framework, import the functions it is to serve, answer requests, say goodbye."""

from __future__ import annotations

import sys
import time
import traceback
from typing import Any, Dict, List

from . import interfaces
from .arrays import FRAMEWORKS, NumpyArrays
from .calls import Caller, prepared
from .clocks import repeat
from .interfaces import cuda_emulated, function
from .watching import Watcher
from .wire import Line, Request, shortened

PREPARE = "prepare"  # a function of this name is called before each call that is checked or timed


class Worker:
    """Serves the requests of one run. It keeps no secret: whatever it answers is checked on the other side."""

    def __init__(self) -> None:
        self.functions: Dict[str, Any] = {}
        self.caller = Caller(NumpyArrays())
        self.held: List[Dict[str, Any]] = []
        self.last: Any = None
        self.watcher = Watcher(self.caller)
        self.ahead: Any = None
        self.extensions: Any = None
        self.launch: Any = None
        self.clock: Any = None

    def serve(self, line: Line) -> None:
        """Answer until told to quit or the line is cut."""
        while True:
            request = line.receive()
            if request is None:
                return
            if request.what == "quit":
                line.answer(request, closing=True)
                return
            try:
                details = getattr(self, "do_" + request.what)(request)
            except BaseException as error:  # noqa: BLE001 (the code under test may raise anything, SystemExit too)
                traceback.print_exception(type(error), error, error.__traceback__)
                details = {"failed": dict(described(error), sticky=self.caller.arrays.broken())}
            sys.stdout.flush()
            sys.stderr.flush()
            line.answer(request, **details)

    def do_prepare(self, request: Request) -> Dict[str, Any]:
        """Load the framework, with the interpreter that stands for the device."""
        from .preparation import prepare

        sys.path[:] = sys.path + [entry for entry in request.message["path"] if entry not in sys.path]
        on_gpu = bool(request.message.get("on_gpu"))
        framework = request.message["framework"]
        versions = prepare(framework, request.message["interpreter"], request.message["precise"], on_gpu)
        self.caller = Caller(FRAMEWORKS[framework](*(["cuda"] if on_gpu and framework == "torch" else [])))
        self.watcher = Watcher(self.caller)
        extensions = request.message.get("extensions")
        if extensions is not None:
            from .extensions import Extensions, OwnArrays

            self.extensions = Extensions(extensions)
            self.extensions.install()
            if extensions["checks"]:
                self.caller = Caller(OwnArrays())
        device = request.message.get("device")
        if device is not None:
            from .ahead import prepare_ahead

            self.ahead, more = prepare_ahead(request.message["framework"], device, self.caller)
            versions.update(more)
        return {"versions": versions}

    def do_import(self, request: Request) -> Dict[str, Any]:
        """Import the named functions; `functions` maps a name to where it is, `watch` is the folder to watch."""
        if request.message["watch"] is not None:
            self.watcher.begin(request.message["watch"])
        begin = time.perf_counter()
        for name, place in request.message["functions"].items():
            self.functions[name] = load(*place)
        return {"seconds": time.perf_counter() - begin}

    def do_call(self, request: Request) -> Dict[str, Any]:
        """Call one function once; a native launcher is told what to launch."""
        called = self.functions[request.message["function"]]
        if "launch" in request.message:
            called = called.launcher(request.message["launch"])
        if self.extensions is None:
            return self.caller.call(request, called, self.functions.get(PREPARE))
        with self.extensions.running(request.message.get("order", 0)):
            return self.caller.call(request, called, self.functions.get(PREPARE))

    def do_faults(self, request: Request) -> Dict[str, Any]:
        """Say what the checks saw in the last call of an emulated launcher, or of emulated extensions."""
        seen = self.functions[request.message["function"]] if self.extensions is None else self.extensions
        return {"text": seen.findings()}

    def do_watch(self, request: Request) -> Dict[str, Any]:
        """Call one function once, and say what the call leaves behind."""
        return self.watcher.call(request, self.functions[request.message["function"]])

    def do_left(self, request: Request) -> Dict[str, Any]:
        """Say what is not as it was before the functions were imported."""
        return self.watcher.left()

    def do_capture(self, request: Request) -> Dict[str, Any]:
        """Call one function so that its kernels are recorded instead of run."""
        answer: Dict[str, Any] = self.ahead.capture(request, self.functions[request.message["function"]])
        return answer

    def do_captured(self, request: Request) -> Dict[str, Any]:
        """Return what was recorded."""
        answer: Dict[str, Any] = self.ahead.captured(request)
        return answer

    def do_lower(self, request: Request) -> Dict[str, Any]:
        """Compile one recorded kernel for the device that this worker stands for."""
        answer: Dict[str, Any] = self.ahead.lower(request)
        return answer

    def do_judge(self, request: Request) -> Dict[str, Any]:
        """Run the task's checker, on arrays of the framework where it asks for them."""
        caller = self.caller if request.message["native"] else Caller(NumpyArrays())
        return caller.judge(request, self.functions[request.message["function"]])

    def do_make(self, request: Request) -> Dict[str, Any]:
        """Let the task's own code make inputs; those without data are only described."""
        make = self.caller.make_without_data if request.message["fake"] else self.caller.make
        return make(request, self.functions[request.message["function"]])

    def do_hold(self, request: Request) -> Dict[str, Any]:
        """Make as many fresh sets of inputs as the timed calls to come will use, and prepare each."""
        self.held = [self.caller.inputs(request) for _ in range(request.message["sets"])]
        self.launch = request.message.get("launch")
        prepare = self.functions.get(PREPARE)
        if prepare is None:
            return {}
        begin = time.perf_counter_ns()
        for inputs in self.held:
            prepared(prepare, inputs)
        return {"prepare_us": (time.perf_counter_ns() - begin) / 1000.0 / max(len(self.held), 1)}

    def do_repeat(self, request: Request) -> Dict[str, Any]:
        """Call one function on every set of inputs that is held; the function of no name does nothing."""
        name = request.message["function"]
        timed = self.functions[name] if name else None
        if timed is not None and self.launch is not None:
            timed = timed.launcher(self.launch)
        cache = request.message.get("cache")
        if cache is not None:
            if self.clock is None:
                from .device_clock import DeviceClock

                self.clock = DeviceClock(self.caller.arrays.torch)
            spin_us = request.message["spin_us"]
            claimed, launch_us, last = self.clock.repeat(timed, self.held, cold=cache == "cold", spin_us=spin_us)
        else:
            launch_us = 0.0
            claimed, last = repeat(timed or _nothing, self.held, self.caller.arrays.finish)
        self.last = last if name else self.last
        return {"claimed_us": claimed, "launch_us": launch_us}

    def do_fetch(self, request: Request) -> Dict[str, Any]:
        """Hand over the outputs of the last timed call."""
        names = [spec["name"] for spec in request.message["outputs"]]
        values = function.outputs(self.last, names, self.held[-1])
        return {"outputs": self.caller.write(request, values)}

    def do_nothing(self, request: Request) -> Dict[str, Any]:
        """Answer at once: the cost of a round trip."""
        return {}


def _nothing(**inputs: Any) -> None:
    return None


def load(file: str, attribute: str, kind: str = "function") -> Any:
    """Return what `attribute` of `file` is: what calls it in the manner of `kind`, or a launcher of a shared object."""
    if kind == "native":
        from .interfaces import cuda_native

        return cuda_native.Native(file, attribute)
    if file.endswith(".so"):
        return cuda_emulated.Emulated(file, attribute)
    return interfaces.load(file, attribute, kind)


def described(error: BaseException) -> Dict[str, str]:
    """Return type, message and traceback of an exception, as text."""
    kind = type(error)
    lines = traceback.format_exception(kind, error, error.__traceback__)
    return {
        "type": "{}.{}".format(kind.__module__, kind.__qualname__),
        "message": shortened(str(error)),
        "traceback": shortened("".join(lines)),
    }


def main() -> None:
    """Serve the line whose file descriptor is the first argument."""
    Worker().serve(Line(int(sys.argv[1])))
