"""Makes the traces that the page is tested with, as torch.profiler writes them: a training loop with
everything that a view can show, one full of markup, one of nothing and one of a single kernel."""

import json
import random

MARKUP = [
    "<script>window.struck = 'script'</script>",
    "<img src=x onerror=\"window.struck = 'img'\">",
    "</script><script>window.struck = 'end'</script>",
    "<!--<script>window.struck='comment'</script>",
    "\"'><svg onload=window.struck='svg'>",
    "javascript:window.struck='url'",
    "{{constructor.constructor('window.struck=1')()}}",
    "${window.struck = 'template'}",
    "\u2028window.struck='line'\u2029",
    "]]><b class=struck>bold</b>&lt;i&gt;&amp;",
    "\u202egnirts desrever\u202c \u0000\u0007 \U0001f9e8",
    "a" * 5000,
    "__proto__", "constructor", "toString", "",
]


class Writer:
    def __init__(self, devices=1):
        self.events = []
        self.correlation = 0
        self.document = {
            "schemaVersion": 1,
            "deviceProperties": [{
                "id": i, "name": "NVIDIA Test 100", "totalGlobalMem": 8 << 30, "computeMajor": 9, "computeMinor": 0, "numSms": 132,
                "warpSize": 32, "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048, "regsPerMultiprocessor": 65536,
                "sharedMemPerMultiprocessor": 233472, "regsPerBlock": 65536, "sharedMemPerBlock": 49152} for i in range(devices)],
            "traceEvents": self.events,
        }

    def span(self, category, name, start, duration, thread=1, process=1, **arguments):
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": process, "tid": thread,
                            "ts": start / 1000, "dur": duration / 1000, "args": arguments})

    def launch(self, name, at, call, start, duration, device=0, stream=7, thread=1, grid=(264, 1, 1), block=(256, 1, 1)):
        self.correlation += 1
        self.span("cuda_runtime", "cudaLaunchKernel", at, call, thread, correlation=self.correlation)
        self.span("kernel", name, start, duration, stream, device, correlation=self.correlation, device=device, stream=stream, context=1,
                  grid=list(grid), block=list(block), **{"registers per thread": 64, "shared memory": 16384})

    def copy(self, name, bytes_, at, call, start, duration, device=0, stream=7, thread=1):
        self.correlation += 1
        self.span("cuda_runtime", "cudaMemcpyAsync", at, call, thread, correlation=self.correlation)
        self.span("gpu_memcpy", name, start, duration, stream, device, correlation=self.correlation, device=device, stream=stream, context=1,
                  bytes=bytes_, **{"memory bandwidth (GB/s)": bytes_ / duration})

    def memory(self, at, bytes_, total, device=0, thread=1):
        self.events.append({"ph": "i", "s": "t", "name": "[memory]", "cat": "cpu_instant_event", "pid": 1, "tid": thread, "ts": at / 1000,
                            "args": {"Device Type": 1, "Device Id": device, "Addr": 4096 + abs(bytes_), "Bytes": bytes_,
                                     "Total Allocated": total, "Total Reserved": 6 << 30}})

    def write(self, path):
        with open(path, "w") as file:
            json.dump(self.document, file)


LAYERS = ["sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_execute", "void layer_norm_kernel<float>(float const*, float*)",
          "void vectorized_elementwise_kernel<4, gelu>(int, float*)", "softmax_warp_forward", "triton_poi_fused_add_mul_3"]


