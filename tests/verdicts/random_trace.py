"""Random torch.profiler traces, and ablations of given ones: what a verdict may meet.

A trace is made of a few loops with random shares of kernels, launches, copies, synchronizations,
allocations, compilations, operators, data loading, collectives and clocks; then random parts of the recording
are left out."""

import gzip
import json
import random

KERNELS = [
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int)",
    "void at::native::reduce_kernel<128, 4, at::native::ReduceOp<float, at::native::func_wrapper_t<float> > >()",
    "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize32x32x8_stage3_warpsize1x2x1_ffma_aligna4_alignc4_execute_kernel__5x_cublas",
    "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn", "simulate_particles", "my_kernel(float*, int)",
    "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, 512, true, 1>()", "triton_poi_fused_add_relu_0",
    "flash_fwd_kernel<Flash_fwd_kernel_traits<128, 64, 64, 4> >", "void multi_tensor_apply_kernel<adam>()",
    "void at::native::elementwise_kernel<128, 2, direct_copy_kernel_cuda>()", "",
]
COLLECTIVES = ["ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*, unsigned long)", "ncclKernel_AllGather_RING_LL_Sum_int8_t"]
CALLS = {"launch": "cudaLaunchKernel", "copy": "cudaMemcpyAsync", "sync": "cudaStreamSynchronize", "alloc": "cudaMalloc",
         "free": "cudaFree", "compile": "cuModuleLoadData", "device_sync": "cudaDeviceSynchronize"}
OPERATORS = ["aten::add", "aten::mm", "aten::item", "aten::copy_", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
             "aten::nonzero", "Optimizer.step#Adam.step", "autograd::engine::evaluate_function: AddmmBackward0"]


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.events, self.correlation = [], 1
        self.host, self.device = {}, {}

    def log(self, low, high):
        return low * (high / low) ** self.random.random()

    def event(self, kind, name, pid, tid, start, duration, args):
        self.events.append({"ph": "X", "cat": kind, "name": name, "pid": pid, "tid": tid, "ts": round(start, 3),
                            "dur": round(max(duration, 0), 3), "args": args})

    def call(self, name, duration, thread=1, correlated=False):
        start = self.host.get(thread, 0.0)
        args = {"correlation": self.correlation, "External id": self.correlation} if correlated else {}
        self.event("cuda_runtime", name, 100, thread, start, duration, args)
        self.host[thread] = start + duration
        return start

    def wait(self, thread=1):
        self.host[thread] = self.host.get(thread, 0.0) + self.log(0.2, self.between)

    def activity(self, kind, name, duration, device, queue, issued, extra):
        start = max(self.device.get((device, queue), 0.0), issued + self.log(1, 10))
        args = {"device": device, "stream": queue, "correlation": self.correlation, **extra}
        self.event(kind, name, device, queue, start, duration, args)
        self.device[(device, queue)] = start + duration
        self.correlation += 1
        return start + duration

    def kernel(self, name, duration, device=0, queue=7):
        issued = self.call(CALLS["launch"], self.log(2, 30), correlated=True)
        extra = {"grid": [self.random.choice([1, 2, 8, 132, 1000, 65535]), 1, 1], "block": [self.random.choice([32, 128, 256, 1024]), 1, 1],
                 "registers per thread": self.random.choice([0, 32, 128, 255]), "shared memory": self.random.choice([0, 49152])}
        if name in COLLECTIVES and self.random.random() < 0.7:
            extra.update({"Collective name": "allreduce", "In msg nelems": 1 << self.random.randrange(4, 26),
                          "Out msg nelems": 1024, "Group size": 8, "dtype": "Float"})
        return self.activity("kernel", name, duration, device, queue, issued, extra)

    def copy(self, duration):
        direction = self.random.choice(["HtoD", "DtoH", "DtoD"])
        memory = self.random.choice(["Pageable", "Pinned"])
        end = {"HtoD": f"Memcpy HtoD ({memory} -> Device)", "DtoH": f"Memcpy DtoH (Device -> {memory})",
               "DtoD": "Memcpy DtoD (Device -> Device)"}[direction]
        size = self.random.choice([4, 8, 256, 4096, 65536, 1 << 20, 1 << 26])
        issued = self.call(CALLS["copy"], self.log(2, duration * 2 + 3), correlated=True)
        self.activity("gpu_memcpy", end, duration, 0, self.random.choice([7, 7, 13]), issued, {"bytes": size})

    def sync(self):
        name = self.random.choice([CALLS["sync"], CALLS["device_sync"]])
        until = max([end for end in self.device.values()] + [0])
        self.call(name, max(until - self.host.get(1, 0), 0) + self.log(1, 5))

    def operator(self, body):
        name, start = self.random.choice(OPERATORS), self.host.get(1, 0.0)
        body()
        self.event("cpu_op", name, 100, 1, start, self.host.get(1, 0.0) - start, {})

    def turn(self, plan):
        for what, detail in plan:
            repeat = self.random.random() < 0.98
            if what == "kernel" and repeat:
                name, duration, device, queue = detail
                spread = self.random.choice([1, 1, self.spread])
                self.operator(lambda: self.kernel(name, duration * self.log(1 / spread, spread), device, queue))
            elif what == "copy" and repeat:
                self.operator(lambda: self.copy(detail))
            elif what == "sync" and repeat:
                self.sync()
            elif what == "host":
                self.wait()
            elif what == "calls":
                self.call(CALLS[detail], self.log(1, 2000))
            elif what == "op":
                self.operator(self.wait)

    def plan(self):
        pick, plan = self.random, []
        devices = pick.choice([1, 1, 1, 2])
        queues = pick.choice([[7], [7], [7, 20]])
        for _ in range(pick.choice([1, 1, 2, 4, 10, 30])):
            what = pick.choices(["kernel", "copy", "sync", "host", "calls", "op"], [10, 2, 1, 4, 0.5, 1])[0]
            detail = None
            if what == "kernel":
                name = pick.choice(COLLECTIVES) if pick.random() < self.collectives else pick.choice(KERNELS)
                detail = (name, self.log(0.5, self.longest), pick.randrange(devices), pick.choice(queues))
            elif what == "copy":
                detail = self.log(0.5, self.longest)
            elif what == "calls":
                detail = pick.choice(["alloc", "free", "compile"])
            plan.append((what, detail))
        return plan

    def make(self):
        pick = self.random
        self.between, self.longest = self.log(1, 5000), self.log(3, 5000)
        self.spread, self.collectives = pick.choice([1, 1.1, 2, 10]), pick.choice([0, 0, 0.1, 0.5])
        for _ in range(pick.choice([0, 1, 1, 2])):
            plan = self.plan()
            for step in range(pick.choice([1, 3, 10, 40])):
                start = self.host.get(1, 0.0)
                self.turn(plan)
                if pick.random() < 0.3:
                    self.event("user_annotation", f"ProfilerStep#{step}", 100, 1, start, self.host.get(1, 0.0) - start, {})
        return {"schemaVersion": 1, "deviceProperties": [properties(pick)], "traceEvents": self.events}


