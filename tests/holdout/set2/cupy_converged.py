"""Conjugate gradients that ask after every iteration whether to go on."""
import cupy as cp


def prepare(fixed):
    n = 2048
    matrix = cp.random.random((n, n), dtype=cp.float32)
    matrix = matrix @ matrix.T / n + n * cp.eye(n, dtype=cp.float32)
    right = cp.random.random(n, dtype=cp.float32)

    def solve(rounds):
        x = cp.zeros(n, dtype=cp.float32)
        for _ in range(rounds):
            x = cp.zeros(n, dtype=cp.float32)
            r = right.copy()
            p = r.copy()
            rr = r @ r
            for iteration in range(25):
                ap = matrix @ p
                alpha = rr / (p @ ap)
                x += alpha * p
                r -= alpha * ap
                new = r @ r
                if not fixed and float(new) < 0:
                    break
                p = r + (new / rr) * p
                rr = new
        return x

    return solve


prepare.steps = 30
