"""Looks values up in a large NumPy table that is sent to the device at every call."""
# finding: pageable, exposed-transfers, host-bound
# remedy: device_put|jnp\.asarray|on the (GPU|device)|once|pin
import jax
import jax.numpy as jnp
import numpy


def prepare(fixed):
    table = numpy.random.default_rng(0).random((1 << 18, 64), numpy.float32)
    places = jnp.asarray(numpy.random.default_rng(1).integers(0, 1 << 18, 1 << 16))
    if fixed:
        table = jax.device_put(table)

    @jax.jit
    def look_up(values, where):
        return jnp.tanh(values[where]).sum(axis=1)

    def run(rounds):
        for _ in range(rounds):
            result = look_up(table, places)
        return result

    return run


prepare.steps = 40
