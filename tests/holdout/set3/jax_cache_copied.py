"""Writes one position of a large cache and reads a part of it; the cache is not donated."""
# finding: memory-bound, exposed-transfers
# remedy: donat
from functools import partial

import jax
import jax.numpy as jnp


def prepare(fixed):
    @partial(jax.jit, donate_argnums=(0,) if fixed else ())
    def decode(cache, query, position):
        entry = jnp.tanh(query)[:, None, :]
        cache = jax.lax.dynamic_update_slice(cache, entry, (0, position, 0))
        window = cache[:, :1024, :]
        weights = jax.nn.softmax(jnp.einsum("bd,bnd->bn", query, window) / 11.3)
        return cache, jnp.einsum("bn,bnd->bd", weights, window)

    caches = [jnp.zeros((64, 16384, 128), jnp.float32)]
    start = jnp.ones((64, 128), jnp.float32)

    def write(tokens):
        query = start
        for i in range(tokens):
            caches[0], query = decode(caches[0], query, i)
        return query

    return write


prepare.steps = 200
