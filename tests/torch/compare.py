"""Random operations on random tensors, by libridge and by PyTorch in double precision.

    compare.py [CASES [SEED]]       CASES=400 SEED=1; --device NAME, --only OPERATION, --case NUMBER

A case is a number: it chooses the operation, the dtype, the sizes (also 0 and 1), the layout of each
operand (contiguous, transposed, sliced, with an offset, repeated) and whether the operation is called
or compiled. Operands are passed without a copy, by DLPack. Results are compared within the bounds of
docs/runtime.md, in ulp of the dtype. Prints each mismatch, and at last `N passed, N failed, N skipped`.
"""

import argparse
import math
import random
import sys

import torch
import torch.nn.functional as F

from ridge import runtime as rt

FLOATS = ("f32", "f16", "bf16")
TORCH = {
    "f32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "i32": torch.int32,
    "u8": torch.uint8,
}
# Bits of the significand, smallest normal exponent.
PRECISION = {"f32": (24, -126), "f16": (11, -14), "bf16": (8, -126)}


class Case:
    """The random choices of a case, and its operands."""

    def __init__(self, number, device):
        self.random = random.Random(number)
        self.generator = torch.Generator().manual_seed(number)
        self.device = device

    def dtype(self, *choices):
        return self.random.choice(choices or FLOATS)

    def size(self, most=9):
        return self.random.choice((0, 1, 1, 2, 3, 5, 7, most, self.random.randint(1, most)))

    def sizes(self, least=0, most=4, nonempty=False):
        rank = self.random.randint(least, most)
        sizes = [self.size() for _ in range(rank)]
        if self.random.random() < 0.1 and rank:
            sizes[self.random.randrange(rank)] = self.random.choice((64, 100, 257, 1030))
        return [max(size, 1) for size in sizes] if nonempty else sizes

    def axis(self, sizes):
        return self.random.randrange(-len(sizes), len(sizes))

    def values(self, sizes, dtype, low=-3.0, high=3.0, special=0.0):
        if dtype in ("i32", "u8"):
            lowest, highest = (0, 256) if dtype == "u8" else (-1000, 1001)
            if (low, high) != (-3.0, 3.0):
                lowest, highest = int(low), int(high)
            return torch.randint(lowest, highest, sizes, generator=self.generator).to(TORCH[dtype])
        made = torch.rand(sizes, generator=self.generator, dtype=torch.float64)
        made = low + (high - low) * made
        if special:
            odd = torch.tensor([math.inf, -math.inf, math.nan, 0.0, -0.0, 1e-30, -60.0, 1e4])
            which = torch.rand(sizes, generator=self.generator) < special
            chosen = torch.randint(0, len(odd), sizes, generator=self.generator)
            made = torch.where(which, odd.double()[chosen], made)
        return made.to(TORCH[dtype])

    def laid_out(self, made):
        """The same values in another layout."""
        rank = made.dim()
        layout = self.random.choice(("contiguous", "permuted", "stepped", "offset"))
        if rank and layout == "permuted":
            order = self.random.sample(range(rank), rank)
            back = [order.index(axis) for axis in range(rank)]
            return made.permute(order).contiguous().permute(back)
        if rank and layout == "stepped":
            axis, step = self.random.randrange(rank), self.random.choice((2, 3))
            wide = torch.zeros(
                [s * step if i == axis else s for i, s in enumerate(made.shape)], dtype=made.dtype
            )
            view = wide[tuple(slice(None, None, step) if i == axis else slice(None) for i in range(rank))]
            view.copy_(made)
            return view
        if layout == "offset":
            skip = self.random.choice((1, 2, 3, 5, 8))
            memory = torch.zeros(made.numel() + skip, dtype=made.dtype)
            memory[skip:] = made.reshape(-1)
            return memory[skip:].view(made.shape)
        return made.contiguous()

    def operand(self, sizes, dtype, **options):
        return self.laid_out(self.values(sizes, dtype, **options))

    def broadcast(self, sizes):
        """Sizes that broadcast with these."""
        kept = [1 if self.random.random() < 0.25 else size for size in sizes]
        return kept[self.random.randint(0, len(kept)) :] if self.random.random() < 0.3 else kept

    def given(self, tensor):
        if self.device.describe()["name"].startswith("cpu"):
            return self.device.from_dlpack(tensor)
        whole = tensor.contiguous()
        return self.device.tensor(whole.float().numpy()).cast(
            {value: key for key, value in TORCH.items()}[tensor.dtype]
        )

    def run(self, function, *operands):
        """The function on tensors of ridge, called or compiled; a tuple."""
        own = [self.given(operand) for operand in operands]
        if self.random.random() < 0.4:
            made = rt.compile(function)(*own)
        else:
            made = function(*own)
        return made if isinstance(made, tuple) else (made,)


def double(tensor):
    return tensor.to(torch.float64)


