"""Normalizes the rows of a table, one after another."""
# finding: launch-bound, tiny-kernels, host-bound
# remedy: axis|vectoriz|whole array|batch|fuse|at once
import cupy as cp


def prepare(fixed):
    table = cp.random.random((512, 1024), dtype=cp.float32)

    def normalize(rounds):
        for _ in range(rounds):
            if fixed:
                result = (table - table.mean(axis=1, keepdims=True)) / table.std(axis=1, keepdims=True)
                continue
            result = cp.empty_like(table)
            for i in range(len(table)):
                result[i] = (table[i] - table[i].mean()) / table[i].std()
        return result

    return normalize


prepare.steps = 6
