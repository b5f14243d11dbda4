"""Computes gradients in a compiled function and updates the parameters outside of it."""
# finding: launch-bound, tiny-kernels, host-bound
# remedy: jax\.jit|one jit|whole (function|step)
import jax
import jax.numpy as jnp


def prepare(fixed):
    keys = jax.random.split(jax.random.key(1), 12)
    weights = [jax.random.normal(key, (256, 256)) / 16 for key in keys]
    moments = [jnp.zeros_like(w) for w in weights]
    x = jax.random.normal(jax.random.key(2), (128, 256))

    def loss(weights):
        y = x
        for w in weights:
            y = jnp.tanh(y @ w)
        return (y ** 2).mean()

    def update(weights, moments, gradients):
        moments = [0.9 * m + 0.1 * g for m, g in zip(moments, gradients)]
        return [w - 1e-3 * m / (1e-8 + jnp.abs(m)) for w, m in zip(weights, moments)], moments

    gradient = jax.jit(jax.grad(loss))
    whole = jax.jit(lambda weights, moments: update(weights, moments, jax.grad(loss)(weights)))

    def train(steps):
        w, m = weights, moments
        for _ in range(steps):
            w, m = whole(w, m) if fixed else update(w, m, gradient(w))
        return w

    return train


prepare.steps = 60
