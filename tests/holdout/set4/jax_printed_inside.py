"""Prints the loss from inside of a compiled step."""
# finding: host-bound, sync-in-loop, launch-bound
# remedy: debug\.print|callback
import jax
import jax.numpy as jnp


def prepare(fixed):
    keys = jax.random.split(jax.random.key(2), 2)
    inputs, start = jax.random.normal(keys[0], (2048, 512)), jax.random.normal(keys[1], (512, 512)) * 0.05

    def loss_of(weights):
        return ((jnp.tanh(inputs @ weights) - inputs) ** 2).mean()

    @jax.jit
    def step(weights):
        loss, slope = jax.value_and_grad(loss_of)(weights)
        if not fixed:
            jax.debug.print("loss {}", loss)
        return weights - 0.1 * slope

    def fit(steps):
        weights = start
        for _ in range(steps):
            weights = step(weights)
        return weights

    return fit


prepare.steps = 300
