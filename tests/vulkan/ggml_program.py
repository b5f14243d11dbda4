"""A decoder of six layers on llama.cpp's Vulkan backend (ggml), called with ctypes.

    ggml_program.py FOLDER [STEPS]     FOLDER has libggml-base.so and libggml-vulkan.so

tests/vulkan/get-clients downloads these. Prints a checksum of the results of all steps. Ends with 77 where
the libraries are missing or find no device.
"""
import ctypes
import os
import struct
import sys
import zlib
from ctypes import c_bool, c_char_p, c_float, c_int, c_int64, c_size_t, c_void_p

WIDTH, HIDDEN, LAYERS = 256, 512, 6
F32, F16 = 0, 1


def give_up(why):
    print(why)
    sys.exit(77)


class InitParameters(ctypes.Structure):
    _fields_ = [("bytes", c_size_t), ("memory", c_void_p), ("no_alloc", c_bool)]


def declare(library, result, name, *parameters):
    function = getattr(library, name)
    function.restype, function.argtypes = result, parameters
    return function


class Random:
    """The same numbers on every machine."""

    def __init__(self):
        self.state = 1

    def bytes(self, count, scale, code):
        values = []
        for _ in range(count):
            self.state = (self.state * 1664525 + 1013904223) & 0xFFFFFFFF
            values.append(((self.state >> 8) / (1 << 23) - 1) * scale)
        return struct.pack(f"<{count}{code}", *values)


folder = sys.argv[1] if len(sys.argv) > 1 else ""
steps = int(sys.argv[2]) if len(sys.argv) > 2 else 10
if not os.path.exists(os.path.join(folder, "libggml-vulkan.so")):
    give_up("libggml-vulkan.so is missing")
os.environ.setdefault("GGML_VK_VISIBLE_DEVICES", "0")  # else devices of type CPU are left out
base = ctypes.CDLL(os.path.join(folder, "libggml-base.so"), ctypes.RTLD_GLOBAL)
vulkan = ctypes.CDLL(os.path.join(folder, "libggml-vulkan.so"), ctypes.RTLD_GLOBAL)
if declare(vulkan, c_int, "ggml_backend_vk_get_device_count")() == 0:
    give_up("ggml finds no Vulkan device")
backend = declare(vulkan, c_void_p, "ggml_backend_vk_init", c_size_t)(0)
if not backend:
    give_up("ggml cannot use the Vulkan device")

new_tensor = declare(base, c_void_p, "ggml_new_tensor_2d", c_void_p, c_int, c_int64, c_int64)
norm = declare(base, c_void_p, "ggml_rms_norm", c_void_p, c_void_p, c_float)
product = declare(base, c_void_p, "ggml_mul_mat", c_void_p, c_void_p, c_void_p)
silu = declare(base, c_void_p, "ggml_silu", c_void_p, c_void_p)
add = declare(base, c_void_p, "ggml_add", c_void_p, c_void_p, c_void_p)
write = declare(base, None, "ggml_backend_tensor_set", c_void_p, c_char_p, c_size_t, c_size_t)
read = declare(base, None, "ggml_backend_tensor_get", c_void_p, c_void_p, c_size_t, c_size_t)
compute = declare(base, c_int, "ggml_backend_graph_compute", c_void_p, c_void_p)

context = declare(base, c_void_p, "ggml_init", InitParameters)(InitParameters(1 << 24, None, True))
weights = []
first = x = new_tensor(context, F32, WIDTH, 1)
for layer in range(LAYERS):
    up, down = new_tensor(context, F16, WIDTH, HIDDEN), new_tensor(context, F16, HIDDEN, WIDTH)
    weights += [up, down]
    x = add(context, x, product(context, down, silu(context, product(context, up, norm(context, x, 1e-5)))))
graph = declare(base, c_void_p, "ggml_new_graph", c_void_p)(context)
declare(base, None, "ggml_build_forward_expand", c_void_p, c_void_p)(graph, x)
if not declare(base, c_void_p, "ggml_backend_alloc_ctx_tensors", c_void_p, c_void_p)(context, backend):
    sys.exit("ggml cannot allocate the tensors")
random = Random()
for tensor in weights:
    write(tensor, random.bytes(WIDTH * HIDDEN, 0.05, "e"), 0, WIDTH * HIDDEN * 2)
token, checksum = random.bytes(WIDTH, 1.0, "f"), 0
result = ctypes.create_string_buffer(WIDTH * 4)
for step in range(steps):
    write(first, token, 0, WIDTH * 4)
    if compute(backend, graph) != 0:
        sys.exit("the graph failed")
    read(x, result, 0, WIDTH * 4)
    token = result.raw
    checksum = zlib.crc32(token, checksum)
print(f"checksum {checksum:08x}")
