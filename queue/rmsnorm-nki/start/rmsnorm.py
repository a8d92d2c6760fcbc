"""The source: RMSNorm as the model has it in PyTorch."""

import torch


class RMSNorm(torch.nn.Module):
    """Scales each row to unit root mean square, then by a learned weight per column."""

    def __init__(self, columns: int, epsilon: float = 1e-6) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(columns))
        self.epsilon = epsilon

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return x[M, N], normalized row by row, in its own dtype."""
        wide = x.float()
        scale = torch.rsqrt(wide.square().mean(dim=-1, keepdim=True) + self.epsilon)
        return (wide * scale * self.weight.float()).to(x.dtype)
