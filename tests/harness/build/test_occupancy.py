"""Occupancy against known values and against NVIDIA's own calculator compiled from the toolkit's header."""

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from kgrade.harness.build.occupancy import largest_block, occupancy
from kgrade.harness.build.targets import ARCHITECTURES, architecture
from kgrade.harness.build.toolkit import find_toolkit

KIB = 1024


def of(target, registers, shared, threads):
    found = occupancy(architecture(target).limits, registers=registers, shared_bytes=shared, block_threads=threads)
    return found.active_warps, found.max_warps, found.limiter


@pytest.mark.parametrize(
    ("target", "registers", "shared", "threads", "expected"),
    [
        ("sm_80", 32, 0, 256, (64, 64, "warps, registers")),
        ("sm_80", 64, 0, 256, (32, 64, "registers")),
        ("sm_80", 255, 0, 256, (8, 64, "registers")),
        ("sm_80", 32, 48 * KIB, 256, (24, 64, "shared memory")),
        ("sm_80", 32, 163 * KIB, 128, (4, 64, "shared memory")),
        ("sm_80", 32, 164 * KIB, 128, (0, 64, "shared memory")),
        ("sm_80", 16, 0, 32, (32, 64, "blocks")),
        ("sm_86", 32, 0, 1024, (32, 48, "warps")),
        ("sm_90", 168, 192 * KIB, 384, (12, 64, "registers, shared memory")),
        ("sm_75", 64, 0, 256, (32, 32, "warps, registers")),
        ("sm_90", 128, 0, 1024, (0, 64, "registers")),
    ],
)
def test_known_values(target, registers, shared, threads, expected):
    assert of(target, registers, shared, threads) == expected


def test_the_largest_block_is_the_launch_bound_or_what_registers_allow():
    limits = architecture("sm_90").limits
    assert largest_block(limits, 32, 256) == 256
    assert [largest_block(limits, registers, None) for registers in (32, 64, 128, 255)] == [1024, 1024, 512, 256]


@pytest.mark.parametrize("threads", [0, 1025])
def test_impossible_blocks_are_refused(threads):
    with pytest.raises(ValueError, match="a block has 1 to 1024"):
        of("sm_80", 32, 0, threads)


PROGRAM = """
#include <cstdio>
#include <cstddef>
#include <climits>
#include "cuda_occupancy.h"
int main() {
  int major, minor, threads_sm, regs, threads; size_t sm, optin, reserved, shared;
  while (scanf("%d %d %d %zu %zu %zu %d %zu %d", &major, &minor, &threads_sm, &sm, &optin, &reserved, &regs, &shared,
               &threads) == 9) {
    cudaOccDeviceProp p; p.computeMajor = major; p.computeMinor = minor; p.maxThreadsPerBlock = 1024;
    p.maxThreadsPerMultiprocessor = threads_sm; p.regsPerBlock = p.regsPerMultiprocessor = 65536; p.warpSize = 32;
    p.sharedMemPerBlock = 49152; p.sharedMemPerMultiprocessor = sm; p.numSms = 1; p.sharedMemPerBlockOptin = optin;
    p.reservedSharedMemPerBlock = reserved;
    cudaOccFuncAttributes a; a.maxThreadsPerBlock = 1024; a.numRegs = regs; a.sharedSizeBytes = shared;
    a.partitionedGCConfig = PARTITIONED_GC_OFF; a.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    a.maxDynamicSharedSizeBytes = 0; a.numBlockBarriers = 1;
    cudaOccDeviceState s; s.cacheConfig = CACHE_PREFER_NONE; s.carveoutConfig = 100;
    cudaOccResult r;
    cudaOccError e = cudaOccMaxActiveBlocksPerMultiprocessor(&r, &p, &a, &s, threads, 0);
    printf("%d\\n", e == CUDA_OCC_SUCCESS ? r.activeBlocksPerMultiprocessor : -1);
  }
}
"""


def test_equal_to_nvidias_calculator(tmp_path):
    toolkit, compiler = find_toolkit(), shutil.which("g++")
    if toolkit is None or compiler is None:
        pytest.skip("nvcc or g++ is not installed")
    headers = [folder for folder in (toolkit.root / "include", Path("/usr/local/cuda/include"),
               *Path("/usr/local").glob("cuda-*/include"), *toolkit.includes)
               if (folder / "cuda_occupancy.h").is_file()]  # fmt: skip
    if not headers:
        pytest.skip("cuda_occupancy.h is not installed")
    (tmp_path / "occupancy.cpp").write_text(PROGRAM)
    program = tmp_path / "occupancy"
    built = [compiler, "-O0", "-w", f"-I{headers[0]}", "-o", str(program), str(tmp_path / "occupancy.cpp")]
    subprocess.run(built, check=True, timeout=120)
    rng = random.Random(4)
    asked, ours = [], []
    for name, arch in ARCHITECTURES.items():
        if arch.limits is None:
            continue
        capability = name.removeprefix("sm_")
        for _ in range(250):
            registers, threads = rng.randint(1, rng.choice([32, 255])), rng.randint(1, rng.choice([96, 1024]))
            shared = rng.choice([0, rng.randint(0, arch.limits.shared_per_block)])
            asked.append(
                f"{capability[:-1]} {capability[-1]} {arch.limits.threads} {arch.limits.shared} "
                f"{arch.limits.shared_per_block} {arch.limits.shared_reserved} {registers} {shared} {threads}"
            )
            warps = -(-threads // 32)
            ours.append(of(name, registers, shared, threads)[0] // warps)
    ran = subprocess.run([program], input="\n".join(asked), capture_output=True, text=True, check=True, timeout=60)
    theirs = [int(line) for line in ran.stdout.split()]
    assert len(theirs) == len(ours) == 2750
    different = [(line, us, them) for line, us, them in zip(asked, ours, theirs, strict=True) if us != them]
    assert not different, different[:5]
