"""wmma fragments of every shape, type and layout that runs, with random operands against numpy in float64."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from kgrade.harness.emulator import translate
from kgrade.harness.emulator.compiler import Compiler
from kgrade.harness.emulator.complaints import complaint
from tests.harness.emulator.planted import Planted, findings, named

pytestmark = pytest.mark.xdist_group("emulator")

NUMPY = {
    "half": np.float16, "__nv_bfloat16": ml_dtypes.bfloat16, "precision::tf32": np.float32, "float": np.float32,
    "double": np.float64, "signed char": np.int8, "unsigned char": np.uint8, "int": np.int32,
}  # fmt: skip


@dataclass(frozen=True)
class Product:
    """Shape, type of A and B, type of C and D, and which of A, B, and C with D, lie by rows."""

    m: int
    n: int
    k: int
    of: str
    sums: str
    rows: tuple[bool, bool, bool]
    saturates: bool = False

    @property
    def name(self) -> str:
        by = "".join("rc"[not each] for each in self.rows)
        of = f"{self.of} {self.sums}".replace(":", "").replace(" ", "_")
        return f"m{self.m}n{self.n}k{self.k}_{of}_{by}{'_satf' * self.saturates}"

    def source(self) -> str:
        row, column = "wmma::row_major", "wmma::col_major"
        stored = "float" if self.of == "precision::tf32" else self.of
        of = f"wmma::{self.of}" if self.of.startswith("precision") else self.of
        size = f"{self.m}, {self.n}, {self.k}"
        lead = (
            self.k if self.rows[0] else self.m, self.n if self.rows[1] else self.k, self.n if self.rows[2] else self.m
        )  # fmt: skip
        memory = "wmma::mem_row_major" if self.rows[2] else "wmma::mem_col_major"
        parameters = f"const {stored}* a, const {stored}* b, const {self.sums}* c, {self.sums}* d"
        return f"""