def result(tensor):
    """As doubles, or integers."""
    if tensor.dtype in ("i32", "u8"):
        return torch.from_numpy(tensor.numpy().astype("int64"))
    return torch.from_numpy(tensor.numpy().astype("float64"))


class Mismatch(Exception):
    pass


def compare(made, expected, bound=0.5, sum_of=None, what=""):
    """Within `bound` ulp of f32, plus half an ulp of a narrower dtype; `sum_of`: of the magnitudes
    of the terms instead of the result."""
    dtype = made.dtype
    got = result(made)
    if tuple(got.shape) != tuple(expected.shape):
        raise Mismatch("%s sizes %s, not %s" % (what, tuple(got.shape), tuple(expected.shape)))
    if dtype in ("i32", "u8"):
        if not torch.equal(got, expected.to(torch.int64)):
            raise Mismatch("%s %s" % (what, first(got, expected, got != expected)))
        return
    expected = expected.to(torch.float64)
    bits, least = PRECISION[dtype]
    largest = torch.finfo(TORCH[dtype]).max
    scale = expected.abs() if sum_of is None else sum_of.to(torch.float64)
    # ulp = 2 ** (exponent - bits + 1)
    exponent = torch.frexp(scale.nan_to_num(0, 0, 0))[1].double() - 1
    ulp32 = torch.pow(2.0, exponent.clamp(min=-126) - 23)
    own = torch.frexp(expected.abs().nan_to_num(0, 0, 0))[1].double() - 1
    own_ulp = torch.pow(2.0, own.clamp(min=least) - bits + 1)
    allowed = bound * ulp32 + (0.5 * own_ulp if dtype != "f32" else 0) + 1e-38
    beyond = expected.abs() >= largest * (1 - 2.0**-bits)  # may round to infinity
    close = (got - expected).abs() <= allowed
    same = (got == expected) | (got.isnan() & expected.isnan())
    infinite = beyond & (got.isinf() | (got.abs() >= largest * 0.99)) & (got.sign() == expected.sign())
    bad = ~(close | same | infinite)
    if bad.any():
        raise Mismatch("%s %s" % (what, first(got, expected, bad)))


def first(got, expected, bad):
    at = bad.nonzero()[0].tolist()
    return "%d of %d differ; at %s: %r, not %r" % (
        int(bad.sum()),
        bad.numel(),
        at,
        got[tuple(at)].item(),
        expected[tuple(at)].item(),
    )


# ---- Operations: each runs a case ------------------------------------------------------------------

OPERATIONS = {}


def operation(function):
    OPERATIONS[function.__name__] = function
    return function


UNARY = {  # reference, bound in ulp, low, high
    "neg": (torch.neg, 0, -3, 3),
    "abs": (torch.abs, 0, -3, 3),
    "square": (torch.square, 0.5, -3, 3),
    "floor": (torch.floor, 0, -30, 30),
    "ceil": (torch.ceil, 0, -30, 30),
    "round": (torch.round, 0, -30, 30),
    "relu": (torch.relu, 0, -3, 3),
    "reciprocal": (torch.reciprocal, 2.5, -3, 3),
    "sin": (torch.sin, 4, -30, 30),
    "cos": (torch.cos, 4, -30, 30),
    "tan": (torch.tan, 5, -1.5, 1.5),
    "exp": (torch.exp, 3, -80, 80),
    "log": (torch.log, 3, 1e-4, 100),
    "log1p": (torch.log1p, 2, -0.9, 100),
    "sqrt": (torch.sqrt, 3, 0, 100),
    "rsqrt": (torch.rsqrt, 2, 1e-4, 100),
    "tanh": (torch.tanh, 5, -10, 10),
    "erf": (torch.erf, 16, -4, 4),
    "sigmoid": (torch.sigmoid, 6, -30, 30),
    "silu": (F.silu, 6, -30, 30),
    "gelu": (F.gelu, 18, -3, 10),
    "gelu_tanh": (lambda x: F.gelu(x, approximate="tanh"), 10, -2, 10),
}


@operation
def unary(case):
    name = case.random.choice(sorted(UNARY))
    reference, bound, low, high = UNARY[name]
    integers = ("i32", "u8") if name in ("neg", "abs", "square", "relu") else ()
    dtype = case.dtype(*FLOATS, *integers)
    special = 0.2 if name not in ("sin", "cos", "tan", "gelu", "gelu_tanh") and dtype in FLOATS else 0
    if name == "sqrt" or name == "rsqrt":
        special = 0
    x = case.operand(case.sizes(), dtype, low=low, high=high, special=special)
    (made,) = case.run(getattr(rt, name), x)
    if dtype in ("i32", "u8"):
        expected = reference(x.to(torch.int64))
        expected = expected & 255 if dtype == "u8" else expected
        return compare(made, expected, what=name)
    expected = reference(double(x))
    scale = torch.maximum(expected.abs(), double(x).abs()) if name.startswith("gelu") else None
    compare(made, expected, bound, scale, what=name + " " + dtype)


