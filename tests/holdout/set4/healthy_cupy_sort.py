"""Sorts large arrays of keys with CuPy."""
# finding: healthy
import cupy as cp


def prepare(fixed):
    keys = cp.random.randint(0, 1 << 31, 1 << 27, dtype=cp.int32)

    def sort(rounds):
        for _ in range(rounds):
            result = cp.sort(keys)
        return result

    return sort


prepare.steps = 40
