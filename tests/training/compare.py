"""Trains models with libridge and with PyTorch from the same weights, and compares the loss of every
step and the weights at the end.

    python3 compare.py LIBRIDGE [DEVICE]

Prints what differs and finally `N passed, N failed, N skipped`.
"""

import ctypes
import sys

import torch
from torch.nn import functional

F32, I32 = 0, 3
STEPS = 12


class Options(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int)] + [
        (name, ctypes.c_double)
        for name in "rate momentum beta1 beta2 epsilon weight_decay clip_norm loss_scale".split()
    ] + [("growth_interval", ctypes.c_uint)]


FUNCTION = ctypes.CFUNCTYPE(
    ctypes.c_bool, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_void_p)
)


def handles(values):
    return (ctypes.c_void_p * len(values))(*values)


def sizes(values):
    return (ctypes.c_int64 * len(values))(*values)


class Ridge:
    """The functions of ridge.h that the models use."""

    def __init__(self, path, device):
        self.lib = lib = ctypes.CDLL(path)
        lib.ridge_error_message.restype = ctypes.c_char_p
        for name in (
            "device_open from_host matmul_activation matmul linear add mul relu rms_norm layer_norm "
            "attention rope embedding reshape transpose cross_entropy mse_loss optimizer_create "
            "compile split slice mean"
        ).split():
            getattr(lib, f"ridge_{name}").restype = ctypes.c_void_p
        for name in "program_run to_floats gradients optimizer_step split".split():
            getattr(lib, f"ridge_{name}").restype = ctypes.c_bool
        self.device = ctypes.c_void_p(lib.ridge_device_open(device.encode()))
        if not self.device:
            raise RuntimeError(self.message())

    def message(self):
        return self.lib.ridge_error_message().decode()

    def __getattr__(self, name):
        function = getattr(self.lib, f"ridge_{name}")

        def call(*arguments):
            made = function(*arguments)
            if not made:
                raise RuntimeError(self.message())
            return ctypes.c_void_p(made) if function.restype is ctypes.c_void_p else made

        return call

    def tensor(self, values):
        values = values.detach().contiguous()
        dtype = I32 if values.dtype == torch.int32 else F32
        return self.from_host(
            self.device, dtype, len(values.shape), sizes(values.shape),
            ctypes.c_void_p(values.data_ptr()),
        )

    def floats(self, tensor, shape):
        values = torch.empty(shape, dtype=torch.float32)
        self.to_floats(tensor, ctypes.c_void_p(values.data_ptr()), ctypes.c_size_t(values.numel()))
        return values


class Mlp:
    name = "mlp"
    widths = (6, 32, 32, 5)

    def prepare(self, r):
        pass

    def parameters(self):
        made = []
        for a, b in zip(self.widths, self.widths[1:]):
            made += [torch.randn(a, b) * (2 / a) ** 0.5, torch.randn(b) * 0.1]
        return made

    def batch(self):
        return torch.randn(24, 6), torch.randint(0, 5, (24,), dtype=torch.int32)

    def torch_loss(self, p, x, y):
        x = functional.gelu(x @ p[0] + p[1], approximate="tanh")
        x = functional.silu(x @ p[2] + p[3])
        return functional.cross_entropy(x @ p[4] + p[5], y.long())

    def ridge_loss(self, r, p, x, y):
        x = r.matmul_activation(x, p[0], p[1], 2)
        x = r.matmul_activation(x, p[2], p[3], 3)
        return r.cross_entropy(r.matmul_activation(x, p[4], p[5], 0), y)


