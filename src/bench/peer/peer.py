# The same work in another framework. ridge starts this as
#
#   python3 -c THIS torch|mlx|jax DEVICE THREADS
#
# A request is a line of JSON, {"prepare": {...}} or {"batch": calls}; an answer is a line of MARK, a
# word and its text. All other output goes to standard error. The functions are those of
# src/bench/workloads, with the same names and order of inputs, each written as the framework's users
# would write it.
import sys

if sys.path and sys.path[0] == "":
    sys.path.pop(0)  # a torch.py in the user's folder is not PyTorch

import collections
import gc
import importlib.util
import json
import os
import queue
import signal
import threading
import types
from time import perf_counter_ns

MARK = b"ridge-peer "
DTYPES = {"f32": "float32", "f16": "float16", "bf16": "bfloat16", "i32": "int32"}


class Unusable(Exception):
    """The framework, or its support for this device, is not available."""


class Lacking(Exception):
    """The framework has no such function or type."""


def load(title, module, package):
    python = sys.executable or "python3"
    if importlib.util.find_spec(module) is None:
        raise Unusable(
            f"{title} is not installed for {python}: '{python} -m pip install {package}' gets it, "
            "or set RIDGE_PYTHON to an interpreter that has it"
        )
    try:
        return importlib.import_module(module)
    except Exception as error:
        raise Unusable(f"{title} does not load in {python}: {in_one_line(error)}")


def in_one_line(error):
    lines = [line.strip() for line in str(error).splitlines()]
    text = next((line for line in lines if line), "")
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def is_lack(error, text):
    """Frameworks have many error messages for an unsupported type on a device."""
    if isinstance(error, NotImplementedError):
        return True
    return "not implemented for" in text or "not supported by" in text


class Place:
    """A device of ridge in a framework."""

    def __init__(self, name, threads):
        self.kind, _, number = name.partition(":")
        self.number = int(number) if number.isdigit() else 0
        self.threads = threads
        self.on_cpu = self.kind not in ("cuda", "metal")

    def cpu_words(self, threads_kept):
        words = f"the CPU, {self.threads} thread{'s' if self.threads > 1 else ''}"
        words = words if threads_kept else "the CPU"
        return words + (" (it has no OpenCL)" if self.kind == "opencl" else "")


