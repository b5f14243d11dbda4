"""Eight independent simulations of a few blocks each, one after another."""
import cupy as cp

WALK = cp.RawKernel(r"""
extern "C" __global__ void walk(float *state, int turns) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = state[i];
    for (int t = 0; t < turns; t++) x = x + 0.01f * sinf(3.1f * x);
    state[i] = x;
}""", "walk")


def prepare(fixed):
    walkers = [cp.random.random(12 * 256, dtype=cp.float32) for _ in range(8)]
    streams = [cp.cuda.Stream(non_blocking=True) for _ in range(8)]

    def simulate(rounds):
        for _ in range(rounds):
            for state, stream in zip(walkers, streams):
                if fixed:
                    with stream:
                        WALK((12,), (256,), (state, cp.int32(20_000)))
                else:
                    WALK((12,), (256,), (state, cp.int32(20_000)))
        return walkers

    return simulate


prepare.steps = 30
