"""RMSNorm: y = x * rsqrt(mean(x^2) + 1e-6) * weight, rows on partitions, columns on the free dimension.

SBUF at N = 4096, per partition: x, its square and the weight 16 KB each in float32, the result 8 KB in bfloat16 or
16 KB in float32; 64 KB of 192 KB at most, so two iterations can be in flight.

Engines, as far as the scheduler leaves it to the instruction: loads and the store on the DMA queues, square and rsqrt
on the scalar engine, the mean and the two products on the vector engine.
"""

import neuronxcc.nki.language as nl
from neuronxcc import nki

EPSILON = 1e-6


@nki.jit
def rmsnorm(x, weight):
    """Return y[M, N] in x's dtype for x[M, N] and weight[N] in HBM."""
    rows, columns = x.shape
    y = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)

    partitions = nl.tile_size.pmax
    partition = nl.arange(partitions)[:, None]
    column = nl.arange(columns)[None, :]

    first = nl.arange(1)[:, None]
    weight_row = nl.load(weight.reshape((1, columns))[first, column], dtype=nl.float32)
    weight_tile = weight_row.broadcast_to((partitions, columns))

    # Tiles share nothing but the weight, which is only read: the iterations may overlap.
    for tile in nl.affine_range((rows + partitions - 1) // partitions):
        row = tile * partitions + partition
        live = row < rows

        x_tile = nl.load(x[row, column], mask=live, dtype=nl.float32)
        mean_square = nl.mean(nl.square(x_tile, mask=live), axis=[1], mask=live, keepdims=True)
        scale = nl.rsqrt(nl.add(mean_square, EPSILON, mask=live), mask=live)
        normalized = nl.multiply(x_tile, scale, mask=live)
        y_tile = nl.multiply(normalized, weight_tile, mask=live, dtype=x.dtype)
        nl.store(y[row, column], value=y_tile, mask=live)

    return y
