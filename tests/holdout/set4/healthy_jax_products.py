"""Multiplies large matrices in a loop inside of the compiled function."""
# finding: healthy
import jax
import jax.numpy as jnp


def prepare(fixed):
    matrix = jax.random.normal(jax.random.key(4), (8192, 8192), jnp.bfloat16) * 0.01

    @jax.jit
    def power(x):
        return jax.lax.fori_loop(0, 16, lambda _, y: (y @ matrix).astype(jnp.bfloat16), x)

    def run(rounds):
        x = matrix
        for _ in range(rounds):
            x = power(x)
        return x

    return run


prepare.steps = 20
