"""Gradients of single examples, one call of a compiled function for each example."""
# finding: launch-bound, tiny-kernels, host-bound
# remedy: vmap|batch
import jax
import jax.numpy as jnp


def prepare(fixed):
    keys = jax.random.split(jax.random.key(0), 4)
    parameters = [jax.random.normal(keys[0], (256, 256)) * 0.05, jax.random.normal(keys[1], (256, 1)) * 0.05]
    inputs, targets = jax.random.normal(keys[2], (64, 256)), jax.random.normal(keys[3], (64,))

    def loss(weights, x, y):
        return ((jnp.tanh(x @ weights[0]) @ weights[1])[0] - y) ** 2

    def norm(weights, x, y):
        return sum((g ** 2).sum() for g in jax.grad(loss)(weights, x, y))

    single, whole = jax.jit(norm), jax.jit(jax.vmap(norm, in_axes=(None, 0, 0)))
    rows = [(inputs[i], targets[i]) for i in range(64)]

    def measure(rounds):
        for _ in range(rounds):
            if fixed:
                norms = whole(parameters, inputs, targets)
            else:
                norms = [single(parameters, x, y) for x, y in rows]
        return norms

    return measure


prepare.steps = 60
