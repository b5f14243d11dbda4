"""The device as the programs of the corpus use it: graphs, streams, pinned memory, allocations and
kernels written here, compiled by NVRTC and launched through the driver.

With the device "cpu" everything is done in a plain way on the processor and sizes are small: nothing
is measured then, the programs are only tried."""

import ctypes
import glob
import os
import sys

import torch

# The kernels of the corpus. `repeat` makes an element costly without touching more memory.
SOURCE = r"""
extern "C" __global__ void multiply_add_loop(float *x, long long count, int repeat) {
    long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        float value = x[i];
        for (int k = 0; k < repeat; k++)
            value = value * 0.999f + 0.001f;
        x[i] = value;
    }
}
extern "C" __global__ void fused_chain(const float *x, float *y, long long count, int operations) {
    long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        float value = x[i];
        for (int k = 0; k < operations; k++)
            value = k % 2 ? fmaxf(value, 0.0f) : value * 0.999f;
        y[i] = value;
    }
}
extern "C" __global__ void copy_by_columns(const float *x, float *y, long long rows, long long columns) {
    long long step = (long long)gridDim.x * blockDim.x, count = rows * columns;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        long long at = i % rows * columns + i / rows;
        y[at] = x[at];
    }
}
"""


def _library(words, name):
    """Loads a library of CUDA from where the process, PyTorch or the system has it."""
    folders = [os.path.dirname(path) for path in sys.path if path.endswith("-packages")]
    tries = list(words)
    for folder in [path for path in sys.path if path] + folders:
        tries += sorted(glob.glob(os.path.join(folder, "nvidia", "*", "lib", name + ".so*")))
    tries += sorted(glob.glob("/usr/local/cuda*/lib64/" + name + ".so*"))
    for path in tries:
        try:
            return ctypes.CDLL(path)
        except OSError:
            continue
    raise OSError(f"{name} is not on this machine")


class Gpu:
    def __init__(self, device):
        self.device = device
        self.real = device != "cpu"
        self._functions = {}
        self._nvrtc = None
        if self.real:
            torch.cuda.init()
            torch.zeros(1, device=device)
            self.processors = torch.cuda.get_device_properties(0).multi_processor_count
            self.driver = ctypes.CDLL("libcuda.so.1")
        else:
            self.processors = 4
        self.ranges = False  # whether range() names anything

    def size(self, full, small):
        return full if self.real else small

    def synchronize(self):
        if self.real:
            torch.cuda.synchronize()

    def pinned(self, tensor):
        return tensor.pin_memory() if self.real else tensor

    def range(self, name):
        gpu = self

        class Range:
            def __enter__(self):
                if gpu.ranges and gpu.real:
                    torch.cuda.nvtx.range_push(name)

            def __exit__(self, *ignored):
                if gpu.ranges and gpu.real:
                    torch.cuda.nvtx.range_pop()

        return Range()

    def graph(self, work):
        """`work` as a function that replays it as one CUDA graph."""
        if not self.real:
            return work
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                work()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            work()
        return graph.replay

    def check(self, code, what):
        if code != 0:
            raise RuntimeError(f"{what} failed with {code}")

    def compile(self, source, ptx=False):
        """The source as a cubin (or PTX) of this device."""
        if self._nvrtc is None:
            self._nvrtc = _library(["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"], "libnvrtc")
        nvrtc, program = self._nvrtc, ctypes.c_void_p()
        major, minor = torch.cuda.get_device_capability()
        target = f"--gpu-architecture={'compute' if ptx else 'sm'}_{major}{minor}".encode()
        options = (ctypes.c_char_p * 1)(target)
        self.check(nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"corpus.cu", 0, None, None), "nvrtcCreateProgram")
        self.check(nvrtc.nvrtcCompileProgram(program, 1, options), "nvrtcCompileProgram")
        size = ctypes.c_size_t()
        get_size, get = (nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX) if ptx else (nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN)
        self.check(get_size(program, ctypes.byref(size)), "the size of the code")
        code = ctypes.create_string_buffer(size.value)
        self.check(get(program, code), "the code")
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
        return code

    def load(self, code):
        module = ctypes.c_void_p()
        self.check(self.driver.cuModuleLoadData(ctypes.byref(module), code), "cuModuleLoadData")
        return module

    def unload(self, module):
        self.check(self.driver.cuModuleUnload(module), "cuModuleUnload")

    def function(self, name):
        if not self._functions:
            module = self.load(self.compile(SOURCE))
            for word in ("multiply_add_loop", "fused_chain", "copy_by_columns"):
                function = ctypes.c_void_p()
                self.check(self.driver.cuModuleGetFunction(ctypes.byref(function), module, word.encode()), "cuModuleGetFunction")
                self._functions[word] = function
        return self._functions[name]

    def launch(self, name, grid, block, *arguments):
        """Launches a kernel of SOURCE: tensors go as addresses, pairs as (c type, value)."""
        if not self.real:
            return
        values = [ctypes.c_void_p(a.data_ptr()) if torch.is_tensor(a) else a[0](a[1]) for a in arguments]
        addresses = (ctypes.c_void_p * len(values))(*[ctypes.cast(ctypes.byref(v), ctypes.c_void_p) for v in values])
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        self.check(self.driver.cuLaunchKernel(self.function(name), grid, 1, 1, block, 1, 1, 0, stream, addresses, None), "cuLaunchKernel")

    def allocate(self, size):
        address = ctypes.c_uint64()
        if self.real:
            self.check(self.driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size)), "cuMemAlloc")
        return address

    def free(self, address):
        if self.real:
            self.check(self.driver.cuMemFree_v2(address), "cuMemFree")

    def empty_cache(self):
        if self.real:
            torch.cuda.empty_cache()
