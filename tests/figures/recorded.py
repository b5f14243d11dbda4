"""Made-up recordings of Python programs, another one for each seed, with what no imported trace has: stacks
with lines and loops, thread states, samples, heap allocations, usage, clocks and collectives.

As in synthetic.py all times are multiples of a few microseconds, so that events often touch or begin together."""

from ridge_file import RidgeFile
from synthetic import KERNELS, NAMES, Random

RUNNING, READY, BLOCKED = 0, 1, 2
LAUNCH, COPY, SYNC, ALLOC, COMPILE = 1, 2, 3, 4, 5
PYTHON = "[python]"
COLLECTIVES = ["ncclDevKernel_AllReduce_Sum_f32_RING_LL", "ncclKernel_AllGather_RING_LL_Sum_int8_t",
               "_Z22ncclDevKernel_SendRecvP11ncclDevComm", "void vllm::cross_device_reduce_1stage<float, 2>(ncclDevComm*)",
               "my_ncclKernel_helper", "void (anonymous namespace)::multimem_all_gather(int)"]
OPERATIONS = ["allreduce", "_all_gather_base", "reduce_scatter", "all_to_all", "broadcast", "send", ""]
TYPES = ["Float", "Half", "BFloat16", "Long", "Byte", "Float8_e4m3fn", "Unknown"]
MODULES = ["libc.so.6", "libcuda.so.1", "libpython3.12.so.1.0", "libtorch_cpu.so", "[kernel]", "", "libstdc++.so.6", "[jit]"]
NATIVE = ["take_gil", "PyEval_RestoreThread", "__futex_wait", "cuStreamSynchronize", "at::native::add", "[unknown]",
          "_PyEval_EvalFrameDefault", "malloc", "operator new"]
BLOCKS = ["", "read", "poll", "futex", "nanosleep", "wait4", "ioctl", "recvmsg", "fsync"]
LIBRARIES = ["/usr/lib/python3.12/site-packages/torch/nn/modules/linear.py", "/usr/lib/python3/dist-packages/numpy/core.py",
             "/usr/lib/python3.12/threading.py", "<frozen importlib._bootstrap>"]
DEVICES = [("NVIDIA H200", 9, 0), ("Tesla T4", 7, 5), ("NVIDIA A100-SXM4-80GB", 8, 0), ("NVIDIA GeForce RTX 3090", 8, 6),
           ("Made Up 7000", 5, 2), ("NVIDIA L4", 8, 9), ("AMD Instinct MI300X", 0, 0), ("Tesla P100-PCIE-16GB", 6, 1),
           ("NVIDIA B200", 10, 3), ("NVIDIA RTX 6000", 12, 1), ("", 11, 0)]
ROOFS = {"memory_copy": "4.2e12", "matrix_f16": "700000000000000", "arithmetic_f32": "5.1e13", "launch": "2100.5",
         "to_device_pinned": "5.5e10", "to_host_pageable": "-3", "cache_bytes": "52428800", "unknown": "1"}
LOOPS = ["", "10 for epoch in range(3):", "10 for epoch in range(3):\n12 for batch in loader:",
         "10 for epoch in range(3):\n12 for batch in loader:\n20 while not done:", "7 for x in y:"]


