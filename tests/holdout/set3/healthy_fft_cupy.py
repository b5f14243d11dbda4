"""Filters long signals in the frequency domain with large batched transforms."""
# finding: healthy
import cupy as cp


def prepare(fixed):
    signals = cp.random.random((4096, 32768), dtype=cp.float32).astype(cp.complex64)

    def transform(rounds):
        for _ in range(rounds):
            result = cp.fft.ifft(cp.fft.fft(signals, axis=1), axis=1)
        return result

    return transform


prepare.steps = 60