class Torch:
    title = "PyTorch"
    only_compiled = False

    def __init__(self, place):
        # Compiling in this process leaves no workers to disturb what is timed next.
        os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
        self.torch = torch = load(self.title, "torch", "torch")
        self.kind = "cpu"
        words = place.cpu_words(True)
        if place.kind == "cuda":
            words = self.use_cuda(place)
        elif place.kind == "metal":
            if not torch.backends.mps.is_available():
                raise Unusable(f"PyTorch {torch.__version__} of {sys.executable} cannot use Metal")
            self.kind, words = "mps", "Metal"
        else:
            torch.set_num_threads(place.threads)
        self.device = torch.device(self.kind, place.number if self.kind == "cuda" else None)
        self.description = f"PyTorch {torch.__version__.split('+')[0]} on {words}"
        self.dtypes = {ours: getattr(torch, theirs) for ours, theirs in DTYPES.items()}
        self.operations = self.make_operations()
        torch.manual_seed(1)

    def use_cuda(self, place):
        torch = self.torch
        if not torch.cuda.is_available() or place.number >= torch.cuda.device_count():
            raise Unusable(
                f"PyTorch {torch.__version__} of {sys.executable} cannot use "
                f"cuda:{place.number}: install a build of it for this driver's CUDA"
            )
        self.kind = "cuda"
        torch.cuda.set_device(place.number)
        tf32 = "on" if torch.backends.cuda.matmul.allow_tf32 else "off"
        return f"{torch.cuda.get_device_name(place.number)} (tf32 {tf32})"

    def make_operations(self):
        torch, functional = self.torch, self.torch.nn.functional

        def attention(q, k, v, scale):
            grouped = {"enable_gqa": True} if q.shape[1] != k.shape[1] else {}
            return functional.scaled_dot_product_attention(
                q, k, v, is_causal=True, scale=scale, **grouped
            )

        return types.SimpleNamespace(
            copy=torch.clone,
            sin=torch.sin, cos=torch.cos, exp=torch.exp, log=torch.log,
            relu=torch.relu, silu=functional.silu, gelu=functional.gelu,
            gelu_tanh=lambda x: functional.gelu(x, approximate="tanh"),
            affine=lambda x, y, z: torch.addcmul(z, x, y),
            sum=torch.sum,
            row_max=lambda x: torch.amax(x, -1),
            softmax=lambda x: torch.softmax(x, -1),
            layer_norm=lambda x, weight, bias, epsilon: functional.layer_norm(
                x, x.shape[-1:], weight, bias, epsilon
            ),
            rms_norm=lambda x, weight, epsilon: functional.rms_norm(
                x, x.shape[-1:], weight, epsilon
            ),
            linear=functional.linear,
            attention=attention,
            train=self.train,
        )

    def train(self, loss_of):
        """A step: the loss, its gradients with respect to inputs 2 and following, their update."""
        torch = self.torch

        def step(x, target, *weights, loss_of=loss_of):
            with torch.inference_mode(False), torch.enable_grad():
                parameters = [weight.detach().requires_grad_() for weight in weights]
                loss = loss_of(x, target, *parameters)
                gradients = torch.autograd.grad(loss, parameters)
            with torch.no_grad():
                torch._foreach_add_(list(weights), list(gradients), alpha=-1e-7)
            return loss.detach()

        # The loss is compiled, and with it its gradient.
        step.compiled = lambda: lambda *inputs, loss=self.compile(loss_of): step(
            *inputs, loss_of=loss
        )
        return step

    def random(self, dtype, sizes, scale):
        torch = self.torch
        if dtype == "i32":
            return torch.randint(
                0, max(1, int(scale)), sizes, dtype=torch.int32, device=self.device
            )
        return torch.randn(sizes, device=self.device).mul_(scale).to(self.dtypes[dtype])

    def forget(self):
        self.torch._dynamo.reset()
        if self.kind == "cuda":
            self.torch.cuda.empty_cache()

    def compile(self, function):
        return self.torch.compile(function, dynamic=False)

    def wait(self):
        if self.kind == "cuda":
            self.torch.cuda.synchronize()
        elif self.kind == "mps":
            self.torch.mps.synchronize()

    def batch(self, function, inputs, outputs, first, calls):
        count = len(inputs)
        with self.torch.inference_mode():
            start = perf_counter_ns()
            for turn in range(first, first + calls):
                turn %= count
                outputs[turn] = None
                outputs[turn] = function(*inputs[turn])
            self.wait()
            return perf_counter_ns() - start


