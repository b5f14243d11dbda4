"""Appends every result to an array and works on all of it."""
# finding: compilation, host-bound
# remedy: pad|prealloc|fixed|shape|bucket
import jax
import jax.numpy as jnp


def prepare(fixed):
    @jax.jit
    def mean_distance(history, count):
        used = jnp.arange(history.shape[0])[:, None] < count
        return jnp.where(used, jnp.abs(history - history[0]), 0).sum() / count

    def collect(rounds):
        history = jnp.zeros((64, 512)) if fixed else jnp.zeros((1, 512))
        result = 0
        for k in range(rounds):
            row = jnp.full((1, 512), float(k))
            if fixed:
                history = jax.lax.dynamic_update_slice(history, row, (k % 64, 0))
            else:
                history = jnp.concatenate([history, row])
            result = mean_distance(history, k + 2)
        return result

    return collect


prepare.steps = 25