class Transformer:
    """Grouped heads, rotary positions, both norms, and the embedding also at the end."""

    name = "transformer"
    batch_size, tokens, width, heads, kv_heads, words = 3, 10, 32, 4, 2, 17
    layers = 2

    def prepare(self, r):
        self.positions = r.tensor(torch.arange(self.tokens, dtype=torch.int32))

    def parameters(self):
        w = self.width
        made = [torch.randn(self.words, w) * 0.2]
        for _ in range(self.layers):
            made += [torch.ones(w), torch.randn(w, w + w) * w**-0.5, torch.randn(w, w) * w**-0.5]
            made += [torch.ones(w), torch.zeros(w)]
            made += [torch.randn(w, 4 * w) * w**-0.5, torch.randn(4 * w, w) * (4 * w) ** -0.5]
        return made + [torch.ones(w)]

    def batch(self):
        made = torch.randint(0, self.words, (self.batch_size, self.tokens + 1), dtype=torch.int32)
        return made[:, :-1].contiguous(), made[:, 1:].contiguous()

    def rotate(self, x):
        half = x.shape[-1] // 2
        angle = torch.outer(
            torch.arange(self.tokens).float(), 100.0 ** (-torch.arange(half).float() / half)
        )
        a, b = x[..., :half], x[..., half:]
        return torch.cat(
            [a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1
        )

    def torch_loss(self, p, x, y):
        head, w = self.width // self.heads, self.width
        x = p[0][x.long()]
        for layer in range(self.layers):
            norm, qkv, out, scale, shift, up, down = p[1 + 7 * layer : 8 + 7 * layer]
            q, k, v = (functional.rms_norm(x, (w,), norm, 1e-5) @ qkv).split(
                [w, w // 2, w // 2], -1
            )
            q, k, v = (t.view(*t.shape[:2], -1, head).transpose(1, 2) for t in (q, k, v))
            q, k = self.rotate(q), self.rotate(k)
            k, v = (t.repeat_interleave(self.heads // self.kv_heads, 1) for t in (k, v))
            s = (q @ k.transpose(-1, -2)) * head**-0.5
            s = s.masked_fill(torch.ones(self.tokens, self.tokens).triu(1).bool(), float("-inf"))
            x = x + (s.softmax(-1) @ v).transpose(1, 2).reshape(x.shape) @ out
            h = functional.layer_norm(x, (w,), scale, shift, 1e-5)
            x = x + functional.gelu(h @ up, approximate="tanh") @ down
        x = functional.rms_norm(x, (w,), p[-1], 1e-5)
        return functional.cross_entropy((x @ p[0].T).flatten(0, 1), y.long().flatten())

    def ridge_heads(self, r, x, begin, end):
        count = (end - begin) * self.heads // self.width
        x = r.slice(x, -1, ctypes.c_int64(begin), ctypes.c_int64(end), ctypes.c_int64(1))
        shape = (self.batch_size, self.tokens, count, self.width // self.heads)
        return r.transpose(r.reshape(x, 4, sizes(shape)), 1, 2)

    def ridge_loss(self, r, p, x, y):
        w, epsilon = self.width, ctypes.c_float(1e-5)
        x = r.embedding(p[0], x)
        for layer in range(self.layers):
            norm, qkv, out, scale, shift, up, down = p[1 + 7 * layer : 8 + 7 * layer]
            h = r.matmul(r.rms_norm(x, norm, epsilon), qkv)
            q, k, v = (
                self.ridge_heads(r, h, *part)
                for part in ((0, w), (w, w + w // 2), (w + w // 2, 2 * w))
            )
            q, k = (
                r.rope(t, self.positions, ctypes.c_float(100), ctypes.c_bool(False))
                for t in (q, k)
            )
            factor = ctypes.c_float((w // self.heads) ** -0.5)
            h = r.transpose(r.attention(q, k, v, factor, ctypes.c_bool(True)), 1, 2)
            h = r.reshape(h, 3, sizes((self.batch_size, self.tokens, w)))
            x = r.add(x, r.matmul(h, out))
            h = r.layer_norm(x, scale, shift, epsilon)
            x = r.add(x, r.matmul(r.matmul_activation(h, up, None, 2), down))
        x = r.rms_norm(x, p[-1], epsilon)
        return r.cross_entropy(r.linear(x, p[0], None, 0), y)


OPTIMIZERS = {
    "sgd": (
        dict(kind=0, rate=0.05),
        lambda p: torch.optim.SGD(p, lr=0.05),
    ),
    "momentum": (
        dict(kind=0, rate=0.05, momentum=0.9, weight_decay=0.01),
        lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=0.01),
    ),
    "adam": (
        dict(kind=1, rate=0.01, weight_decay=0.01),
        lambda p: torch.optim.Adam(p, lr=0.01, weight_decay=0.01),
    ),
    "adamw, clipped": (
        dict(kind=2, rate=0.01, weight_decay=0.1, clip_norm=0.5),
        lambda p: torch.optim.AdamW(p, lr=0.01, weight_decay=0.1),
    ),
}


def train_torch(model, start, batches, make, clip):
    parameters = [p.double().requires_grad_() for p in start]
    optimizer, losses = make(parameters), []
    for x, y in batches:
        x = x.double() if x.is_floating_point() else x
        optimizer.zero_grad()
        loss = model.torch_loss(parameters, x, y)
        loss.backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(parameters, clip)
        optimizer.step()
        losses.append(loss.item())
    return losses, [p.detach() for p in parameters]


def train_ridge(ridge, model, start, batches, options):
    model.prepare(ridge)
    parameters = [ridge.tensor(p) for p in start]
    optimizer = ridge.optimizer_create(
        handles([p.value for p in parameters]), len(parameters), ctypes.byref(Options(**options))
    )
    errors = []

    @FUNCTION
    def step(context, inputs, outputs):
        try:
            gradients = (ctypes.c_void_p * len(parameters))()
            x, y = (ctypes.c_void_p(inputs[i]) for i in range(2))
            loss = model.ridge_loss(ridge, parameters, x, y)
            ridge.gradients(loss, handles([p.value for p in parameters]), len(parameters), gradients)
            ridge.optimizer_step(optimizer, gradients)
            outputs[0] = loss.value
            return True
        except Exception as error:  # a callback cannot raise
            errors.append(error)
            return False

    program, losses = None, []
    for x, y in batches:
        inputs = handles([ridge.tensor(x).value, ridge.tensor(y).value])
        if not program:
            program = ridge.lib.ridge_compile(step, None, inputs, 2, 1)
            if not program:
                raise RuntimeError(f"{ridge.message()} {errors}")
            program = ctypes.c_void_p(program)
        outputs = (ctypes.c_void_p * 1)()
        ridge.program_run(program, inputs, outputs)
        losses.append(ridge.floats(ctypes.c_void_p(outputs[0]), ()).item())
    return losses, [ridge.floats(p, s.shape) for p, s in zip(parameters, start)]


def compare(name, ours, theirs):
    for i, (a, b) in enumerate(zip(ours[0], theirs[0])):
        if not abs(a - b) <= 2e-4 * max(1, abs(b)):
            return f"{name}: the loss of step {i} is {a}, in PyTorch {b}"
    for i, (a, b) in enumerate(zip(ours[1], theirs[1])):
        off = (a.double() - b).abs().max().item() / max(1e-3, b.abs().max().item())
        if not off <= 5e-3:
            return f"{name}: parameter {i} is off by {off:.2g} of its largest element"
    return None


def main():
    torch.manual_seed(7)
    ridge = Ridge(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "cpu")
    passed = failed = 0
    for model in (Mlp(), Transformer()):
        start = model.parameters()
        batches = [model.batch() for _ in range(STEPS)]
        for title, (options, make) in OPTIMIZERS.items():
            name = f"{model.name} with {title}"
            theirs = train_torch(model, start, batches, make, options.get("clip_norm"))
            wrong = compare(name, train_ridge(ridge, model, start, batches, options), theirs)
            if wrong:
                print(f"FAILED {wrong}")
                failed += 1
            else:
                passed += 1
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