class Mlx:
    title = "MLX"
    only_compiled = False

    def __init__(self, place):
        package = "mlx" if sys.platform == "darwin" else '"mlx[cpu]"'
        if place.kind == "cuda":
            package = '"mlx[cuda]"'
        self.mx = mx = load(self.title, "mlx.core", package)
        self.nn = importlib.import_module("mlx.nn")
        words = place.cpu_words(False)
        self.device = mx.cpu
        if not place.on_cpu:
            self.device = mx.Device(mx.gpu, place.number)
            words = self.use_gpu(place, package)
        mx.set_default_device(self.device)
        self.description = f"MLX {mx.__version__} on {words}"
        self.dtypes = {ours: getattr(mx, theirs) for ours, theirs in DTYPES.items()}
        self.operations = self.make_operations()
        mx.random.seed(1)

    def use_gpu(self, place, package):
        part = getattr(self.mx, place.kind, None)
        if part is None or not part.is_available() or not self.mx.is_available(self.device):
            raise Unusable(
                f"MLX {self.mx.__version__} of {sys.executable} cannot use "
                f"{place.kind}:{place.number}; '{sys.executable} -m pip install {package}' may"
            )
        if place.kind == "metal":
            return "Metal"
        tf32 = "off" if os.environ.get("MLX_ENABLE_TF32") == "0" else "on"
        return f"cuda:{place.number} (tf32 {tf32})"

    def make_operations(self):
        mx, nn = self.mx, self.nn
        return types.SimpleNamespace(
            copy=lambda x: x + 0,  # mx.array(x) and mx.contiguous(x) share x's memory
            sin=mx.sin, cos=mx.cos, exp=mx.exp, log=mx.log,
            relu=nn.relu, silu=nn.silu, gelu=nn.gelu, gelu_tanh=nn.gelu_approx,
            affine=lambda x, y, z: x * y + z,
            sum=mx.sum,
            row_max=lambda x: mx.max(x, axis=-1),
            softmax=lambda x: mx.softmax(x, axis=-1),
            layer_norm=mx.fast.layer_norm,
            rms_norm=mx.fast.rms_norm,
            linear=lambda x, w: x @ w.T,
            attention=lambda q, k, v, scale: mx.fast.scaled_dot_product_attention(
                q, k, v, scale=scale, mask="causal"
            ),
        )

    def random(self, dtype, sizes, scale):
        mx = self.mx
        if dtype == "i32":
            made = mx.random.randint(0, max(1, int(scale)), sizes, dtype=mx.int32)
        else:
            made = (mx.random.normal(sizes) * scale).astype(self.dtypes[dtype])
        mx.eval(made)
        return made

    def forget(self):
        self.mx.clear_cache()

    def compile(self, function):
        return self.mx.compile(function)

    def batch(self, function, inputs, outputs, first, calls):
        count, begin = len(inputs), self.mx.async_eval
        start = perf_counter_ns()
        for turn in range(first, first + calls):
            turn %= count
            outputs[turn] = None
            outputs[turn] = function(*inputs[turn])
            begin(outputs[turn])
        self.mx.synchronize()
        return perf_counter_ns() - start


class Jax:
    title = "JAX"
    only_compiled = True
    in_flight = 4  # calls that are not awaited yet; on a CPU they may overtake each other

    def __init__(self, place):
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # ridge needs memory too
        os.environ["JAX_PLATFORMS"] = "cpu" if place.on_cpu else "cuda"
        package = "jax" if place.on_cpu else '"jax[cuda12]"'
        if place.kind == "metal":
            raise Unusable("JAX cannot use Metal: take --peer mlx or torch, or -d cpu")
        self.jax = jax = load(self.title, "jax", package)
        self.nn = importlib.import_module("jax.nn")
        self.jnp = jnp = importlib.import_module("jax.numpy")
        try:
            self.device = jax.devices()[place.number if not place.on_cpu else 0]
        except (RuntimeError, IndexError):
            raise Unusable(
                f"JAX {jax.__version__} of {sys.executable} cannot use cuda:{place.number}; "
                f"'{sys.executable} -m pip install {package}' may"
            )
        words = place.cpu_words(True)
        if not place.on_cpu:
            words = f"{self.device.device_kind} ({self.precision()})"
        jax.config.update("jax_default_device", self.device)
        self.description = f"JAX {jax.__version__} on {words}"
        self.dtypes = {ours: getattr(jnp, theirs) for ours, theirs in DTYPES.items()}
        self.operations = self.make_operations()
        self.key = jax.random.key(1)

    def precision(self):
        chosen = self.jax.config.jax_default_matmul_precision
        return f"f32 products: {chosen}" if chosen else "f32 products may use tf32"

    def make_operations(self):
        jnp, nn = self.jnp, self.nn

        # f16 and bf16 are computed in f32 and rounded once, as everywhere.
        def layer_norm(x, weight, bias, epsilon):
            wide = x.astype(jnp.float32)
            centered = wide - wide.mean(-1, keepdims=True)
            y = centered / jnp.sqrt((centered * centered).mean(-1, keepdims=True) + epsilon)
            y = y if weight is None else y * weight
            return (y if bias is None else y + bias).astype(x.dtype)

        def rms_norm(x, weight, epsilon):
            wide = x.astype(jnp.float32)
            y = wide / jnp.sqrt((wide * wide).mean(-1, keepdims=True) + epsilon)
            return (y if weight is None else y * weight).astype(x.dtype)

        def attention(q, k, v, scale):
            q, k, v = (part.swapaxes(1, 2) for part in (q, k, v))
            made = nn.dot_product_attention(q, k, v, scale=scale, is_causal=True)
            return made.swapaxes(1, 2)

        return types.SimpleNamespace(
            copy=jnp.copy,
            sin=jnp.sin, cos=jnp.cos, exp=jnp.exp, log=jnp.log,
            relu=nn.relu, silu=nn.silu,
            gelu=lambda x: nn.gelu(x, approximate=False),
            gelu_tanh=lambda x: nn.gelu(x, approximate=True),
            affine=lambda x, y, z: x * y + z,
            sum=jnp.sum,
            row_max=lambda x: jnp.max(x, -1),
            softmax=lambda x: nn.softmax(x, -1),
            layer_norm=layer_norm,
            rms_norm=rms_norm,
            linear=lambda x, w: x @ w.T,
            attention=attention,
        )

    def random(self, dtype, sizes, scale):
        random = self.jax.random
        self.key, key = random.split(self.key)
        if dtype == "i32":
            made = random.randint(key, sizes, 0, max(1, int(scale)), dtype=self.jnp.int32)
        else:
            made = (random.normal(key, sizes) * scale).astype(self.dtypes[dtype])
        return made.block_until_ready()

    def forget(self):
        self.jax.clear_caches()

    def compile(self, function):
        return self.jax.jit(function)

    def batch(self, function, inputs, outputs, first, calls):
        count, pending = len(inputs), collections.deque()
        start = perf_counter_ns()
        for turn in range(first, first + calls):
            turn %= count
            outputs[turn] = None
            outputs[turn] = function(*inputs[turn])
            pending.append(outputs[turn])
            if len(pending) > self.in_flight:
                pending.popleft().block_until_ready()
        self.jax.block_until_ready(list(pending))
        return perf_counter_ns() - start


