"""Compiles a new lambda in every iteration of an optimization."""
# finding: compilation, host-bound
# remedy: once|outside|new (function|lambda)
import jax
import jax.numpy as jnp


def prepare(fixed):
    matrix = jax.random.normal(jax.random.key(0), (1024, 1024)) / 64
    step_once = jax.jit(lambda m, x, rate: x - rate * (m.T @ (m @ x)))

    def descend(rounds):
        x = jnp.ones(1024)
        for k in range(rounds):
            if fixed:
                x = step_once(matrix, x, 0.1)
            else:
                x = jax.jit(lambda m, x, rate: x - rate * (m.T @ (m @ x)))(matrix, x, 0.1)
        return x

    return descend


prepare.steps = 25
