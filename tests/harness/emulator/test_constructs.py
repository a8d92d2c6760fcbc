"""What threads do together, memory through PTX, and the host API: one translation unit, each result by numpy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.xdist_group("emulator")


@pytest.fixture(scope="module")
def constructs(load: Any) -> Any:
    return load((Path(__file__).parent / "kernels" / "constructs.cu").read_text())


def test_matrices_are_stored_and_loaded_both_ways(constructs: Any) -> None:
    x = np.arange(128, dtype=np.uint32) * 0x10003 + 7
    y = np.zeros(352, np.uint32)
    assert constructs.call("run_matrices", x, y, None) == 0
    tiles = x.view(np.uint16).reshape(4, 8, 8)  # lane 4 r + t holds columns 2 t and 2 t + 1 of row r

    def turned(count: int) -> Any:
        return np.ascontiguousarray(tiles[:count].transpose(0, 2, 1)).view(np.uint32).reshape(-1)

    np.testing.assert_array_equal(y[:128], x)
    np.testing.assert_array_equal(y[128:256], turned(4))
    np.testing.assert_array_equal(y[256:288], x[:32])
    np.testing.assert_array_equal(y[288:], turned(2))


def test_copies_leave_zeros_where_they_do_not_read(constructs: Any) -> None:
    x, y = np.arange(1, 33, dtype=np.uint32), np.zeros(20, np.uint32)
    assert constructs.call("run_copies", x, y, None) == 0
    assert y.reshape(5, 4).tolist() == [[1, 7, 7, 7], [2, 3, 7, 7], [1, 0, 0, 0], [0, 0, 0, 0], [1, 2, 3, 4]]


def test_atomics_and_vectors_of_memory(constructs: Any) -> None:
    y, f, wide = np.zeros(16, np.uint32), np.zeros(33, np.float32), np.array([1, 2, 1, 3, 0, 0], np.uint64)
    y[2] = 2**32 - 9
    assert constructs.call("run_memory", y, f, wide, None) == 0
    assert y[:4].tolist() == [32 % 6, 64, 2**32 - 3, 0x50005400]  # 32 times 1 and 2, as halves
    assert y[4:9].tolist() == [1, 2, 0x3F800000, 4, 0x3F800004]
    assert (int(y[9]), int(y[10])) == (0xFF00, 2**32 - 1)
    assert f.tolist() == [48.0] + [2.5] * 32
    assert wide.tolist() == [3, 4, 1, 3, 3, 4]


def test_groups(constructs: Any) -> None:
    y = np.zeros((2, 64, 12), np.int32)
    constructs.call("run_groups", y, None)
    t = np.arange(64)
    warp, tile = t // 32, t // 8
    for i in t:
        third = [j for j in t if warp[j] == warp[i] and j % 3 == i % 3]
        half = [j for j in t if warp[j] == warp[i] and (j % 32 < 20) == (i % 32 < 20)]
        eight = [j for j in t if tile[j] == tile[i]]
        expected = [
            sum(third), 100 * len(third) + third.index(i), max(half), sum(j for j in eight if j <= i),
            sum(j for j in eight if j < i), sum(1 << n for n, j in enumerate(eight) if j // 2 == i // 2), 256,
            i % 16 + 100 * tile[i], eight[0], 8 if i % 4 == 1 else 0,
        ]  # fmt: skip
        for block in range(2):
            assert y[block, i].tolist() == [*expected, 64 * block + i + block, 0], i


def test_a_grid_waits_for_all_of_its_blocks(constructs: Any) -> None:
    y = np.arange(96, dtype=np.int32)
    expected = y.copy()
    for _ in range(3):
        expected = expected + np.roll(expected, -1)
    assert constructs.call("run_whole", y, 96, None) == 0
    np.testing.assert_array_equal(y, expected)


def test_atomic_objects(constructs: Any) -> None:
    y = np.zeros(4, np.int32)
    assert constructs.call("run_objects", np.zeros(1, np.int32), y, None) == 0
    assert y.tolist() == [sum(range(32)), 31, 1, 64]


def test_the_host_api(constructs: Any) -> None:
    x = np.arange(77, dtype=np.float32)
    assert constructs.call("run_host", x, 7, 11, None) == 0
    expected = np.arange(77, dtype=np.float32) * 6
    expected[0] += 1
    np.testing.assert_array_equal(x, expected)