BINARY = {
    "add": (torch.add, 0.5),
    "sub": (torch.sub, 0.5),
    "mul": (torch.mul, 0.5),
    "div": (torch.div, 2.5),
    "mod": (torch.remainder, 0.5),
    "pow": (torch.pow, 16),
    "min": (torch.minimum, 0),
    "max": (torch.maximum, 0),
    "equal": (torch.eq, 0),
    "not_equal": (torch.ne, 0),
    "less": (torch.lt, 0),
    "less_equal": (torch.le, 0),
    "greater": (torch.gt, 0),
    "greater_equal": (torch.ge, 0),
    "logical_and": (torch.logical_and, 0),
    "logical_or": (torch.logical_or, 0),
}


@operation
def binary(case):
    name = case.random.choice(sorted(BINARY))
    reference, bound = BINARY[name]
    choices = FLOATS + ("i32", "u8")
    if name.startswith("logical"):
        choices = ("i32", "u8")
    if name == "pow":
        choices = FLOATS
    dtype = case.dtype(*choices)
    options = {"special": 0.2} if name not in ("pow", "mod") and dtype in FLOATS else {}
    if name == "pow":
        options = {"low": 0.1, "high": 4}
    sizes = case.sizes()
    x = case.operand(case.broadcast(sizes), dtype, **options)
    y = case.operand(case.broadcast(sizes), dtype, **options)
    if dtype in ("i32", "u8"):
        wide, other = x.to(torch.int64), y.to(torch.int64)
        if name in ("div", "mod"):
            zero = other == 0
            other = torch.where(zero, torch.ones_like(other), other)
            made_of = torch.div(wide, other, rounding_mode="trunc") if name == "div" else torch.remainder(wide, other)
            expected = torch.where(zero, torch.zeros_like(made_of), made_of)
        else:
            expected = reference(wide, other).to(torch.int64)
        if dtype == "u8":
            expected = expected & 255
    else:
        expected = reference(double(x), double(y))
    if case.random.random() < 0.25 and y.numel() and name != "mod":
        number = y.reshape(-1)[0].item()
        if not math.isfinite(number) or (dtype in ("i32", "u8") and name in ("div",) and number == 0):
            return
        (made,) = case.run(lambda x: getattr(rt, name)(x, number), x)
        y = y.reshape(-1)[:1].reshape(())
        if dtype in ("i32", "u8"):
            other = y.to(torch.int64)
            expected = (torch.div(x.to(torch.int64), other, rounding_mode="trunc") if name == "div"
                        else reference(x.to(torch.int64), other).to(torch.int64))
            expected = expected & 255 if dtype == "u8" else expected
        else:
            expected = reference(double(x), double(y))
        return compare(made, expected, bound, what="%s_scalar %s" % (name, dtype))
    (made,) = case.run(getattr(rt, name), x, y)
    compare(made, expected, bound, what="%s %s" % (name, dtype))


@operation
def ternary(case):
    name = case.random.choice(("where", "clamp", "affine"))
    dtype = case.dtype(*FLOATS, "i32")
    sizes = case.sizes()
    y, z = (case.operand(case.broadcast(sizes), dtype) for _ in range(2))
    if name == "where":
        x = case.operand(case.broadcast(sizes), case.dtype("u8", "i32"), low=0, high=2)
        (made,) = case.run(rt.where, x, y, z)
        return compare(made, torch.where(x != 0, double(y), double(z)), 0, what=name)
    x = case.operand(case.broadcast(sizes), dtype)
    (made,) = case.run(getattr(rt, name), x, y, z)
    if name == "clamp":
        low, high = double(y), double(z)
        expected = torch.where(double(x) < low, low, torch.where(double(x) > high, high, double(x)))
        return compare(made, expected, 0, what=name)
    terms = (double(x) * double(y)).abs() + double(z).abs()
    compare(made, double(x) * double(y) + double(z), 1, terms, what=name + " " + dtype)


@operation
def cast(case):
    source, target = case.dtype(*TORCH), case.dtype(*TORCH)
    x = case.operand(case.sizes(), source, low=-300.0, high=300.0)
    (made,) = case.run(lambda x: x.cast(target), x)
    expected = double(x)
    if target == "i32":
        expected = expected.trunc()
    if target == "u8":
        expected = expected.trunc().to(torch.int64) & 255
    compare(made, expected, 0.5 if target in FLOATS else 0, what="%s to %s" % (source, target))


@operation
def expression(case):
    dtype = case.dtype()
    sizes = case.sizes()
    x, y = (case.operand(case.broadcast(sizes), dtype) for _ in range(2))
    text, reference = case.random.choice(
        (
            ("a * b + 0.5", lambda a, b: a * b + 0.5),
            ("where(a > b, a, -b)", lambda a, b: torch.where(a > b, a, -b)),
            ("max(a, 0) - min(b, 0)", lambda a, b: a.clamp(min=0) - b.clamp(max=0)),
            ("(a - b) * (a + b)", lambda a, b: (a - b) * (a + b)),
        )
    )
    (made,) = case.run(lambda a, b: rt.expression(text, a, b), x, y)
    a, b = double(x), double(y)
    compare(made, reference(a, b), 3, (a.abs() + 1) * (b.abs() + 1) * 4, what=text)


