"""Long profiler files: a details page of ncu with so many rows, a trace of torch.profiler with so many bytes."""

from __future__ import annotations

import csv
import io
import random
from pathlib import Path

PAGE = Path(__file__).parents[1] / "harness" / "profiles" / "data" / "ncu.details.csv"
KERNELS = 40
HEAD = """\
{
  "schemaVersion": 1,
  "deviceProperties": [
    {"id": 0, "name": "NVIDIA H200", "computeMajor": 9, "computeMinor": 0}
  ],
  "traceEvents": [
  {
    "ph": "M", "name": "process_name", "ts": 5332070577545.085, "pid": 394, "tid": 0,
    "args": {
      "name": "python"
    }
  }"""
OPERATOR = """,
  {
    "ph": "X", "cat": "cpu_op", "name": "aten::%s", "pid": 394, "tid": 394,
    "ts": %.3f, "dur": %.3f,
    "args": {
      "External id": %d,"Sequence number": %d, "Fwd thread id": 0, "Record function id": 0, "Ev Idx": %d
    }
  }"""
RUNTIME = """,
  {
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 394, "tid": 394,
    "ts": %.3f, "dur": %.3f,
    "args": {
      "External id": %d, "cbid": 211, "correlation": %d
    }
  },
  {
    "ph": "s", "id": %d, "pid": 394, "tid": 394, "ts": %.3f,
    "cat": "ac2g", "name": "ac2g"
  }"""
KERNEL = """,
  {
    "ph": "X", "cat": "kernel", "name": "void elementwise_kernel<%d, float>(int, float*)", "pid": 0, "tid": 7,
    "ts": %.3f, "dur": %.3f,
    "args": {
      "External id": %d,
      "queued": 0, "device": 0, "context": 1,
      "stream": 7, "correlation": %d,
      "registers per thread": %d,
      "shared memory": 0,
      "blocks per SM": 0.030303,
      "warps per SM": 0.121212,
      "grid": [%d, 1, 1],
      "block": [128, 1, 1],
      "est. achieved occupancy %%": 31
    }
  }"""
TAIL = """
  ],
  "traceName": "trace.json"
}
"""


def ncu_page(path: Path, rows: int) -> Path:
    """Write a page of `rows` rows: launch after launch of a real one's metrics, each with a time of its own."""
    titles, *launch = csv.reader(io.StringIO(PAGE.read_text()))
    identity, kernel, metric, value = (titles.index(t) for t in ("ID", "Kernel Name", "Metric Name", "Metric Value"))
    with path.open("w", newline="") as file:
        page = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
        page.writerow(titles)
        for number in range(rows):
            which, at = divmod(number, len(launch))
            row = [*launch[at], *[""] * (len(titles) - len(launch[at]))]
            row[identity], row[kernel] = str(which), f"kernel_{which % KERNELS}{row[kernel]}"
            if row[metric] == "Duration":
                row[value] = f"{6.75 + which % 100:,.2f}"
            page.writerow(row)
    return path


def torch_trace(path: Path, size: int) -> Path:
    """Write a trace of at least `size` bytes: calls of operators, each of which launches a kernel."""
    draw = random.Random(20261203)
    written = 0
    with path.open("w") as file:
        written += file.write(HEAD)
        call = 0
        while written < size:
            call += 1
            now = 5332070577545.085 + 40 * call
            took = 1 + draw.random()
            written += file.write(OPERATOR % ("add_" if call % 3 else "mul", now, 20 + took, call, call, call))
            written += file.write(RUNTIME % (now + 5, 8 + took, call, call, call, now + 5))
            kind = call % KERNELS
            written += file.write(KERNEL % (kind, now + 16, took, call, call, 16 + kind, 1 + kind))
        file.write(TAIL)
    return path
