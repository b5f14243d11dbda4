"""Trains a wide network; one compiled step that takes its parameters over."""
# finding: healthy
from functools import partial

import jax
import jax.numpy as jnp


def prepare(fixed):
    keys = jax.random.split(jax.random.key(1), 5)
    parameters = [jax.random.normal(key, (8192, 8192), jnp.bfloat16) * 0.01 for key in keys[:4]]
    samples = jax.random.normal(keys[4], (8192, 8192), jnp.bfloat16)

    def loss(weights, x):
        for weight in weights:
            x = jax.nn.relu(x @ weight)
        return (x.astype(jnp.float32) ** 2).mean()

    @partial(jax.jit, donate_argnums=0)
    def step(weights, x):
        slopes = jax.grad(loss)(weights, x)
        return [weight - 1e-4 * slope.astype(weight.dtype) for weight, slope in zip(weights, slopes)]

    state = [parameters]

    def train(steps):
        for _ in range(steps):
            state[0] = step(state[0], samples)
        return state[0]

    return train


prepare.steps = 50
