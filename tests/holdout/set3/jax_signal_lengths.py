"""Smooths recordings of all lengths with a compiled function."""
# finding: compilation
# remedy: pad|bucket|shape
import itertools

import jax
import jax.numpy as jnp
import numpy


def prepare(fixed):
    @jax.jit
    def smooth(signal):
        total = jnp.cumsum(signal)
        mean = (total[16:] - total[:-16]) / 16
        return jnp.tanh(mean - mean.mean()).std()

    lengths = itertools.count(4001, 13)

    def run(recordings):
        for _ in range(recordings):
            signal = numpy.ones(next(lengths), numpy.float32)
            if fixed:
                signal = numpy.pad(signal, (0, 16384 - len(signal)))
            result = smooth(signal)
        return result

    return run


prepare.steps = 20
