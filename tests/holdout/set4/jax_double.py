"""Iterates a covariance in double precision, because x64 was switched on for a test."""
# finding: compute-bound, memory-bound
# remedy: float32|f32|x64|single
import jax
import jax.numpy as jnp


def prepare(fixed):
    jax.config.update("jax_enable_x64", True)
    kind = jnp.float32 if fixed else jnp.float64
    start = jax.random.normal(jax.random.key(3), (4096, 4096), kind) * 0.01

    @jax.jit
    def advance(state):
        return jnp.tanh(state @ state.T + jnp.exp(-state * state)) * kind(0.01)

    def run(rounds):
        state = start
        for _ in range(rounds):
            state = advance(state)
        return state

    return run


prepare.steps = 60