def training(path, steps=12, slow=1.0, rename=None, devices=1):
    """Steps of operators, kernels, copies of all sorts, a synchronization and memory; the first two are slow."""
    writer = Writer(devices)
    at = 1_000_000
    name = rename or (lambda text, index: text)
    for step in range(steps):
        begin = at
        slower = slow * (3 if step < 2 else 1.3 if step == 7 else 1)
        load = int(900_000 * slower)
        writer.span("user_annotation", name("load batch", step), at, load)
        writer.span("python_function", name("data.py(12): decode", step), at + 1000, load - 2000)
        at += load
        size = 1 << (16 + step % 8)
        for device in range(devices):
            writer.copy(["Memcpy HtoD (Pageable -> Device)", "Memcpy HtoD (Pinned -> Device)"][step % 2], size, at, 20_000, at + 12_000, 4000 + size // 12,
                        device)
            writer.copy("Memcpy HtoD (Pinned -> Device)", 4096 << step % 4, at + 21_000, 9_000, at + 30_000 + size // 12, 2500, device)
        at += 60_000 + size // 12
        writer.span("user_annotation", name("forward", step), at - 1000, int(len(LAYERS) * 6 * 30_000 * slower) + 2000)
        for layer in range(6):
            writer.memory(at, 64 << 20, (layer + 1) * (64 << 20) + (2 << 30))
            for index, kernel in enumerate(LAYERS):
                operator = ["aten::linear", "aten::layer_norm", "aten::gelu", "aten::softmax", "aten::add"][index]
                length = int(30_000 * slower)
                writer.span("cpu_op", name(operator, index), at, length - 500, **{"Input Dims": [[1024, 1024], [1024, 1024]], "Input type": ["float", "float"]})
                if operator == "aten::linear":
                    writer.span("cpu_op", "aten::mm", at + 500, length - 2000, **{"Input Dims": [[1024, 1024], [1024, 1024]], "Input type": ["float", "float"]})
                for device in range(devices):
                    writer.launch(name(kernel, index), at + 3000 + device * 6000, 5000, at + 12_000 + device * 6000, [22_000, 9_000, 7_000, 5_000, 3_000][index], device)
                at += length
        writer.copy("Memcpy DtoH (Device -> Pageable)", 4, at, 8_000, at + 9_000, 1500)
        writer.span("cuda_runtime", "cudaStreamSynchronize", at + 10_000, 40_000)
        at += 52_000
        for layer in range(6):
            writer.memory(at + layer, -(64 << 20), (5 - layer) * (64 << 20) + (2 << 30))
        writer.span("user_annotation", f"ProfilerStep#{step}", begin - 500, at - begin + 900)
        at += 30_000
    writer.write(path)


def with_stack(path, steps=4):
    """Annotations as with_stack=True records them: each begins inside the Python function __enter__,
    outlives it, and ends inside __exit__. Times are in thousands of nanoseconds."""
    writer = Writer()

    def span(category, name, start, duration):
        writer.span(category, name, start * 1000, duration * 1000)

    span("python_function", "train.py(1): <module>", 1000, steps * 1000 + 20)
    for step in range(steps):
        at = 1010 + step * 1000
        for name, begin, length in (("forward", at, 600), ("backward", at + 620, 300)):
            span("python_function", "profiler.py(9): __enter__", begin, 4)
            span("user_annotation", name, begin + 3, length)
            span("python_function", "model.py(5): call", begin + 10, length - 20)
            span("cpu_op", "aten::mm", begin + 20, length - 40)
            writer.launch("gemm", (begin + 30) * 1000, 5000, (begin + 40) * 1000, 100_000)
            span("python_function", "profiler.py(12): __exit__", begin + length, 6)
    writer.write(path)


def many_names(path, count=5000):
    """A kernel name for each of many kernels."""
    writer = Writer()
    for index in range(count):
        writer.launch(f"kernel_{index:05}", 1_000_000 + index * 10_000, 4_000, 1_006_000 + index * 10_000, 1_000 + index)
    writer.write(path)


def lengths(path, seed=0, count=3000):
    """Queues and threads of events whose lengths and distances are of every order of magnitude."""
    chance = random.Random(seed)
    writer = Writer()
    for stream in (7, 15, 20):
        at = 1_000_000
        for index in range(count):
            duration = chance.choice((0, 1, int(10 ** chance.uniform(0, 3)), int(10 ** chance.uniform(0, 7))))
            writer.launch(f"kernel_{index % 7}", at - 900, 500, at, duration, stream=stream, thread=stream)
            at += duration + chance.choice((0, 0, 1, int(10 ** chance.uniform(0, 4)), int(10 ** chance.uniform(0, 6.5))))
    for index in range(count):
        duration = int(10 ** chance.uniform(0, 8))
        writer.span("cpu_op", f"aten::op_{index % 5}", chance.randrange(1_000_000, at), duration, thread=1)
    writer.write(path)


def behind(path):
    """Long events that begin where short ones end."""
    writer = Writer()
    writer.copy("Memcpy HtoD (Pinned -> Device)", 200_000_000, 0, 1000, 0, 7_000_000)
    writer.launch("short", 7_000_000, 1000, 7_010_000, 100_000)
    writer.copy("Memcpy HtoD (Pinned -> Device)", 4_000_000_000, 7_100_000, 1000, 7_120_000, 150_000_000)
    writer.launch("short", 157_100_000, 1000, 157_130_000, 100_000)
    writer.launch("long", 157_200_000, 1000, 157_240_000, 50_000_000)
    writer.write(path)


def long_names(path):
    """Kernels whose names differ in their middle and at their end."""
    writer = Writer()
    for index in range(12):
        name = f"void at::native::{'nested::' * 20}kernel_{index}<float, {'Policy<int>, ' * 12}{index}ul>::run_{index}"
        writer.launch(name, 1_000_000 + index * 100_000, 4_000, 1_006_000 + index * 100_000, 50_000 + index)
    writer.write(path)


def hostile(path):
    """Names full of markup, wherever a name can be."""
    training(path, steps=6, rename=lambda text, index: MARKUP[index % len(MARKUP)])
    with open(path) as file:
        document = json.load(file)
    for index, event in enumerate(document["traceEvents"]):
        if event["cat"] in ("kernel", "cpu_op", "cuda_runtime", "gpu_memcpy") and index % 3 == 0 and event["name"] != "ProfilerStep#1":
            event["name"] = MARKUP[(index // 3) % len(MARKUP)]
    for properties in document["deviceProperties"]:
        properties["name"] = MARKUP[0] + MARKUP[2]
    for number, text in enumerate(MARKUP):
        document["traceEvents"].append({"ph": "M", "name": "thread_name", "pid": 1, "tid": number, "args": {"name": text}})
        document["traceEvents"].append({"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": text}})
    with open(path, "w") as file:
        json.dump(document, file)


def empty(path):
    """One annotation of no length: a file without events is refused."""
    writer = Writer(0)
    writer.span("user_annotation", "nothing", 0, 0)
    writer.write(path)


def single(path):
    writer = Writer()
    writer.launch("the_only_kernel", 1_000_000, 5_000, 1_010_000, 4_000)
    writer.write(path)


def extreme(path):
    """Times that hardly fit, events of no length, ends before starts."""
    writer = Writer()
    writer.launch("early", 0, 0, 0, 0)
    writer.launch("backwards", 5_000_000, 1000, 4_000_000, 10)
    writer.launch("far", 6 * 10**16, 1000, 6 * 10**16 + 5000, 10**9)
    writer.span("cpu_op", "long", 0, 6 * 10**16)
    writer.write(path)


def rank_of_job(path, rank=0, late=0, steps=8):
    """One rank of a job: a kernel and an all-reduce that ends everywhere at the same time."""
    events = []
    for step in range(steps):
        start = 1000 + step * 400
        arguments = {"device": 0, "stream": 20, "correlation": 2 * step + 2, "Collective name": "allreduce", "In msg nelems": 250000,
                     "Out msg nelems": 250000, "Group size": 3, "dtype": "Float", "Process Group Name": "0", "Seq": step + 1}
        own = 100 + late * (step % 4 == 1)
        events.append({"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": start, "dur": own,
                       "args": {"device": 0, "stream": 7, "correlation": 2 * step + 1}})
        events.append({"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32", "pid": 0, "tid": 20, "ts": start + own,
                       "dur": 380 - own, "args": arguments})
    with open(path, "w") as file:
        json.dump({"distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 3}, "traceEvents": events}, file)