# ---- Reductions ------------------------------------------------------------------------------------


def reduced_axes(case, sizes):
    axes = [axis for axis in range(len(sizes)) if case.random.random() < 0.5]
    return axes or list(range(len(sizes)))


@operation
def reduction(case):
    name = case.random.choice(("sum", "mean", "amax", "amin"))
    dtype = case.dtype(*FLOATS, *(("i32", "u8") if name != "mean" else ()))
    sizes = case.sizes(1, nonempty=name in ("amax", "amin"))
    axes, keep = reduced_axes(case, sizes), case.random.random() < 0.5
    x = case.operand(sizes, dtype)
    (made,) = case.run(lambda x: getattr(rt, name)(x, axes, keep), x)
    count = math.prod(sizes[axis] for axis in axes)
    if dtype in ("i32", "u8"):
        expected = getattr(torch, name)(x.to(torch.int64), axes, keepdim=keep)
        if made.dtype == "u8":
            expected = expected & 255
        return compare(made, expected, what=name)
    expected = getattr(torch, name)(double(x), axes, keepdim=keep)
    terms = torch.sum(double(x).abs(), axes, keepdim=keep) / (count if name == "mean" else 1)
    if name in ("amax", "amin"):
        return compare(made, expected, 0, what=name)
    compare(made, expected, 2 + math.sqrt(count) / 4, terms.nan_to_num(0), what=name + " " + dtype)


@operation
def arg(case):
    name = case.random.choice(("argmax", "argmin"))
    dtype = case.dtype(*TORCH)
    sizes = case.sizes(1, nonempty=True)
    axis, keep = case.axis(sizes), case.random.random() < 0.5
    x = case.operand(sizes, dtype)
    (made,) = case.run(lambda x: getattr(rt, name)(x, axis, keep), x)
    best = getattr(torch, "amax" if name == "argmax" else "amin")(double(x), axis, keepdim=True)
    where = (double(x) == best).to(torch.int64)
    expected = where.argmax(axis, keepdim=keep)  # the first of equals
    compare(made, expected, what=name)


@operation
def softmax(case):
    name = case.random.choice(("softmax", "log_softmax"))
    sizes, dtype = case.sizes(1, nonempty=True), case.dtype()
    axis = case.axis(sizes)
    x = case.operand(sizes, dtype, low=-20, high=20)
    (made,) = case.run(lambda x: getattr(rt, name)(x, axis), x)
    expected = getattr(torch, name)(double(x), axis)
    below = torch.amax(double(x), axis, keepdim=True) - double(x)  # its rounding moves exp()
    scale = expected * (1 + below / 8) if name == "softmax" else expected.abs() + double(x).abs() + 1
    compare(made, expected, 20 + sizes[axis] / 8, scale, what=name + " " + dtype)


@operation
def cumsum(case):
    sizes, dtype = case.sizes(1), case.dtype(*TORCH)
    axis = case.axis(sizes)
    x = case.operand(sizes, dtype)
    (made,) = case.run(lambda x: rt.cumsum(x, axis), x)
    wide = x.to(torch.int64) if dtype in ("i32", "u8") else double(x)
    expected = torch.cumsum(wide, axis)
    terms = torch.cumsum(double(x).abs(), axis)
    compare(made, expected, 2 + sizes[axis] / 2, terms, what="cumsum " + dtype)


@operation
def norm(case):
    name = case.random.choice(("layer_norm", "rms_norm", "group_norm"))
    dtype = case.dtype()
    sizes = case.sizes(2, 4, nonempty=True)
    channels = sizes[1] if name == "group_norm" else sizes[-1]
    x = case.operand(sizes, dtype)
    weight, bias = (case.operand([channels], dtype) for _ in range(2))
    wide = [double(one) for one in (x, weight, bias)]
    if name == "group_norm":
        groups = case.random.choice([g for g in range(1, channels + 1) if channels % g == 0])
        (made,) = case.run(lambda x, w, b: rt.group_norm(x, groups, w, b, 1e-3), x, weight, bias)
        expected = F.group_norm(wide[0], groups, wide[1], wide[2], 1e-3) if math.prod(sizes) > sizes[0] * groups else None
        if expected is None:
            return
    elif name == "layer_norm":
        (made,) = case.run(lambda x, w, b: rt.layer_norm(x, w, b, 1e-3), x, weight, bias)
        expected = F.layer_norm(wide[0], [channels], wide[1], wide[2], 1e-3)
    else:
        (made,) = case.run(lambda x, w: rt.rms_norm(x, w, 1e-3), x, weight)
        mean = wide[0].square().mean(-1, keepdim=True)
        expected = wide[0] * torch.rsqrt(mean + 1e-3) * wide[1]
    compare(made, expected, 40, expected.abs() + 40 * wide[1].abs().max() + wide[2].abs().max(), what=name + " " + dtype)


