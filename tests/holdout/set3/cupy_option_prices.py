"""Prices options with the Black-Scholes formula, one array operation after another."""
# finding: memory-bound
# remedy: cupy\.fuse|cp\.fuse|ElementwiseKernel|RawKernel
import cupy as cp


def prices(spot, strike, years, rate, spread):
    root = spread * cp.sqrt(years)
    upper = (cp.log(spot / strike) + (rate + 0.5 * spread * spread) * years) / root
    lower = upper - root
    first = 0.5 * (1 + cp.tanh(0.797884 * (upper + 0.044715 * upper * upper * upper)))
    second = 0.5 * (1 + cp.tanh(0.797884 * (lower + 0.044715 * lower * lower * lower)))
    return spot * first - strike * cp.exp(-rate * years) * second


def prepare(fixed):
    count = 1 << 24
    spot = cp.random.uniform(80, 120, count, dtype=cp.float32)
    strike = cp.random.uniform(80, 120, count, dtype=cp.float32)
    years = cp.random.uniform(0.1, 2, count, dtype=cp.float32)
    price = cp.fuse()(prices) if fixed else prices

    def value(days):
        for _ in range(days):
            result = price(spot, strike, years, cp.float32(0.02), cp.float32(0.3))
        return result

    return value


prepare.steps = 100
