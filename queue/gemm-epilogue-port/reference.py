"""Matrix product with a bias and ReLU epilogue."""

import torch


def gemm_bias_relu(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Return y[M, N] = relu(a[M, K] @ b[K, N] + bias[N]), in the inputs' dtype."""
    return torch.relu(torch.matmul(a, b) + bias)