# ---- Views and joining -----------------------------------------------------------------------------


@operation
def views(case):
    dtype = case.dtype(*TORCH)
    x = case.operand(case.sizes(1), dtype)
    steps = []
    expected = x
    for _ in range(case.random.randint(1, 4)):
        rank = expected.dim()
        kind = case.random.choice(("permute", "slice", "unsqueeze", "select", "reshape", "transpose"))
        if kind == "permute" and rank:
            order = case.random.sample(range(rank), rank)
            expected = expected.permute(order)
            steps.append(lambda t, order=order: t.permute(order))
        elif kind == "transpose" and rank > 1:
            a, b = case.random.sample(range(rank), 2)
            expected = expected.transpose(a, b)
            steps.append(lambda t, a=a, b=b: t.transpose(a, b))
        elif kind == "slice" and rank:
            axis, step = case.random.randrange(rank), case.random.choice((1, 2, 3))
            begin = case.random.randint(0, expected.shape[axis])
            end = case.random.randint(begin, expected.shape[axis])
            expected = expected[tuple(slice(begin, end, step) if i == axis else slice(None) for i in range(rank))]
            steps.append(lambda t, axis=axis, begin=begin, end=end, step=step: rt.slice_(t, axis, begin, end, step))
        elif kind == "unsqueeze" and rank < 6:
            axis = case.random.randint(0, rank)
            expected = expected.unsqueeze(axis)
            steps.append(lambda t, axis=axis: t.unsqueeze(axis))
        elif kind == "select" and rank and min(expected.shape):
            axis = case.random.randrange(rank)
            index = case.random.randrange(expected.shape[axis])
            expected = expected.select(axis, index)
            steps.append(lambda t, axis=axis, index=index: t.select(axis, index))
        elif kind == "reshape" and expected.numel():
            sizes = [-1] if case.random.random() < 0.5 else [expected.numel(), 1]
            expected = expected.reshape(sizes)
            steps.append(lambda t, sizes=sizes: t.reshape(sizes))

    def chain(t):
        for step in steps:
            t = step(t)
        return rt.contiguous(t)

    (made,) = case.run(chain, x)
    compare(made, double(expected), 0, what="views")


@operation
def joining(case):
    name, dtype = case.random.choice(("cat", "stack")), case.dtype(*TORCH)
    sizes = case.sizes(1, 4)
    axis = case.random.randrange(len(sizes))
    parts = []
    for _ in range(case.random.randint(1, 4)):
        own = list(sizes)
        if name == "cat":
            own[axis] = case.size()
        parts.append(case.operand(own, dtype))
    (made,) = case.run(lambda *parts: getattr(rt, name)(list(parts), axis), *parts)
    compare(made, double(getattr(torch, name)(parts, axis)), 0, what=name)


@operation
def indices(case):
    name, dtype = case.random.choice(("gather", "scatter_add", "argsort", "topk", "embedding")), case.dtype()
    sizes = case.sizes(1, 4, nonempty=True)
    axis = case.axis(sizes)
    if name == "embedding":
        table = case.operand([sizes[0], sizes[-1]], dtype)
        index = case.operand(case.sizes(1, 3), "i32", low=0, high=sizes[0])
        (made,) = case.run(rt.embedding, table, index)
        return compare(made, double(F.embedding(index.long(), table)), 0, what=name)
    x = case.operand(sizes, dtype)
    if name in ("gather", "scatter_add"):
        own = list(sizes)
        own[axis] = case.random.randint(1, 6)
        index = case.operand(own, "i32", low=0, high=sizes[axis])
        if name == "gather":
            (made,) = case.run(lambda x, i: rt.gather(x, axis, i), x, index)
            return compare(made, double(torch.gather(x, axis, index.long())), 0, what=name)
        source = case.operand(own, dtype)
        (made,) = case.run(lambda x, i, s: rt.scatter_add(x, axis, i, s), x, index, source)
        expected = torch.scatter_add(double(x), axis, index.long(), double(source))
        terms = torch.scatter_add(double(x).abs(), axis, index.long(), double(source).abs())
        return compare(made, expected, 6, terms, what=name + " " + dtype)
    down = case.random.random() < 0.5
    if name == "argsort":
        (made,) = case.run(lambda x: rt.argsort(x, axis, down), x)
        expected = torch.argsort(x, dim=axis, descending=down, stable=True)
        return compare(made, expected, what=name)
    count = case.random.randint(1, sizes[axis])
    made, at = case.run(lambda x: rt.topk(x, count, axis), x)
    expected = torch.topk(double(x), count, axis)
    compare(made, expected.values, 0, what=name)
    picked = torch.gather(double(x), axis, result(at))
    if not torch.equal(picked, expected.values):
        raise Mismatch("topk: the indices are of other elements")


# ---- Products and models ---------------------------------------------------------------------------


def product_bound(depth):
    return 2 + math.sqrt(depth) / 4


