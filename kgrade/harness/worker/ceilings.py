"""What a device can do at most: bytes copied and operations done in a second. A script for any Python with torch.

It is kgrade's own code and runs in the site's own environment: `python -I ceilings.py`. It prints one line of JSON.
On a GPU the device's events are the clock, elsewhere this process's own; all else is the same.
"""

from __future__ import annotations

import json
import time
from typing import Any, Callable, Dict, List, Tuple

CALLS = 15
FEW_CALLS = 5
WARM_CALLS = 3
LEAST_S = 0.01  # a call that is shorter measures its launch
LARGEST = 16384
COPY_SHARE = 8  # of the device's free memory, what one of the two buffers may take
COPY_BYTES = (64 << 20, 1 << 30)


def main() -> None:
    """Measure, and print what was found, or `{"lacks": why}`."""
    try:
        import torch
    except ImportError as why:
        print(json.dumps({"lacks": "no torch in this Python: {}".format(why)}))
        return
    on_gpu = torch.cuda.is_available()
    timer = _device_seconds if on_gpu else _host_seconds
    device = "cuda" if on_gpu else "cpu"
    torch.set_grad_enabled(False)
    copied = _copy(torch, device, timer)
    rates, refused = {}, {}
    for name, dtype, tf32 in _kinds(torch, on_gpu):
        torch.backends.cuda.matmul.allow_tf32 = tf32
        try:
            rates[name] = _matmul(torch, device, dtype, timer)
        except (RuntimeError, TypeError) as why:  # this device has no such arithmetic
            refused[name] = str(why).splitlines()[0][:200]
    found = {
        "device": torch.cuda.get_device_name() if on_gpu else None,
        "on_gpu": on_gpu,
        "torch": torch.__version__,
        "calls": CALLS,
        "copy": copied,
        "matmul": rates,
        "refused": refused,
    }
    print(json.dumps(found))


def _kinds(torch: Any, on_gpu: bool) -> List[Tuple[str, Any, bool]]:
    kinds = [("float64", torch.float64, False), ("float32", torch.float32, False)]
    if on_gpu:
        kinds += [("tfloat32", torch.float32, True), ("float16", torch.float16, False)]
    return [*kinds, ("bfloat16", torch.bfloat16, False)]


def _copy(torch: Any, device: str, timer: Callable[..., List[float]]) -> Dict[str, Any]:
    free = torch.cuda.mem_get_info()[0] if device == "cuda" else COPY_BYTES[0] * COPY_SHARE
    size = max(COPY_BYTES[0], min(COPY_BYTES[1], free // COPY_SHARE))
    source = torch.ones(size // 4, dtype=torch.float32, device=device)
    target = torch.empty_like(source)
    seconds = timer(torch, lambda: target.copy_(source))
    return {"bytes": 2 * source.numel() * 4, "seconds": seconds}


def _matmul(torch: Any, device: str, dtype: Any, timer: Callable[..., List[float]]) -> Dict[str, Any]:
    """Time square products, larger and larger until one lasts long enough to be worth measuring."""
    size = 256
    while size < LARGEST and min(timer(torch, _product(torch, device, dtype, size), calls=FEW_CALLS)) < LEAST_S:
        size *= 2
    seconds = timer(torch, _product(torch, device, dtype, size))
    return {"size": size, "operations": 2 * size**3, "seconds": seconds}


def _product(torch: Any, device: str, dtype: Any, size: int) -> Callable[[], Any]:
    a = torch.ones((size, size), dtype=dtype, device=device)
    b = torch.ones((size, size), dtype=dtype, device=device)
    out = torch.empty((size, size), dtype=dtype, device=device)
    return lambda: torch.mm(a, b, out=out)


def _host_seconds(torch: Any, call: Callable[[], Any], calls: int = CALLS) -> List[float]:
    for _ in range(WARM_CALLS):
        call()
    taken = []
    for _ in range(calls):
        begin = time.perf_counter()
        call()
        taken.append(time.perf_counter() - begin)
    return taken


def _device_seconds(torch: Any, call: Callable[[], Any], calls: int = CALLS) -> List[float]:
    for _ in range(WARM_CALLS):
        call()
    taken = []
    for _ in range(calls):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        call()
        end.record()
        end.synchronize()
        taken.append(begin.elapsed_time(end) / 1000.0)
    return taken


if __name__ == "__main__":
    main()
