"""Fits a regression with JAX and asks for the loss after each step."""
import jax
import jax.numpy as jnp


def prepare(fixed):
    inputs = jax.random.normal(jax.random.PRNGKey(0), (8192, 1024))
    targets = jnp.sin(inputs[:, :256])

    def loss_of(weights):
        return jnp.mean((jnp.tanh(inputs @ weights) - targets) ** 2)

    @jax.jit
    def step(weights):
        loss, slope = jax.value_and_grad(loss_of)(weights)
        return weights - 0.1 * slope, loss

    def fit(steps):
        weights, history = jnp.zeros((1024, 256)), []
        for _ in range(steps):
            weights, loss = step(weights)
            history.append(loss if fixed else float(loss))
        return weights

    return fit


prepare.steps = 300
