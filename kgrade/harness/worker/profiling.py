"""Calls of one function for a profiler: a process of its own, which reads from a file what to call and how often.

It has no line to the outside, so that a profiler may start it as it starts any program. What a profiler around it is to
see lies between cuProfilerStart and cuProfilerStop; torch.profiler is told to begin and to end by this process itself.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from typing import Any, Callable, Dict, List

from .arrays import FRAMEWORKS
from .calls import Caller, prepared
from .main import PREPARE, load
from .preparation import prepare
from .wire import Request


def main() -> None:
    """Do what the job file says that is the first argument."""
    with open(sys.argv[1]) as file:
        job = json.load(file)
    sys.path[:] = sys.path + [entry for entry in job["path"] if entry not in sys.path]
    prepare(job["framework"], job["interpreter"], False, job["on_gpu"])
    on_gpu = ["cuda"] if job["on_gpu"] and job["framework"] == "torch" else []
    caller = Caller(FRAMEWORKS[job["framework"]](*on_gpu))
    functions = {name: load(*place) for name, place in job["functions"].items()}
    function = functions[job["function"]]
    if job["launch"] is not None:
        function = function.launcher(job["launch"])
    calls = _calls(job, caller, functions.get(PREPARE))
    warm, measured = calls[: job["warm_up"]], calls[job["warm_up"] :]
    for inputs in warm:
        caller.arrays.finish(function(**inputs))
    if job["trace"] is not None:
        _traced(function, measured, caller, job)
    else:
        _in_range(function, measured, caller, job["on_gpu"])


def _calls(job: Dict[str, Any], caller: Caller, prepare_call: Any) -> List[Dict[str, Any]]:
    """Make fresh inputs for each call, and prepare them."""
    request = Request({"do": "profile", "inputs": job["inputs"]}, [os.open(job["data"], os.O_RDONLY)])
    calls = [caller.inputs(request) for _ in range(job["warm_up"] + job["calls"])]
    for inputs in calls:
        prepared(prepare_call, inputs)
    return calls


def _traced(function: Callable[..., Any], calls: List[Dict[str, Any]], caller: Caller, job: Dict[str, Any]) -> None:
    """Call under torch.profiler and write its trace."""
    from torch.profiler import ProfilerActivity, profile

    activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if job["on_gpu"] else [])
    with profile(activities=activities, **job["options"]) as seen:
        for inputs in calls:
            caller.arrays.finish(function(**inputs))
    seen.export_chrome_trace(job["trace"])


def _in_range(function: Callable[..., Any], calls: List[Dict[str, Any]], caller: Caller, on_gpu: bool) -> None:
    """Call where a profiler around this process is told to look."""
    driver = ctypes.CDLL("libcuda.so.1") if on_gpu else None
    if driver is not None:
        driver.cuProfilerStart()
    for inputs in calls:
        caller.arrays.finish(function(**inputs))
    if driver is not None:
        driver.cuProfilerStop()