__global__ void k_{self.name}({parameters}) {{
  wmma::fragment<wmma::matrix_a, {size}, {of}, {row if self.rows[0] else column}> fa;
  wmma::fragment<wmma::matrix_b, {size}, {of}, {row if self.rows[1] else column}> fb;
  wmma::fragment<wmma::accumulator, {size}, {self.sums}> fc, fd;
  wmma::load_matrix_sync(fa, a, {lead[0]});
  wmma::load_matrix_sync(fb, b, {lead[1]});
  wmma::load_matrix_sync(fc, c, {lead[2]}, {memory});
  wmma::mma_sync(fd, fa, fb, fc, {str(self.saturates).lower()});
  for (int i = 0; i < fd.num_elements; ++i) fd.x[i] = fd.x[i] + fd.x[i] - fd.x[i];
  wmma::store_matrix_sync(d, fd, {lead[2]}, {memory});
}}
extern "C" int {self.name}({parameters}, cudaStream_t s) {{
  k_{self.name}<<<1, 32, 0, s>>>(a, b, c, d);
  return cudaGetLastError();
}}
"""


def _products() -> list[Product]:
    types = [
        ((16, 16, 8), "precision::tf32", "float"), ((8, 8, 4), "double", "double"),
    ]  # fmt: skip
    for shape in ((16, 16, 16), (32, 8, 16), (8, 32, 16)):
        types += [(shape, "half", sums) for sums in ("float", "half")] + [(shape, "__nv_bfloat16", "float")]
        types += [(shape, of, "int") for of in ("signed char", "unsigned char")]
    layouts = [(a, b, c) for a in (True, False) for b in (True, False) for c in (True, False)]
    return [
        Product(*shape, of, sums, by, saturates)
        for shape, of, sums in types
        for by in layouts
        for saturates in ((False, True) if sums == "int" and by == layouts[1] else (False,))
    ]


PRODUCTS = _products()
SHORT = [
    Product(16, 16, 8, "precision::tf32", "float", (True, False, True)),
    Product(32, 8, 16, "half", "half", (False, True, True)),
    Product(8, 32, 16, "unsigned char", "int", (True, False, False), saturates=True),
    Product(8, 8, 4, "double", "double", (True, True, True)),
]
HEAD = "#include <mma.h>\n#include <cuda_fp16.h>\n#include <cuda_bf16.h>\nusing namespace nvcuda;\n"


def _compare(load: Any, products: Sequence[Product], product: Product) -> None:
    loaded = load(HEAD + "".join(each.source() for each in products))
    rng = np.random.default_rng(3)
    m, n, k = product.m, product.n, product.k
    of, sums = NUMPY[product.of], NUMPY[product.sums]
    if product.sums == "int":
        limits = np.iinfo(of)
        a, b = (rng.integers(limits.min, limits.max + 1, shape).astype(of) for shape in ((m, k), (k, n)))
        c = rng.integers(-(2**31), 2**31, (m, n)).astype(sums)
        c[0], c[1] = 2**31 - 1, -(2**31)
    else:
        a, b, c = (
            rng.standard_normal(shape).astype(kind) for shape, kind in (((m, k), of), ((k, n), of), ((m, n), sums))
        )
        if product.of == "precision::tf32":
            a, b = ((x.view(np.uint32) & 0xFFFFE000).view(np.float32) for x in (a, b))
    given = [np.ascontiguousarray(x if by else x.T) for x, by in zip((a, b, c), product.rows, strict=True)]
    d = np.zeros_like(given[2])
    assert loaded.call(product.name, *given, d, None) == 0
    got = d if product.rows[2] else d.T
    if product.sums == "int":
        total = a.astype(np.int64) @ b.astype(np.int64) + c
        expected = np.clip(total, -(2**31), 2**31 - 1) if product.saturates else total.astype(np.int32)
        assert np.array_equal(got, expected)
        return
    wide = [x.astype(np.float64) for x in (a, b, c)]
    expected, size = wide[0] @ wide[1] + wide[2], np.abs(wide[0]) @ np.abs(wide[1]) + np.abs(wide[2])
    bound = (2.0**-48 if product.sums == "double" else 2.0**-20) * size
    bound += 2.0**-11 * np.abs(expected) if product.sums == "half" else 0
    assert (np.abs(got.astype(np.float64) - expected) <= bound).all()


@pytest.mark.parametrize("product", SHORT, ids=lambda product: product.name)
def test_a_product_of_fragments_is_right(load: Any, product: Product) -> None:
    _compare(load, SHORT, product)


@pytest.mark.long
@pytest.mark.parametrize("product", PRODUCTS, ids=lambda product: product.name)
def test_every_product_of_fragments_is_right(load: Any, product: Product) -> None:
    _compare(load, PRODUCTS, product)


@pytest.mark.long
@pytest.mark.parametrize(
    "fragment",
    ["wmma::matrix_a, 16, 16, 8, half, wmma::row_major", "wmma::accumulator, 16, 16, 32, float",
     "wmma::matrix_b, 16, 16, 16, float, wmma::row_major", "wmma::accumulator, 16, 16, 16, __nv_bfloat16"],
)  # fmt: skip
def test_a_fragment_that_no_device_has_is_refused(compiler: Compiler, tmp_path: Any, fragment: str) -> None:
    source = f"{HEAD}__global__ void k() {{\n  wmma::fragment<{fragment}> f;\n  wmma::fill_fragment(f, 0);\n}}\n"
    (tmp_path / "a.cu").write_bytes(translate({"a.cu": source.encode()})["a.cu"])
    compiled = compiler.compile(tmp_path, tmp_path, False)
    assert compiled.shared is None
    said = complaint(compiled.log, ["a.cu"])
    assert said.startswith("a.cu:6: ")
    assert "no wmma fragment of this shape and type runs" in said


TILE = """wmma::fragment<wmma::accumulator, 16, 16, 16, float> f;
__shared__ __align__(32) float s[400];
const int t = threadIdx.x;
for (int i = t; i < 400; i += 32) s[i] = x[i % n];
__syncthreads();
"""
PLANTED = [
    Planted("a stride that is no multiple of 16 bytes", "misaligned",
            TILE + "wmma::load_matrix_sync(f, s, @, wmma::mem_row_major); //!\n"
            "for (int i = t; i < n; i += 32) y[i] = f.x[0];",
            "18", "20", launch="k<<<1, 32>>>(x, y, n);", access="stride of 72 bytes"),
    Planted("a tile that begins off 16 bytes", "misaligned",
            TILE + "wmma::load_matrix_sync(f, s, 16, wmma::mem_row_major); __syncwarp();\n"
            "wmma::store_matrix_sync(s + @, f, 16, wmma::mem_col_major); //!\n"
            "for (int i = t; i < n; i += 32) y[i] = s[i];",
            "2", "4", launch="k<<<1, 32>>>(x, y, n);", access="no multiple of 16"),
]  # fmt: skip


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.name)
def test_a_tile_where_none_may_lie_is_named_and_its_repair_is_not(load: Any, planted: Planted) -> None:
    found, marked = findings(load, PLANTED, planted, wrong=True, head=HEAD)
    assert named(planted, found, marked), (marked, [finding.sentence() for finding in found])
    found, _ = findings(load, PLANTED, planted, wrong=False, head=HEAD)
    assert [finding.sentence() for finding in found] == []
