"""Made-up torch.profiler traces: a training loop as a small simulation, another one for each seed.

All times are multiples of a few microseconds, so that events often touch, begin together or are empty:
that is where `<` and `<=` differ."""

import json

KERNELS = ["ampere_sgemm_128x64_tn", "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor>",
           "void at::native::reduce_kernel<512, 1, at::native::ReduceOp>", "sm80_xmma_gemm_f16f16_f16f32_f32_tn_n",
           "void cudnn::bn_fw_tr_1C11_kernel_NCHW", "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
           "void at::native::index_elementwise_kernel<128, 4>", "triton_poi_fused_add_mul_0", "softmax_warp_forward",
           "void at::native::CatArrayBatchedCopy<float>", "fmha_cutlassF_f16_aligned_64x64_rf_sm80"]
F, H = "float", "c10::Half"
OPERATORS = [
    ("aten::mm", [[64, 128], [128, 32]], [F, F], ["", ""]),
    ("aten::addmm", [[32], [64, 128], [128, 32], [], []], [F, F, F, "Scalar", "Scalar"], ["", "", "", "1", "1"]),
    ("aten::bmm", [[8, 64, 16], [8, 16, 32]], [H, H], ["", ""]),
    ("aten::linear", [[4, 16, 64], [128, 64], [128]], [H, H, H], ["", "", ""]),
    ("aten::add", [[1024, 1024], [1024, 1024], []], [F, F, "Scalar"], ["", "", "1"]),
    ("aten::mul", [[1024, 64], [64]], [F, F], ["", ""]),
    ("aten::relu", [[4096, 256]], [F], [""]),
    ("aten::sum", [[256, 256], [], [], []], [F, "ScalarList", "Scalar", ""], ["", "[1]", "False", ""]),
    ("aten::softmax", [[16, 1000], [], []], [F, "Scalar", ""], ["", "-1", ""]),
    ("aten::index_select", [[100, 64], [], [32]], [F, "Scalar", "long int"], ["", "-2", ""]),
    ("aten::embedding", [[1000, 64], [8, 16], [], [], []], [F, "long int", "Scalar", "Scalar", "Scalar"],
     ["", "", "-1", "False", "False"]),
    ("aten::cat", [[[16, 32], [16, 32]], []], ["TensorList", "Scalar"], ["", "0"]),
    ("aten::copy_", [[512, 512], [512, 512], []], [F, H, "Scalar"], ["", "", "False"]),
    ("aten::convolution", [[4, 3, 32, 32], [8, 3, 3, 3], [8], [], [], [], [], [], []],
     [F, F, F, "ScalarList", "ScalarList", "ScalarList", "Scalar", "ScalarList", "Scalar"],
     ["", "", "", "[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"]),
    ("aten::_scaled_dot_product_flash_attention",
     [[2, 4, 64, 32], [2, 4, 64, 32], [2, 4, 64, 32], [], [], [], []],
     [H, H, H, "Scalar", "Scalar", "Scalar", ""], ["", "", "", "0.", "True", "False", ""]),
    ("aten::_scaled_dot_product_flash_attention",
     [[2, 4, 64], [2, 4, 64, 32], [2, 4, 64, 32], [], [], [], []],
     [H, H, H, "Scalar", "Scalar", "Scalar", ""], ["", "", "", "0.", "False", "False", ""]),
    ("aten::native_layer_norm", [[16, 64, 256], [], [256], [256], []], [F, "ScalarList", F, F, "Scalar"],
     ["", "[256]", "", "", "1e-05"]),
]
NAMES = ["forward", "backward", "optimizer", "DataLoader", "load data", "next batch", "eval"]


class Random:
    """The same numbers with every version of Python."""

    def __init__(self, seed):
        self.state = seed * 2654435761 % 2**32 or 1

    def below(self, limit):
        self.state = (self.state * 1664525 + 1013904223) % 2**32
        return (self.state >> 8) % limit

    def one_in(self, count):
        return self.below(count) == 0

    def of(self, items):
        return items[self.below(len(items))]


