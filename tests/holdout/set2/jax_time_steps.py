"""A damped wave: one compiled time step, called from a Python loop."""
import jax
import jax.numpy as jnp


def prepare(fixed):
    def advance(state, _=None):
        position, speed = state
        force = jnp.roll(position, 1) + jnp.roll(position, -1) - 2 * position
        speed = 0.999 * speed + 0.01 * force
        return (position + speed, speed), None

    single = jax.jit(lambda state: advance(state)[0])
    whole = jax.jit(lambda state: jax.lax.scan(advance, state, None, length=500)[0])
    start = (jnp.sin(jnp.linspace(0, 6.28, 4096)), jnp.zeros(4096))

    def simulate(blocks):
        state = start
        for _ in range(blocks):
            if fixed:
                state = whole(state)
                continue
            for _ in range(500):
                state = single(state)
        return state

    return simulate


prepare.steps = 15