FRAMEWORKS = {"torch": Torch, "mlx": Mlx, "jax": Jax}


def make_functions(f, numbers):
    """By name: functions of the inputs, over a framework's operations."""
    first = numbers[0] if numbers else 0.0

    def chain(x):
        for _ in range(5):
            x = f.log(f.exp(f.cos(f.sin(x))))
        return x

    def gated_mlp(x, gate, up, down=None):
        hidden = f.silu(x @ gate) * (x @ up)
        return hidden if down is None else hidden @ down

    def matmul_relu(x, w, bias=None):
        return f.relu(x @ w if bias is None else x @ w + bias)

    def add_relu(x, y):
        return f.relu(x + y)

    def mul_relu(x, y):
        return f.relu(x * y)

    def mlp(x, a, b, c):
        return f.relu(f.relu(x @ a) @ b) @ c

    def mlp_loss(x, target, a, b, c):
        return ((mlp(x, a, b, c).float() - target.float()) ** 2).mean()

    def block_loss(x, target, qkv, out, up, down):
        batch, tokens, width = x.shape
        head = 64 if width % 64 == 0 else width
        parts = (f.rms_norm(x, None, 1e-5) @ qkv).chunk(3, -1)
        q, k, v = (part.view(batch, tokens, -1, head).transpose(1, 2) for part in parts)
        y = f.attention(q, k, v, head**-0.5).transpose(1, 2).reshape(batch, tokens, width)
        x = x + y @ out
        y = x + f.gelu_tanh(f.rms_norm(x, None, 1e-5) @ up) @ down
        return ((y.float() - target.float()) ** 2).mean()

    trained = {}
    if hasattr(f, "train"):
        trained = {"train_mlp": f.train(mlp_loss), "train_block": f.train(block_loss)}
    return {
        **vars(f),
        **trained,
        "chain": chain,
        "layer_norm": lambda x, weight=None, bias=None: f.layer_norm(x, weight, bias, first),
        "rms_norm": lambda x, weight=None: f.rms_norm(x, weight, first),
        "matmul": lambda x, w: x @ w,
        "lora": lambda x, w, a, b: x @ w + first * ((x @ a) @ b),
        "gated_mlp": gated_mlp,
        "attention": lambda q, k, v: f.attention(q, k, v, first),
        "rmsnorm_linear": lambda x, weight, w: f.linear(f.rms_norm(x, weight, first), w),
        "add": lambda x, y: x + y,
        "mul": lambda x, y: x * y,
        "matmul_relu": matmul_relu,
        "matmul_then_relu": matmul_relu,
        "add_relu": add_relu,
        "add_then_relu": add_relu,
        "mul_relu": mul_relu,
        "mul_then_relu": mul_relu,
        "mul_then_add": lambda x, y, z: x * y + z,
        "mlp": mlp,
    }