class Simulation:
    def __init__(self, seed):
        self.random, self.events, self.correlation = Random(seed), [], 0
        self.devices, self.streams = 1 + seed % 2, 1 + seed % 3
        self.grid = (1, 5, 10)[seed % 3]
        self.free, self.now, self.host = {}, 1000, 100
        self.launches, self.waits = (1, 6)[seed % 4 == 1], seed % 5 == 2
        self.slow_host, self.copies, self.compiles = seed % 5 == 3, seed % 3 == 1, seed % 7 == 5
        self.annotated = seed % 4
        self.threads = [self.host, self.host + 1]
        self.live = []

    def time(self, most):
        return self.grid * self.random.below(most + 1)

    def event(self, category, name, start, duration, pid, tid, **args):
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": start,
                            "dur": duration, "args": args})

    def call(self, name, duration, thread=0, **args):
        self.correlation += 1
        self.event("cuda_runtime", name, self.now, duration, self.host, self.threads[thread],
                   correlation=self.correlation, cbid=211, **args)
        self.now += duration
        return self.correlation

    def run(self, category, name, duration, device, stream, **args):
        key = device, stream
        start = max(self.free.get(key, 0), self.now + self.time(2))
        self.free[key] = start + duration
        self.event(category, name, start, duration, device, stream, device=device, stream=stream,
                   correlation=self.correlation, **args)

    def kernel(self, device, stream, thread=0):
        graph = self.random.one_in(12)
        self.call("cudaGraphLaunch" if graph else "cudaLaunchKernel", self.time(2) or self.grid, thread)
        for _ in range(3 if graph else 1):
            block = self.random.of([[32, 1, 1], [128, 1, 1], [256, 1, 1], [16, 16, 1], [1024, 1, 1]])
            args = {"graph id": 7, "graph node id": 9} if graph else {}
            self.run("kernel", self.random.of(KERNELS), self.time(8), device, stream,
                     grid=[1 + self.random.below(300), 1 + self.random.below(2), 1], block=block,
                     **{"registers per thread": self.random.of([0, 16, 32, 64, 128, 255]),
                        "shared memory": self.random.of([0, 1024, 16384, 49152]),
                        "est. achieved occupancy %": self.random.below(101), "warps per SM": 8.0,
                        "blocks per SM": 1.5, "queued": 0, "context": 1, "External id": self.correlation, **args})

    def operator(self, device, stream):
        name, shapes, types, concrete = self.random.of(OPERATORS)
        start = self.now
        self.now += self.time(1)
        for _ in range(1 + self.random.below(self.launches)):
            self.kernel(device, stream, int(self.random.one_in(9)))
        self.now += self.time(1)
        self.event("cpu_op", name, start, self.now - start, self.host, self.threads[0],
                   **{"External id": self.correlation, "Input Dims": shapes, "Input type": types,
                      "Concrete Inputs": concrete, "Sequence number": 1})

    def copy(self, device, stream):
        back, pageable = self.random.one_in(3), self.random.one_in(2)
        sizes = [0, 64, 4096, 65536, 1 << 20, 1 << 24]
        bytes_ = self.random.of(sizes)
        self.call(self.random.of(["cudaMemcpyAsync", "cudaMemcpy"]), self.time(3))
        host = "Pageable" if pageable else "Pinned"
        name = f"Memcpy DtoH (Device -> {host})" if back else f"Memcpy HtoD ({host} -> Device)"
        self.run("gpu_memcpy", name, self.time(6), device, stream, bytes=bytes_, context=1,
                 **{"memory bandwidth (GB/s)": 1.0})
        if self.random.one_in(4):
            self.call("cudaMemsetAsync", self.grid)
            self.run("gpu_memset", "Memset (Device)", self.time(2), device, stream, bytes=bytes_, context=1)

    def wait(self, device, stream):
        kind = self.random.below(4)
        if kind == 0:
            self.call("cudaEventRecord", self.grid)
            self.correlation += 1
            self.event("cuda_sync", "Stream Wait Event", self.now, 0, device, stream, stream=stream, device=device,
                       correlation=self.correlation, wait_on_stream=(stream + 1) % self.streams,
                       wait_on_cuda_event_record_corr_id=self.correlation - 1, wait_on_cuda_event_id=1,
                       cuda_sync_kind="Stream Wait Event")
            return
        ends = [end for (d, s), end in self.free.items() if d == device and (kind != 1 or s == stream)]
        until = max([self.now, *ends]) + self.grid
        name = ["", "cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize"][kind]
        start = self.now
        self.call(name, until - self.now)
        word = ["", "Stream Sync", "Context Sync", "Event Sync"][kind]
        self.event("cuda_sync", word, start, until - start, device, stream, stream=stream, device=device,
                   correlation=self.correlation, cuda_sync_kind=word)

    def memory(self, device):
        if self.live and self.random.one_in(2):
            address, size = self.live.pop()
            self.call("cudaFree", self.time(2))
            size = -size
        else:
            address, size = 4096 * (1 + self.correlation), 512 * (1 + self.random.below(9))
            self.live.append((address, size))
            self.call("cudaMalloc", self.time(4))
        self.events.append({"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "s": "t", "pid": self.host,
                            "tid": self.threads[0], "ts": self.now,
                            "args": {"Total Reserved": 1 << 20, "Total Allocated": sum(s for _, s in self.live),
                                     "Bytes": size, "Addr": address, "Device Id": device, "Device Type": 1}})

    def step(self, number):
        begin, random = self.now, self.random
        for part in range(2 + random.below(2)):
            start = self.now
            for _ in range(2 + random.below(5)):
                device, stream = random.below(self.devices), random.below(self.streams)
                if self.slow_host:
                    self.now += self.time(20)
                if self.compiles and random.one_in(5):
                    self.call("cuModuleLoadData", self.time(9))
                if random.one_in(6):
                    self.memory(device)
                if random.one_in(2 if self.copies else 7):
                    self.copy(device, stream)
                self.operator(device, stream)
                if random.one_in(2 if self.waits else 9):
                    self.wait(device, stream)
            if self.annotated:
                self.event("user_annotation", NAMES[(part + number % 3 // 2) % len(NAMES)], start, self.now - start,
                           self.host, self.threads[0])
        if self.annotated == 1:
            self.event("user_annotation", f"ProfilerStep#{number}", begin, self.now - begin, self.host,
                       self.threads[0])
        elif self.annotated == 2:
            self.event("user_annotation", f"iteration {number}", begin, self.now - begin, self.host, self.threads[0])

    def document(self):
        for number in range(8):
            self.step(number)
            if not self.random.one_in(3):
                self.now += self.time(4)
        self.now = max([self.now, *self.free.values()])
        self.call("cudaDeviceSynchronize", self.grid)  # a run does not end with an event of no length
        properties = [{"id": i, "name": "Made-up GPU", "totalGlobalMem": 1 << 34, "computeMajor": 7 + i,
                       "computeMinor": (0, 6)[i], "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048 - 512 * i,
                       "regsPerBlock": 65536, "warpSize": 32, "sharedMemPerBlock": 49152, "numSms": 80 + i,
                       "regsPerMultiprocessor": 65536, "sharedMemPerMultiprocessor": 98304}
                      for i in range(self.devices)]
        return {"schemaVersion": 1, "deviceProperties": properties, "with_stack": 0, "record_shapes": 1,
                "displayTimeUnit": "ms", "traceEvents": self.events}


class Odd:
    """Events of every phase and category with any members, as exporters of all years write them."""

    CATEGORIES = ["kernel", "Kernel", "gpu_memcpy", "Memcpy", "gpu_memset", "cuda_runtime", "Runtime", "cuda_driver",
                  "cpu_op", "Operator", "user_annotation", "gpu_user_annotation", "python_function", "overhead",
                  "cuda_sync", "cuda_event", "fwdbwd", "ac2g", "Trace", "xpu_runtime", "mtia_runtime", "", "other"]
    NAMES = ["aten::mm", "cudaLaunchKernel_v7000", "cudaMemcpyAsync", "hipMemcpyWithStream", "cuLaunchKernelEx",
             "Memcpy HtoD (Pageable -> Device)", "Memcpy DtoD (Device -> Device)", "Memset (Device)",
             "Memcpy PtoP (Device -> Device)", "Stream Wait Event", "Context Sync", "\u00e9t\u00e9 \\ \"x\"\n",
             "ProfilerStep#3", "train.py(12): step", "<built-in method run>", "Activity Buffer Request",
             "PyTorch Profiler (0)", "Iteration Start: PyTorch Profiler", "", "nccl:all_reduce", "loss"]

    def __init__(self, seed):
        self.random = Random(seed + 1000)
        self.time = 1000000

    def number(self, most=8):
        """A number, or the same as a word or a fraction."""
        value = self.random.below(most)
        return self.random.of([value, value, str(value), float(value)])

    def place(self):
        return {"pid": self.random.of([7, "7", 0, 1, "Spans", 8]), "tid": self.random.of([7, "stream 7", 0, 9, "9", "x"])}

    def args(self):
        random, args = self.random, {}
        members = {
            "device": lambda: random.of([0, 1, "0", "GPU 1", -1]), "stream": lambda: random.of([0, 7, "7", -1]),
            "correlation": lambda: random.below(30), "External id": lambda: random.below(30),
            "context": lambda: random.below(3), "bytes": lambda: random.of([0, 4096, "4096", -1]),
            "Bytes": lambda: random.of([512, -512]), "Addr": lambda: 4096 * random.below(4),
            "Total Allocated": lambda: random.below(9000), "Device Id": lambda: random.of([-1, 0, 1]),
            "Device Type": lambda: random.below(2), "grid": lambda: random.of([[2, 3, 4], [5], "[6, 7, 8]", [1, 2, 3, 4]]),
            "block": lambda: random.of([[32, 2, 1], "[64, 1, 1]", []]), "shared memory": lambda: random.below(99),
            "registers per thread": lambda: random.below(99), "graph id": lambda: random.below(3),
            "wait_on_stream": lambda: random.of([0, 7, -1]), "wait_on_cuda_event_record_corr_id": lambda: random.below(30),
            "cuda_sync_kind": lambda: random.of(["Stream Sync", "Event Sync", "Context Sync", "Stream Wait Event", "?"]),
            "Python id": lambda: random.below(9), "Python parent id": lambda: random.of([None, 1, 2]),
            "Input Dims": lambda: random.of([[[2, 3], []], [[1]]]), "Input dims": lambda: [[4]],
            "Input type": lambda: ["float", "Scalar"], "Sequence number": lambda: random.below(9),
            "name": lambda: random.of(["GPU 0", "python", "stream 7", "/device:GPU:1", "/host:CPU", "CPU"]),
            "labels": lambda: random.of(["GPU 0", "CPU", "GPU 1 (x)"]), "sort_index": lambda: 5000000,
            "value": lambda: random.below(50) / 4, "other value": lambda: random.below(9), "nested": lambda: {"a": [1, {}]},
        }
        for name, make in members.items():
            if random.one_in(3):
                args[name] = make()
        return args

    def event(self):
        random = self.random
        self.time += random.below(40)
        phase = random.of(["X", "X", "X", "X", "i", "I", "C", "B", "E", "b", "e", "s", "f", "M", "M", "n"])
        event = {"ph": phase, "name": random.of(self.NAMES), "cat": random.of(self.CATEGORIES), **self.place(),
                 "ts": random.of([self.time, self.time + 0.125, f"{self.time}.5", float(self.time)])}
        if phase == "X":
            event["dur"] = random.of([0, 3, 12.001, "7.25", 100])
        if phase == "M":
            event["name"] = random.of(["process_name", "thread_name", "process_labels", "process_sort_index"])
        if phase in "bensf":
            event["id"] = random.of([1, "0x1", "a"])
        event["args"] = self.args()
        if phase == "i" and random.one_in(2):
            event["name"] = "[memory]"
        return event

    def document(self):
        return {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "Made-up", "totalGlobalMem": 4096}],
                "traceEvents": [self.event() for _ in range(300)], "traceName": "odd.json", "displayTimeUnit": "us",
                "distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 2}}


def write_odd(seed, path):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(Odd(seed).document(), file, indent=seed % 2 or None, ensure_ascii=seed % 3 == 0)


def write(seed, path):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(Simulation(seed).document(), file)
