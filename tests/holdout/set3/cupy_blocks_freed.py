"""Gives the memory of the pool back to the driver after every frame."""
# finding: allocation
# remedy: free_all_blocks|pool
import cupy as cp


def prepare(fixed):
    pool = cp.get_default_memory_pool()
    frames = cp.random.random((8, 2048, 2048), dtype=cp.float32)

    def sharpen(rounds):
        for i in range(rounds):
            frame = frames[i % 8]
            spectrum = cp.fft.rfft2(frame)
            result = cp.fft.irfft2(spectrum * 1.1, s=frame.shape) - frame
            total = result.sum()
            del spectrum, result
            if not fixed:
                pool.free_all_blocks()
        return total

    return sharpen


prepare.steps = 80
