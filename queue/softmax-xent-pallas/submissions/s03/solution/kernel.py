"""Softmax cross-entropy for TPU: one pass over the logits, running values in VMEM."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

# Multiples of the (16, 128) tile that bfloat16 has; overhanging blocks are padded by Pallas.
ROWS = 32
COLS = 1024


def _block_loss(labels_ref, logits_ref, loss_ref, top_ref, total_ref, picked_ref):
    """One block of rows meets its blocks of columns in order; the last one finishes the loss."""
    step = pl.program_id(1)

    @pl.when(step == 0)
    def _start():
        top_ref[...] = jnp.full_like(top_ref, -jnp.inf)
        total_ref[...] = jnp.zeros_like(total_ref)
        picked_ref[...] = jnp.zeros_like(picked_ref)

    cols = step * COLS + jax.lax.broadcasted_iota(jnp.int32, logits_ref.shape, 1)
    x = logits_ref[...].astype(jnp.float32)

    top = jnp.maximum(top_ref[...], jnp.max(x, axis=1, keepdims=True))
    shrink = jnp.exp(top_ref[...] - top)
    total_ref[...] = total_ref[...] * shrink + jnp.sum(jnp.exp(x - top), axis=1, keepdims=True)
    top_ref[...] = top
    # No indexed load on the vector unit: the label's logit is the one column that compares equal.
    picked_ref[...] += jnp.sum(jnp.where(cols == labels_ref[...], x, 0.0), axis=1, keepdims=True)

    @pl.when(step == pl.num_programs(1) - 1)
    def _finish():
        loss_ref[...] = (top_ref[...] - picked_ref[...]) + jnp.log(total_ref[...])


def cross_entropy(logits: jax.Array, labels: jax.Array) -> jax.Array:
    """Loss of each row of finite logits [M, V] with labels [M]; any M and V."""
    n_rows, n_cols = logits.shape
    column = pl.BlockSpec((ROWS, 1), lambda i, j: (i, 0))
    loss = pl.pallas_call(
        _block_loss,
        grid=(pl.cdiv(n_rows, ROWS), pl.cdiv(n_cols, COLS)),
        in_specs=[column, pl.BlockSpec((ROWS, COLS), lambda i, j: (i, j))],
        out_specs=column,
        out_shape=jax.ShapeDtypeStruct((n_rows, 1), jnp.float32),
        scratch_shapes=[pltpu.VMEM((ROWS, 1), jnp.float32)] * 3,
        # Blocks of rows are independent; blocks of columns carry the running values from one to the next.
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "arbitrary")),
    )(labels[:, None], logits)
    return loss[:, 0]