class Work:
    """A function and its alternating sets of inputs. As in ridge, an output is held until its set is
    used again, so that it is not written to the same hot memory each time."""

    def __init__(self, framework, name, compiled, numbers, inputs, turns):
        for made in inputs:
            if made["dtype"] not in framework.dtypes:
                raise Lacking(f"it has no {made['dtype']}")
        functions = make_functions(framework.operations, numbers)
        if name not in functions:
            raise Lacking(f"it has no {name}")
        self.framework = framework
        self.function = functions[name]
        if hasattr(self.function, "compiled"):
            self.function = self.function.compiled() if compiled else self.function
        elif compiled or framework.only_compiled:
            self.function = framework.compile(self.function)
        self.inputs = [
            [framework.random(made["dtype"], made["sizes"], made["scale"]) for made in inputs]
            for _ in range(turns)
        ]
        self.outputs = [None] * turns
        self.turn = 0

    def batch(self, calls):
        took = self.framework.batch(self.function, self.inputs, self.outputs, self.turn, calls)
        self.turn += calls
        return took


class Peer:
    """Answers requests, one at a time."""

    def __init__(self, framework):
        self.framework = framework
        self.work = None

    def prepare(self, request):
        self.work = None
        gc.collect()
        self.framework.forget()
        work = Work(self.framework, **request)
        took = work.batch(1)
        self.work = work
        return took

    def answer(self, request):
        try:
            if "prepare" in request:
                return f"prepared {self.prepare(request['prepare'])}"
            if self.work is None:
                return "failed nothing is prepared"
            return f"took {self.work.batch(request['batch'])}"
        except Lacking as reason:
            return f"lacks {reason}"
        except Exception as error:
            text = in_one_line(error)
            return f"{'lacks' if is_lack(error, text) else 'failed'} {text}"


def take_over_streams():
    """Reserves the socket for answers: neither a library's output nor a child process uses it."""
    requests, answers = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return os.fdopen(requests, "rb"), os.fdopen(answers, "wb", buffering=0)


def die_with_ridge():
    """ridge handles Ctrl-C. This process exits when ridge does, at any time."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform.startswith("linux"):
        try:
            import ctypes

            pr_set_pdeathsig = 1
            ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)
        except (ImportError, OSError, AttributeError):
            pass  # the end of requests will do


def read_requests(requests):
    """A separate thread reads them, so that end of file is noticed at any time."""
    lines = queue.SimpleQueue()

    def pass_on():
        for line in requests:
            lines.put(line)
        os._exit(0)

    threading.Thread(target=pass_on, daemon=True).start()
    return lines


def main():
    requests, answers = take_over_streams()
    die_with_ridge()

    def say(text):
        answers.write(MARK + text.encode("ascii", "replace") + b"\n")

    lines = read_requests(requests)
    name, device, threads = sys.argv[1], sys.argv[2], max(1, int(sys.argv[3]))
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NPROC"):
        os.environ[variable] = str(threads)
    try:
        framework = FRAMEWORKS[name](Place(device, threads))
    except Unusable as reason:
        say(f"unusable {' '.join(str(reason).split())}")
        return
    peer = Peer(framework)
    gc.disable()
    say(f"ready {framework.description}")
    while True:
        say(peer.answer(json.loads(lines.get())))


if __name__ == "__main__":
    main()