ACTIVATIONS = {
    None: lambda x: x,
    "relu": torch.relu,
    "gelu": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
}


@operation
def matmul(case):
    dtype = case.dtype()
    m, n, k = (case.random.choice((1, 1, 2, 3, 7, 8, 9, 17, 33, 64, 100)) for _ in range(3))
    if case.random.random() < 0.1:
        k = case.random.choice((1000, 4097))
    batch = case.sizes(0, 2, nonempty=True) if case.random.random() < 0.4 else []
    batch = [min(size, 9) for size in batch]
    a = case.operand(case.broadcast(batch) + [m, k], dtype)
    b = case.operand(case.broadcast(batch) + [k, n], dtype)
    kind = case.random.choice(("plain", "activation", "linear", "vector"))
    if kind == "vector":
        b = case.operand([k], dtype)
    (x, y) = double(a), double(b)
    terms = torch.matmul(x.abs(), y.abs())
    if kind in ("plain", "vector"):
        (made,) = case.run(rt.matmul, a, b)
        return compare(made, torch.matmul(x, y), product_bound(k), terms, what="matmul %s %s" % (list(a.shape), list(b.shape)))
    activation = case.random.choice(sorted(ACTIVATIONS, key=str))
    bias = case.operand([n], dtype)
    if kind == "linear":
        b = case.operand([n, k], dtype)
        y = double(b).transpose(0, 1)
        terms = torch.matmul(x.abs(), y.abs())
        (made,) = case.run(lambda a, b, c: rt.linear(a, b, c, activation), a, b, bias)
    else:
        (made,) = case.run(lambda a, b, c: rt.matmul_activation(a, b, c, activation), a, b, bias)
    expected = ACTIVATIONS[activation](torch.matmul(x, y) + double(bias))
    compare(made, expected, product_bound(k) + 10, terms + double(bias).abs() + 1, what="%s %s" % (kind, activation))


@operation
def quantized(case):
    """Products and rows of quantized weights against the weights as they dequantize, which
    scripts/check-quants compares with gguf."""
    own = case.random.choice(rt.DTYPES[5:])
    dtype = case.dtype()
    rows, outputs = case.random.choice((1, 2, 5, 8, 9, 20)), case.random.choice((1, 3, 8, 33, 70))
    block = 32 if own in ("q8_0", "q4_0", "q4_1", "q5_0", "q5_1") else 256
    depth = block * case.random.choice((1, 2, 3, 5))
    values = case.operand([outputs, depth], case.dtype(), low=-1, high=1)
    weight = case.given(values).quantize(own)
    wide = result(rt.dequantize(weight, "f32"))
    if case.random.random() < 0.3:
        index = case.operand(case.sizes(1, 3), "i32", low=0, high=outputs)
        (made,) = case.run(lambda i: rt.embedding(weight, i), index)
        return compare(made, F.embedding(index.long(), wide), 0, what="embedding " + own)
    if own not in ("q8_0", "q4_k"):  # others are dequantized to the dtype of x
        wide = result(rt.dequantize(weight, dtype))
    x = case.operand([rows, depth], dtype)
    activation = case.random.choice(sorted(ACTIVATIONS, key=str))
    bias = case.operand([outputs], dtype)
    (made,) = case.run(lambda x, b: rt.linear(x, weight, b, activation), x, bias)
    expected = ACTIVATIONS[activation](F.linear(double(x), wide, double(bias)))
    terms = F.linear(torch.full_like(double(x), 3.0), wide.abs()) + double(bias).abs() + 1
    # the CPU rounds activations to int16: 2 ** -16 of the largest, 256 ulp of the terms
    compare(made, expected, 256 + product_bound(depth), terms, what="linear %s %s %s" % (own, dtype, activation))


@operation
def mlp(case):
    dtype = case.dtype()
    rows, width, inner = (case.random.choice((1, 2, 5, 8, 16, 40)) for _ in range(3))
    x = case.operand([rows, width], dtype, low=-1, high=1)
    if case.random.random() < 0.5:
        gate, up = (case.operand([inner, width], dtype, low=-1, high=1) for _ in range(2))
        (made,) = case.run(rt.gated_mlp, x, gate, up)
        g, u = (F.linear(double(x), double(w)) for w in (gate, up))
        expected = F.silu(g) * u
        scale = (g.abs() + 1) * (u.abs() + 1) + width
    else:
        rank = case.random.choice((1, 2, 8))
        w = case.operand([inner, width], dtype, low=-1, high=1)
        a, b = case.operand([rank, width], dtype, low=-1, high=1), case.operand([inner, rank], dtype, low=-1, high=1)
        (made,) = case.run(lambda x, w, a, b: rt.lora(x, w, a, b, 0.5), x, w, a, b)
        expected = F.linear(double(x), double(w)) + 0.5 * F.linear(F.linear(double(x), double(a)), double(b))
        scale = torch.full_like(expected, width * (rank + 1))
    # products between may be rounded to the dtype
    loose = {"f32": 1, "f16": 2.0**13, "bf16": 2.0**16}[dtype]
    compare(made, expected, 8 * loose, scale, what="mlp " + dtype)