class Program:
    """One process with its threads, its device and its recording."""

    def __init__(self, seed, rank=0):
        self.random, self.file = Random(97 * seed + rank), RidgeFile(session=1 + rank)
        self.seed, self.rank, self.grid = seed, rank, (1000, 5000, 10000)[seed % 3]
        file = self.file
        self.process = file.add("process", pid=100 + rank, name="python3 train.py", host="node")
        self.child = file.add("process", pid=200 + rank, name="worker")
        names = ["MainThread", "pt_autograd_0", "loader", "logger"][:2 + seed % 3]
        self.threads = [file.add("thread", process=self.process, tid=100 + rank + i, name=name)
                        for i, name in enumerate(names)]
        self.threads.append(file.add("thread", process=self.child, tid=200 + rank, name="worker"))
        name, major, minor = DEVICES[seed % len(DEVICES)]
        self.device = file.add("device", index=rank, label=str(rank), name=name, uuid=f"GPU-{rank}" if seed % 2 else "",
                               vendor="NVIDIA", memory_bytes=(4 + seed) << 20, multiprocessors=(132, 40, 0)[seed % 3],
                               clock_hz=1980000000, bandwidth=(0, 10**12)[seed % 2], compute_major=major,
                               compute_minor=minor, warp_size=32, threads_per_multiprocessor=2048,
                               registers_per_multiprocessor=65536, shared_per_multiprocessor=233472,
                               blocks_per_multiprocessor=(32, 0)[seed % 2], shared_reserved_per_block=1024)
        self.queues = [file.add("queue", device=self.device, process=self.process, context=1, stream=7 + i)
                       for i in range(1 + seed % 3)]
        self.now = {thread: 1000000 for thread in self.threads}
        self.on_cpu = seed % 7 == 0  # a program without a device
        self.free, self.correlation, self.stacks, self.live = {}, 0, {}, []
        self.used = {thread: 0 for thread in self.threads}
        self.allocated = 0

    def time(self, most):
        return self.grid * self.random.below(most + 1)

    # ---- stacks ----

    def stack(self, *frames):
        """The row of the innermost frame. A frame is (function, module, file, line, loops)."""
        parent = 0
        for function, module, path, line, loops in frames:
            key = parent, function, module, path, line, loops
            if key not in self.stacks:
                self.stacks[key] = self.file.add(
                    "stack", parent=parent, function=function, module=module, file=path, line=line, loops=loops,
                    statement=line, function_line=5 if line else 0, offset=2 * line, source=f"line {line}" if line else "")
            parent = self.stacks[key]
        return parent

    def python(self, line, *more):
        """In the loop over batches of train.py, called by its last line."""
        nested = LOOPS[3] if 20 <= line < 24 else LOOPS[2] if line > 12 else LOOPS[1]
        frames = [("<module>", PYTHON, "/home/me/train.py", 60, ""), ("train", PYTHON, "/home/me/train.py", line, nested)]
        return self.stack(*frames, *more)

    def library(self, line):
        return self.python(line, ("forward", PYTHON, self.random.of(LIBRARIES), 125, ""))

    def native(self, line):
        frames = [(self.random.of(NATIVE), self.random.of(MODULES), "", 0, "") for _ in range(self.random.below(4))]
        return self.python(line, *frames)

    # ---- threads ----

    def state(self, thread, state, duration, on=0, call="", stack=0):
        start = self.now[thread]
        if duration:
            self.file.add("state", start=start, duration=duration, thread=thread, state=state,
                          processor=self.random.below(2), blocked_on=on, call=call, stack=stack)
        self.now[thread] = start + duration

    def work(self, thread, most, line):
        """Runs, with samples, and is preempted now and then."""
        for _ in range(1 + self.random.below(3)):
            start, duration = self.now[thread], self.time(most)
            self.state(thread, RUNNING, duration)
            self.used[thread] += duration
            for k in range(self.random.below(3)):
                if k * self.grid < duration:
                    self.file.add("sample", time=start + k * self.grid, thread=thread, weight=self.grid,
                                  stack=self.native(line) if self.random.below(3) else self.library(line))
            if self.random.one_in(4):
                self.state(thread, READY, self.time(2))
        if self.random.one_in(3):
            self.file.add("usage", time=self.now[thread], thread=thread, user=self.used[thread] * 3 // 4,
                          kernel=self.used[thread] // 4, ready=self.time(3))

    def block(self, thread, most, line):
        on = self.random.below(len(BLOCKS))
        self.state(thread, BLOCKED, self.time(most), on, BLOCKS[on], self.native(line))

    # ---- the device ----

    def call(self, thread, name, kind, duration, line):
        self.correlation += 1
        start = self.now[thread]
        self.file.add("call", start=start, duration=duration, thread=thread, name=name, correlation=self.correlation,
                      stack=self.library(line) if self.random.one_in(3) else self.python(line), **{"class": kind})
        return start + duration

    def run(self, end, queue, duration, **row):
        start = max(self.free.get(queue, 0), end + self.time(1))
        self.free[queue] = start + duration
        self.file.add("activity", start=start, duration=duration, queue=queue, correlation=self.correlation, **row)

    def launch(self, thread, line):
        graph = self.seed % 5 == 4 and self.random.one_in(4)
        duration = self.time(1) or self.grid
        end = self.call(thread, "cudaGraphLaunch" if graph else "cudaLaunchKernel", LAUNCH, duration, line)
        for _ in range(3 if graph else 1):
            self.run(end, self.random.of(self.queues), self.time(6), name=self.random.of(KERNELS), graph=int(graph),
                     grid_x=1 + self.random.below(400), grid_y=1, grid_z=1, block_x=self.random.of([32, 128, 256, 1024]),
                     block_y=1, block_z=1, registers=self.random.of([0, 32, 128, 255]),
                     shared_static=self.random.of([0, 1024, 49152]), shared_dynamic=self.random.of([0, 65536]),
                     bytes=self.random.of([0, 2**64 - 1, 1 << 20]), flops=self.random.of([0, 1 << 24]))
        self.state(thread, RUNNING, duration)

    def collective(self, thread, line):
        detail = '{"Collective name":"%s","dtype":"%s","In msg nelems":%d,"Out msg nelems":%d,"Group size":%d}' % (
            self.random.of(OPERATIONS), self.random.of(TYPES), self.random.of([0, 16, 65536, 1 << 20]),
            self.random.of([16, 131072]), self.random.of([1, 2, 8]))
        end = self.call(thread, "cudaLaunchKernelExC", LAUNCH, self.grid, line)
        self.run(end, self.queues[-1], self.time(10), name=self.random.of(COLLECTIVES), grid_x=8, grid_y=1, grid_z=1, block_x=512,
                 block_y=1, block_z=1, detail=detail)
        self.state(thread, RUNNING, self.grid)

    def copy(self, thread, line):
        direction = self.random.of([1, 2, 3, 5] if self.seed % 3 else [1, 2])
        host, name = self.random.of([1, 2]), self.random.of(["cudaMemcpyAsync", "cudaMemcpy"])
        size = self.random.of([64, 4096, 1 << 20, 1 << 22, 1 << 28, 2**64 - 1])
        end = self.call(thread, name, COPY, self.time(2), line)
        self.run(end, self.queues[0], self.time(4), kind=1, bytes=size, direction=direction,
                 from_memory=host if direction == 1 else 3, to_memory=host if direction == 2 else 3)
        if self.random.one_in(4):
            self.run(end, self.queues[0], self.time(2), kind=2, bytes=4096)
        self.state(thread, RUNNING, end - self.now[thread])

    def order(self, thread, line):
        """One queue waits for what is in another."""
        recorded = self.call(thread, "cudaEventRecord", 0, self.grid, line) and self.correlation
        self.state(thread, RUNNING, self.grid)
        self.call(thread, "cudaStreamWaitEvent", 0, self.grid, line)
        self.file.add("wait", start=self.now[thread], queue=self.queues[-1], kind=2, correlation=self.correlation,
                      awaited=self.queues[0], event=3, record_correlation=recorded)
        self.free[self.queues[-1]] = max(self.free.get(self.queues[-1], 0), self.free.get(self.queues[0], 0))
        self.state(thread, RUNNING, self.grid)

    def wait(self, thread, line):
        """Until the queues are empty; the thread is blocked in the driver."""
        end = max([self.now[thread], *self.free.values()]) + self.time(1)
        self.call(thread, self.random.of(["cudaStreamSynchronize", "cudaDeviceSynchronize"]), SYNC,
                  end - self.now[thread], line)
        spin = min(self.time(1), end - self.now[thread])
        self.state(thread, RUNNING, spin)
        stack = self.python(line, ("cuStreamSynchronize", "libcuda.so.1", "", 0, ""), ("ioctl", "libc.so.6", "", 0, ""))
        self.state(thread, BLOCKED, end - self.now[thread], self.random.of([3, 7]), "ioctl", stack)

    # ---- memory ----

    def allocate(self, thread, line):
        if self.live and self.random.one_in(2):
            address = self.live.pop(self.random.below(len(self.live)))
            self.file.add("allocation", time=self.now[thread], thread=thread, operation=1, address=address)
        else:
            address = self.random.of([0, 4096 * (1 + len(self.stacks) + self.random.below(64))])
            self.live += [address] if address else []
            self.file.add("allocation", time=self.now[thread], thread=thread, bytes=1 << self.random.below(24),
                          address=address, stack=self.native(line))
        size = (1 + self.random.below(8)) << 17
        released = self.random.one_in(2) and self.allocated >= size
        self.allocated += -size if released else size
        if self.random.one_in(2):
            self.call(thread, "cudaFree" if released else "cudaMalloc", ALLOC, self.grid, line)
            self.state(thread, RUNNING, self.grid)
        self.file.add("memory", time=self.now[thread], thread=thread, device=self.device, operation=int(released), bytes=size,
                      address=size, allocated=self.allocated, reserved=self.allocated + (1 << 17))

    def counters(self, batch):
        if self.on_cpu:
            self.resident(batch)
            return
        time, slowed = self.now[self.threads[0]], self.seed % 4 == 1 and batch > 4
        self.file.add("counter", time=time, device=self.device, name="sm clock", value=1200.0 if slowed else 1980.0)
        self.file.add("counter", time=time, device=self.device, name="throttle reasons",
                      value=float(self.random.of([4, 8, 32, 64])) if slowed else 0.0)
        self.resident(batch)

    def resident(self, batch):
        time, grown = self.now[self.threads[0]], 1 + batch if self.seed % 2 else 8
        self.file.add("counter", time=time, name=f"resident memory of python3 ({100 + self.rank})", value=float(grown << 26))
        self.file.add("counter", time=time, name="resident memory of worker", value=float(1 << 26))

    # ---- the program ----

    def batch(self, number):
        main, autograd = self.threads[0], self.threads[1]
        start = self.now[main]
        self.block(main, (2, 20)[self.seed % 5 == 3], 13)
        self.work(main, (1, 12)[self.seed % 4 == 2], 14)
        if not self.on_cpu:
            self.use_device(main, autograd, number)
        if self.random.one_in(3):
            self.allocate(main, 19)
        for thread in self.threads[2:]:
            self.now[thread] = max(self.now[thread], start)
            self.work(thread, 3, 40)
            self.block(thread, 6, 41)
        if self.seed % 4 == 1:
            self.file.add("range", start=start, duration=self.time(8), thread=main, name=self.random.of(NAMES), category=2)
        if self.seed % 6 == 4:
            self.file.add("range", start=start, duration=self.now[main] - start, thread=main, name=f"step {number}", category=2)
        self.counters(number)

    def use_device(self, main, autograd, number):
        for _ in range(2 + self.random.below(5)):
            self.launch(main, 15 + self.random.below(3))
        for _ in range(self.random.below(3)):
            self.launch(main, 21)
        self.copy(main, 18)
        if len(self.queues) > 1 and self.random.one_in(2):
            self.order(main, 22)
        if self.seed % 6 == 2 and number < 4:
            end = self.call(main, "cuModuleLoadData", COMPILE, self.time(30), 23)
            self.state(main, RUNNING, end - self.now[main])
        self.now[autograd] = max(self.now[autograd], self.now[main])
        self.launch(autograd, 30)
        if self.seed % 3 != 2:
            self.collective(autograd, 31)
        if self.seed % 4 != 3 or number % 4 == 0:
            self.wait(main, 25)

    def bytes(self):
        file, seed = self.file, self.seed
        for number in range(6 + seed % 7):
            self.batch(number)
        if seed % 5 == 1:
            file.add("range", start=self.now[self.threads[0]] // 2, duration=20 * self.grid, thread=self.threads[0],
                     name="ridge: paused", category=6)
        file.add("mark", time=self.now[self.threads[0]], thread=self.threads[0], name="done")
        metas = {"clock.base": "monotonic", "source.tool": "ridge 0", "processors": 2, "rank": self.rank, "world_size": 2,
                 "command": "python3 train.py"}
        metas.update({"states.interval_ns": self.grid} if seed % 4 == 0 else {})
        if seed % 5 == 2:
            metas.update({f"roof.{self.rank}.name": DEVICES[seed % len(DEVICES)][0]})
            metas.update({f"roof.{self.rank}.{key}": value for key, value in ROOFS.items()})
        metas.update({"drops": 3, "warning": "made up"} if seed % 6 == 5 else {})
        for pid in ("", f"{100 + self.rank}.") if seed % 2 else ():
            metas.update({f"counter.{pid}cycles": 4000000, f"counter.{pid}instructions": 6000000 + seed,
                          f"counter.{pid}branches": 100000, f"counter.{pid}branch-misses": 900,
                          f"counter.{pid}LLC-loads": 1000, f"counter.{pid}LLC-load-misses": 700})
        for key, value in metas.items():
            file.meta(key, value)
        return file.bytes()


def write(seed, path):
    """Every third is of two ranks."""
    with open(path, "wb") as file:
        for rank in range(2 if seed % 3 == 0 else 1):
            file.write(Program(seed, rank).bytes())
