"""Solves many small systems of equations, one after another."""
# finding: launch-bound, tiny-kernels, host-bound, sync-in-loop
# remedy: batch
import torch


def prepare(fixed):
    matrices = torch.randn(128, 32, 32, device="cuda")
    matrices = matrices @ matrices.mT + 32 * torch.eye(32, device="cuda")
    right = torch.randn(128, 32, 1, device="cuda")

    def solve(rounds):
        for _ in range(rounds):
            if fixed:
                result = torch.cholesky_solve(right, torch.linalg.cholesky_ex(matrices).L)
            else:
                result = torch.stack([torch.cholesky_solve(b, torch.linalg.cholesky_ex(a).L)
                                      for a, b in zip(matrices, right)])
        return result

    return solve


prepare.steps = 20