@operation
def attention(case):
    dtype = case.dtype()
    batch, kv_heads, group = (case.random.choice((1, 2, 3)) for _ in range(3))
    queries, width = case.random.choice((1, 2, 5, 9, 33)), case.random.choice((1, 4, 8, 16, 32, 64, 80))
    keys = queries + case.random.choice((0, 0, 3, 20, 300))
    causal = case.random.random() < 0.5
    q = case.operand([batch, kv_heads * group, queries, width], dtype)
    k, v = (case.operand([batch, kv_heads, keys, width], dtype) for _ in range(2))
    scale = 1 / math.sqrt(width)
    own = [one.contiguous() if one.stride(-1) != 1 else one for one in (q, k, v)]
    (made,) = case.run(lambda q, k, v: rt.attention(q, k, v, scale, causal), *own)
    wide = [double(one) for one in (q, k, v)]
    wide[1:] = [one.repeat_interleave(group, 1) for one in wide[1:]]
    scores = wide[0] @ wide[1].transpose(-1, -2) * scale
    if causal:
        hidden = torch.ones(queries, keys, dtype=torch.bool).triu(keys - queries + 1)
        scores = scores.masked_fill(hidden, -math.inf)
    expected = torch.softmax(scores, -1) @ wide[2]
    loose = {"f32": 64, "f16": 2.0**14, "bf16": 2.0**17}[dtype]  # scores may be rounded to the dtype
    compare(made, expected, loose, torch.full_like(expected, 3.0), what="attention " + dtype)


