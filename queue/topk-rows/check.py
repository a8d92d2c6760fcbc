"""Accepts every right top-8: equal entries may stand for one another."""

import numpy as np

Arrays = dict[str, np.ndarray]


def _first(wrong: np.ndarray) -> str:
    """Where the first fault stands, and how many rows have one."""
    row = int(np.flatnonzero(wrong)[0])
    return f"row {row} (and {int(wrong.sum()) - 1} more)"


def check(inputs: Arrays, outputs: Arrays, reference: Arrays) -> tuple[bool, str]:
    """Judge values [M, 8] and indices [M, 8] against x [M, N] and the values of the float64 oracle."""
    x = inputs["x"].astype(np.float64)
    values = outputs["values"].astype(np.float64)
    indices = outputs["indices"].astype(np.int64)
    expected = (x.shape[0], 8)
    if values.shape != expected or indices.shape != expected:
        return False, f"shapes are {values.shape} and {indices.shape}, expected {expected} for both"

    outside = ((indices < 0) | (indices >= x.shape[1])).any(axis=1)
    if outside.any():
        return False, f"an index is outside 0 ... {x.shape[1] - 1}: {_first(outside)}"
    repeated = (np.diff(np.sort(indices, axis=1), axis=1) == 0).any(axis=1)
    if repeated.any():
        return False, f"an index is given twice: {_first(repeated)}"
    foreign = (np.take_along_axis(x, indices, axis=1) != values).any(axis=1)
    if foreign.any():
        return False, f"a value is not the input at its index: {_first(foreign)}"
    # Comparing neighbours, not differences: (-inf) - (-inf) is NaN.
    unordered = (values[:, 1:] > values[:, :-1]).any(axis=1)
    if unordered.any():
        return False, f"values are not in descending order: {_first(unordered)}"
    smaller = (values != np.asarray(reference["values"], dtype=np.float64)).any(axis=1)
    if smaller.any():
        return False, f"the values are not the eight largest: {_first(smaller)}"
    return True, "distinct indices of the eight largest entries, in order"
