"""Barrier objects, pipelines, asynchronous copies and captured graphs."""

from __future__ import annotations

import numpy as np

from tests.harness.emulator.kernels.case import Case, Kernels, f32, normal, wide

kernel = Kernels()


@kernel
def barrier_object(rng: np.random.Generator) -> Case:
    x = normal(rng, 5, 64)
    return Case([x], [f32(5, 64)], [5], [2 * wide(x) + wide(x)[:, ::-1]], 1e-6)


@kernel
def barrier_copies(rng: np.random.Generator) -> Case:
    x = normal(rng, 5, 128)
    return Case([x], [f32(5, 128)], [5], [x[:, ::-1]], 0)


@kernel
def pipeline_stages(rng: np.random.Generator) -> Case:
    x = normal(rng, 7, 64)
    return Case([x], [f32(64)], [7], [wide(x).sum(0)[::-1]])


@kernel
def pipeline_roles(rng: np.random.Generator) -> Case:
    x = normal(rng, 8, 32)
    return Case([x], [f32(8, 32)], [8], [x[:, ::-1]], 0)


@kernel
def pipeline_own(rng: np.random.Generator) -> Case:
    x = normal(rng, 5, 64)
    return Case([x], [f32(64)], [5], [wide(x).prod(0)])


@kernel
def group_copies(rng: np.random.Generator) -> Case:
    x = normal(rng, 2, 96)
    return Case([x], [f32(96)], [], [wide(x).sum(0)[::-1]], 1e-6)


@kernel
def captured(rng: np.random.Generator) -> Case:
    x = normal(rng, 100)
    return Case([x], [f32(100)], [100], [14 * wide(x)], 1e-6)