@operation
def convolution(case):
    dtype = case.dtype()
    axes = case.random.choice((1, 2))
    transposed = case.random.random() < 0.3
    groups = case.random.choice((1, 1, 2))
    inputs, outputs = groups * case.random.randint(1, 3), groups * case.random.randint(1, 3)
    size = [case.random.randint(1, 3) for _ in range(axes)]
    stride, dilation = case.random.randint(1, 3), case.random.randint(1, 2)
    padding = case.random.randint(0, min((s - 1) * dilation for s in size) if transposed else 2)
    length = [case.random.randint(6, 11) for _ in range(axes)]
    x = case.operand([case.random.randint(1, 3), inputs] + length, dtype)
    first = [inputs, outputs // groups] if transposed else [outputs, inputs // groups]
    weight, bias = case.operand(first + size, dtype), case.operand([outputs], dtype)
    name = ("conv_transpose%dd" if transposed else "conv%dd") % axes
    placed = dict(stride=stride, padding=padding, dilation=dilation, groups=groups)
    (made,) = case.run(lambda x, w, b: getattr(rt, name)(x, w, b, **placed), x, weight, bias)
    reference = getattr(F, name)
    expected = reference(double(x), double(weight), double(bias), **placed)
    terms = reference(double(x).abs(), double(weight).abs(), double(bias).abs(), **placed)
    # with groups the bias is added by a second kernel, and windows that are spread are stored
    loose = {"f32": 1, "f16": 2.0**13, "bf16": 2.0**16}[dtype] if transposed or groups > 1 else 1
    compare(made, expected, (product_bound(inputs * 9) + 1) * loose, terms, what="%s %s %s" % (name, dtype, placed))


@operation
def windows(case):
    name = case.random.choice(("max_pool1d", "max_pool2d", "avg_pool1d", "avg_pool2d", "unfold", "pad"))
    dtype = case.dtype()
    axes = 1 if name.endswith("1d") else 2
    x = case.operand([case.random.randint(1, 3), case.random.randint(1, 3)] + [case.random.randint(5, 9) for _ in range(axes)], dtype)
    size, stride = case.random.randint(1, 3), case.random.randint(1, 3)
    padding = case.random.randint(0, size // 2)
    wide = double(x)
    if name == "pad":
        before, after = ([case.random.randint(0, 2) for _ in range(x.dim())] for _ in range(2))
        (made,) = case.run(lambda x: rt.pad(x, before, after, 1.5), x)
        ends = [end for axis in reversed(range(x.dim())) for end in (before[axis], after[axis])]
        return compare(made, F.pad(wide, ends, value=1.5), 0, what=name)
    dilation = case.random.randint(1, 2) if name in ("unfold", "max_pool1d", "max_pool2d") else 1
    placed = dict(stride=stride, padding=padding, dilation=dilation)
    (made,) = case.run(lambda x: getattr(rt, name)(x, size, **placed), x)
    if name.startswith("avg"):
        del placed["dilation"]
    expected = getattr(F, name)(wide, size, **placed)
    compare(made, expected, 4, expected.abs() + 3, what=name + " " + dtype)


@operation
def loss(case):
    name = case.random.choice(("cross_entropy", "mse_loss", "l1_loss", "bce_loss", "kl_loss"))
    dtype = case.dtype()
    rows, classes = case.random.randint(1, 20), case.random.randint(1, 30)
    x = case.operand([rows, classes], dtype)
    wide = double(x)
    if name == "cross_entropy":
        target = case.operand([rows], "i32", low=0, high=classes)
        expected = F.cross_entropy(wide, target.long())
    elif name == "kl_loss":
        target = torch.softmax(case.values([rows, classes], dtype), -1)
        x = torch.log_softmax(x, -1)
        expected = F.kl_div(double(x), double(target), reduction="batchmean")
    elif name == "bce_loss":
        target = case.operand([rows, classes], dtype, low=0, high=1)
        expected = F.binary_cross_entropy_with_logits(wide, double(target))
    else:
        target = case.operand([rows, classes], dtype)
        expected = getattr(F, name)(wide, double(target))
    (made,) = case.run(getattr(rt, name), x, target)
    compare(made, expected, 64, expected.abs() + 4, what=name + " " + dtype)


# ---- Gradients -------------------------------------------------------------------------------------

PIECES = {
    "tanh": (rt.tanh, torch.tanh),
    "sigmoid": (rt.sigmoid, torch.sigmoid),
    "square": (rt.square, torch.square),
    "silu": (rt.silu, F.silu),
    "gelu": (rt.gelu, F.gelu),
    "exp": (lambda x: rt.exp(x * 0.5), lambda x: torch.exp(x * 0.5)),
    "softmax": (lambda x: rt.softmax(x, -1), lambda x: torch.softmax(x, -1)),
    "log_softmax": (lambda x: rt.log_softmax(x, -1), lambda x: torch.log_softmax(x, -1)),
    "layer_norm": (lambda x: rt.layer_norm(x, None, None, 1e-2), lambda x: F.layer_norm(x, x.shape[-1:], eps=1e-2)),
    "transpose": (lambda x: rt.transpose(x, 0, 1), lambda x: x.transpose(0, 1)),
    "slice": (lambda x: x[1:], lambda x: x[1:]),
    "cumsum": (lambda x: rt.cumsum(x, 0), lambda x: torch.cumsum(x, 0)),
    "expression": (lambda x: rt.expression("a * sigmoid(a) + 0.5 * a", x), lambda x: x * torch.sigmoid(x) + 0.5 * x),
    "product": (lambda x: x @ x.T, lambda x: x @ x.T),
    "mean": (lambda x: x - rt.mean(x, 0, True), lambda x: x - x.mean(0, keepdim=True)),
}


@operation
def gradients(case):
    rows, columns = case.random.randint(2, 6), case.random.randint(2, 7)
    x = case.operand([rows, columns], "f32", low=-1, high=1)
    names = []
    sizes = [rows, columns]
    for _ in range(case.random.randint(1, 4)):
        name = case.random.choice(sorted(PIECES))
        if name == "slice" and sizes[0] < 3 or name == "product" and "product" in names:
            continue
        sizes = {"transpose": sizes[::-1], "slice": [sizes[0] - 1, sizes[1]], "product": [sizes[0]] * 2}.get(name, sizes)
        names.append(name)
    weight = case.operand(sizes, "f32")
    own = case.given(weight)

    def function(x):
        y = x
        for name in names:
            y = PIECES[name][0](y)
        loss = rt.sum(y * own)
        return rt.gradients(loss, [x])[0], loss

    given = case.given(x)
    if case.random.random() < 0.5:
        made, total = rt.compile(function)(given)
    else:
        with case.device.tape():
            made, total = function(given)
    wide = double(x).requires_grad_()
    y = wide
    for name in names:
        y = PIECES[name][1](y)
    expected_loss = (y * double(weight)).sum()
    (expected,) = torch.autograd.grad(expected_loss, wide)
    scale = torch.full_like(expected, expected.abs().max().item() + double(weight).abs().sum().item())
    compare(total, expected_loss.detach(), 256, scale.max() + (y * double(weight)).abs().sum().detach(), what="loss of %s" % names)
    compare(made, expected, 256, scale, what="gradient of %s" % names)


# ---- Running ---------------------------------------------------------------------------------------


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cases", nargs="?", type=int, default=400)
    parser.add_argument("seed", nargs="?", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--only", choices=sorted(OPERATIONS))
    parser.add_argument("--case", type=int)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    device = rt.Device(arguments.device)
    names = [arguments.only] if arguments.only else sorted(OPERATIONS)
    numbers = [arguments.case] if arguments.case is not None else range(arguments.cases)
    passed = failed = 0
    for number in numbers:
        case = Case(arguments.seed * 1000003 + number, device)
        name = names[number % len(names)]
        try:
            OPERATIONS[name](case)
            passed += 1
        except (Mismatch, rt.Error) as error:
            failed += 1
            print("FAILED tests/torch: case %d of seed %d, %s: %s" % (number, arguments.seed, name, error))
    print("%d passed, %d failed, 0 skipped" % (passed, failed))
    return failed > 0


sys.exit(main())