def properties(pick):
    name, major, count = pick.choice([("NVIDIA H200", 9, 132), ("NVIDIA A100-SXM4-40GB", 8, 108), ("Tesla V100", 7, 80), ("Unknown", 0, 0)])
    return {"id": 0, "name": name, "computeMajor": major, "computeMinor": 0, "numSms": count, "totalGlobalMem": 1 << 36,
            "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048, "regsPerMultiprocessor": 65536, "warpSize": 32,
            "sharedMemPerMultiprocessor": 233472}


def ablate(trace, pick):
    """Leaves out part of a recording, or distorts it."""
    events = trace["traceEvents"]
    kind = pick.randrange(10)
    kinds = sorted({e.get("cat") for e in events if e.get("cat")})
    if kind == 0 and kinds:
        gone = pick.choice(kinds)
        events = [e for e in events if e.get("cat") != gone]
    elif kind == 1:
        field = pick.choice(["correlation", "grid", "block", "bytes", "stream", "device", "External id", "In msg nelems"])
        for e in events:
            e.get("args", {}).pop(field, None) if isinstance(e.get("args"), dict) else None
    elif kind == 2:
        share = pick.choice([0.01, 0.1, 0.5])
        events = [e for e in events if pick.random() > share]
    elif kind == 3 and events:
        times = sorted(e["ts"] for e in events if isinstance(e.get("ts"), (int, float)))
        if times:
            low, high = sorted(pick.choice(times) for _ in range(2))
            events = [e for e in events if not isinstance(e.get("ts"), (int, float)) or low <= e["ts"] <= high]
    elif kind == 4:
        factor = pick.choice([0, 0.001, 10])
        gone = pick.choice(kinds) if kinds else None
        for e in events:
            if e.get("cat") == gone and isinstance(e.get("dur"), (int, float)):
                e["dur"] = e["dur"] * factor
    elif kind == 5:
        trace = {**trace, "deviceProperties": []}
    elif kind == 6:
        for e in events:
            if isinstance(e.get("dur"), (int, float)) and e.get("cat") == "kernel":
                e["dur"] = e["dur"] * pick.choice([0.1, 1, 1, 1, 10])
    elif kind == 7:
        names = sorted({e.get("name", "") for e in events if e.get("cat") == "kernel"})
        gone = pick.choice(names) if names else None
        events = [e for e in events if e.get("name") != gone or e.get("cat") != "kernel"]
    return {**trace, "traceEvents": events}


def random_trace(seed):
    pick = random.Random(seed ^ 0x5EED)
    trace = Maker(seed).make()
    for _ in range(pick.choice([0, 0, 1, 2])):
        trace = ablate(trace, pick)
    return trace


def ablated_trace(path, seed):
    with (gzip.open(path, "rt") if path.endswith(".gz") else open(path)) as file:
        trace = json.load(file)
    pick = random.Random(seed)
    if isinstance(trace, list):
        trace = {"traceEvents": trace}
    for _ in range(pick.choice([1, 1, 2, 3])):
        trace = ablate(trace, pick)
    return trace
