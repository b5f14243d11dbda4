"""A compiled model whose outputs are ranked with NumPy between the batches."""
import jax
import jax.numpy as jnp
import numpy as np


def prepare(fixed):
    weights = jax.random.normal(jax.random.PRNGKey(1), (1024, 4096)) / 32
    score = jax.jit(lambda batch: batch @ weights)
    best = jax.jit(lambda scores: jax.lax.top_k(scores, 16)[1])
    batch = jnp.ones((2048, 1024))

    def rank(batches):
        result = None
        for _ in range(batches):
            scores = score(batch)
            if fixed:
                result = best(scores)
            else:
                order = np.argpartition(np.asarray(scores), -16, axis=1)[:, -16:]
                result = jnp.asarray(order)
        return result

    return rank


prepare.steps = 20
