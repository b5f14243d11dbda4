"""Tensors on the devices of libridge: the functions of ridge.h from Python.

    from ridge import runtime as rt

    device = rt.Device("cpu")
    x = device.tensor([[1.0, 2.0], [3.0, 4.0]])
    y = rt.softmax(x @ x.T + 1, -1)
    y.numpy()                            # an array of NumPy, if that is installed
    y.tolist()

    @rt.compile
    def step(x, w):                      # traced at the first call, then one fused program
        return rt.rms_norm(x @ w)

A function has the name, the meaning and the order of arguments that it has in ridge.h, and those on
tensors are methods too. A failure raises ridge.runtime.Error with the library's message. Tensors are
exchanged by DLPack with NumPy, PyTorch and others, without a copy.

A device and what is on it are used by one thread at a time. There is no extension module: the
library is loaded with ctypes, from $RIDGE_LIBRARY, this package's installation, or the system.
"""

import builtins
import ctypes
import functools
import os
import struct
import sys
import sysconfig
from collections import deque
from ctypes import (
    CFUNCTYPE,
    POINTER,
    c_bool,
    c_char,
    c_char_p,
    c_double,
    c_float,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_uint,
    c_uint32,
    c_uint64,
    c_void_p,
)

RANK_MAX = 8


class Error(RuntimeError):
    """A failure of the library. `code` is one of usage, input, unsupported, io, memory."""

    def __init__(self, message, code):
        super().__init__(message)
        self.code = code


# ---- The library ---------------------------------------------------------------------------------


def _candidates():
    suffix = "dylib" if sys.platform == "darwin" else "so"
    soname = "libridge.0.dylib" if sys.platform == "darwin" else "libridge.so.0"
    given = os.environ.get("RIDGE_LIBRARY")
    if given:
        return [given]
    here = os.path.dirname(os.path.abspath(__file__))
    return [
        os.path.join(sysconfig.get_path("data"), "lib", "ridge", soname),
        os.path.join(here, "..", "..", "build", "libridge." + suffix),
        soname,
    ]


def _open_library():
    for path in _candidates():
        if os.path.dirname(path) and not os.path.exists(path):
            continue
        try:
            return ctypes.CDLL(path)
        except OSError as error:
            reason = error
            if os.environ.get("RIDGE_LIBRARY"):
                raise
    raise OSError("libridge was not found (%s); set $RIDGE_LIBRARY to its path" % reason)


_library = _open_library()
_CODES = ("ok", "usage", "input", "unsupported", "io", "memory")


def _function(name, result, *arguments):
    function = getattr(_library, "ridge_" + name)
    function.restype = result
    function.argtypes = arguments
    return function


_error_message = _function("error_message", c_char_p)
_error_code = _function("error_code", c_int)
_error_clear = _function("error_clear", None)


def _fail():
    error = Error(_error_message().decode("utf-8", "replace"), _CODES[_error_code()])
    _error_clear()
    raise error


def _check(ok):
    if not ok:
        _fail()
    return ok


def version():
    """The version of the library."""
    return _function("version", c_char_p)().decode()


_dtype_name = _function("dtype_name", c_char_p, c_int)
DTYPES = tuple(_dtype_name(number).decode() for number in range(16))
_FORMATS = {"f32": "f", "f16": "e", "i32": "i", "u8": "B"}
_NUMPY = {"f32": "float32", "f16": "float16", "i32": "int32", "u8": "uint8"}


def _dtype(name):
    try:
        return DTYPES.index(name.lower())
    except (ValueError, AttributeError):
        raise ValueError("%r is no dtype; there are %s" % (name, ", ".join(DTYPES))) from None


def _sizes(values):
    return (c_int64 * builtins.max(len(values), 1))(*values)


# ---- Devices -------------------------------------------------------------------------------------


class _DeviceInfo(ctypes.Structure):
    _fields_ = [
        ("name", c_char * 32),
        ("description", c_char * 128),
        ("driver", c_char * 128),
        ("problem", c_char * 256),
        ("memory_bytes", c_uint64),
        ("compute_units", c_uint32),
        ("usable", c_bool),
    ]


class _Options(ctypes.Structure):
    _fields_ = [
        ("name", c_char_p),
        ("ordinal", c_uint),
        ("threads", c_uint),
        ("memory_limit", c_uint64),
        ("deterministic", c_bool),
    ]


class _PoolStats(ctypes.Structure):
    _fields_ = [
        (name, c_uint64)
        for name in (
            "pooled_buffers size_classes pooled_bytes used_bytes requested_bytes high_water_bytes "
            "allocations reuses flushes"
        ).split()
    ] + [("reuse_rate", c_double)]


class _Region(ctypes.Structure):
    _fields_ = [("seconds", c_double), ("busy_seconds", c_double)] + [
        (name, c_uint64) for name in "kernels copies flops kernel_bytes copy_bytes".split()
    ]


def _as_dict(struct_):
    values = {name: getattr(struct_, name) for name, *_ in struct_._fields_}
    return {
        name: value.decode("utf-8", "replace") if isinstance(value, bytes) else value
        for name, value in values.items()
    }


_device_list = _function("device_list", c_size_t, POINTER(_DeviceInfo), c_size_t)
_device_open_with = _function("device_open_with", c_void_p, POINTER(_Options))
_device_close = _function("device_close", None, c_void_p)
_device_describe = _function("device_describe", c_bool, c_void_p, POINTER(_DeviceInfo))
_release = _function("release", None, c_void_p)
_from_host = _function(
    "from_host", c_void_p, c_void_p, c_int, c_uint, POINTER(c_int64), c_void_p
)
_from_floats = _function(
    "from_floats", c_void_p, c_void_p, c_int, c_uint, POINTER(c_int64), c_void_p
)
_RELEASE = CFUNCTYPE(None, c_void_p)
_wrap_host = _function(
    "wrap_host",
    c_void_p,
    c_void_p,
    c_int,
    c_uint,
    POINTER(c_int64),
    POINTER(c_int64),
    c_void_p,
    _RELEASE,
    c_void_p,
)


def devices():
    """The devices of this machine, usable or not, as dictionaries."""
    rows = (_DeviceInfo * 64)()
    return [_as_dict(row) for row in rows[: builtins.min(64, _device_list(rows, 64))]]


_wrapped = {}  # objects whose memory tensors use, by a number
_next_wrapped = [1]


@_RELEASE
def _forget(number):
    _wrapped.pop(number, None)


def _keep(value):
    number = _next_wrapped[0]
    _next_wrapped[0] += 1
    _wrapped[number] = value
    return number


def _flatten(values, sizes, flat, depth=0):
    if not isinstance(values, (list, tuple)):
        if depth != len(sizes):
            raise ValueError("the lists differ in depth")
        flat.append(values)
        return
    if depth == len(sizes):
        if flat:
            raise ValueError("the lists differ in depth")
        sizes.append(len(values))
    if len(values) != sizes[depth]:
        raise ValueError("the lists differ in length")
    for value in values:
        _flatten(value, sizes, flat, depth + 1)


class _Timed(dict):
    """The figures of a region; they are there when it has ended."""

    __getattr__ = dict.__getitem__


class _Pair:
    """A context manager of two functions of the device."""

    def __init__(self, begin, end):
        self._begin, self._end = begin, end

    def __enter__(self):
        return self._begin()

    def __exit__(self, *error):
        self._end()
        return False


class Device:
    """A device of libridge. `name` is as in ridge_device_open(): "cpu", "cuda:1"; None is the first
    that is usable. The options are those of struct ridge_device_options."""

    def __init__(self, name=None, ordinal=0, threads=0, memory_limit=0, deterministic=False):
        encoded = None if name is None else os.fsencode(name)
        options = _Options(encoded, ordinal, threads, memory_limit, deterministic)
        self._garbage = deque()
        self._handle = None
        self._handle = _check(_device_open_with(ctypes.byref(options)))

    def close(self):
        """Releases everything on the device."""
        if self._handle:
            self._collect()
            handle = self._handle
            _device_close(handle)
            if _error_code():
                _fail()
            self._handle = None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()
        return False

    def __repr__(self):
        return "Device(%r)" % self.describe()["name"] if self._handle else "Device(closed)"

    def _collect(self):
        """Releases what was dropped: a destructor runs in any thread, this does not."""
        while self._garbage:
            release, handle = self._garbage.popleft()
            release(handle)
        _error_clear()  # those of a function that was compiled are gone already

    def _use(self):
        if self._garbage:
            self._collect()
        if not self._handle:
            raise Error("the device was already closed", "usage")
        return self._handle

    def describe(self):
        info = _DeviceInfo()
        _check(_device_describe(self._use(), ctypes.byref(info)))
        return _as_dict(info)

    def synchronize(self):
        _check(_function("synchronize", c_bool, c_void_p)(self._use()))

    def pool_stats(self):
        stats = _PoolStats()
        get = _function("pool_stats", c_bool, c_void_p, POINTER(_PoolStats))
        _check(get(self._use(), ctypes.byref(stats)))
        return _as_dict(stats)

    def pool_clear(self):
        _check(_function("pool_clear", c_bool, c_void_p)(self._use()))

    def _simple(self, name):
        return lambda: _check(_function(name, c_bool, c_void_p)(self._use()))

    def trace(self, path):
        """A context manager: what the device does in it is recorded, for ridge.report()."""
        begin = _function("trace_begin", c_bool, c_void_p, c_char_p)
        return _Pair(
            lambda: _check(begin(self._use(), os.fsencode(path))), self._simple("trace_end")
        )

    def range(self, name):
        """A context manager: names a part of the trace."""
        begin = _function("range_begin", None, c_void_p, c_char_p)
        end = _function("range_end", None, c_void_p)
        return _Pair(lambda: begin(self._use(), name.encode()), lambda: end(self._use()))

    def region(self):
        """A context manager whose value has the device time of what ran in it: seconds,
        busy_seconds, kernels, copies, flops, kernel_bytes, copy_bytes."""
        timed = _Timed()

        def begin():
            self._simple("region_begin")()
            return timed

        def end():
            region = _Region()
            get = _function("region_end", c_bool, c_void_p, POINTER(_Region))
            _check(get(self._use(), ctypes.byref(region)))
            timed.update(_as_dict(region))

        return _Pair(begin, end)

    def tape(self):
        """A context manager: records eager operations, so that gradients() can differentiate
        them."""
        return _Pair(self._simple("tape_begin"), self._simple("tape_end"))

    def _made(self, handle):
        return Tensor(_check(handle), self)

    def tensor(self, values, dtype=None):
        """A copy of a list, a number, or an array: anything with __array_interface__. float64
        becomes f32, int64 i32 (if it fits) and bool u8; `dtype` asks for another."""
        if isinstance(values, Tensor):
            return values.cast(dtype) if dtype else values.retain()
        if hasattr(values, "__array_interface__"):
            return self._from_array(values, dtype)
        sizes, flat = [], []
        _flatten(values, sizes, flat)
        if dtype is None:
            dtype = "i32" if flat and all(isinstance(one, int) for one in flat) else "f32"
        if dtype in ("i32", "u8"):
            data = (c_int32 * builtins.max(len(flat), 1))(*flat)
            made = self._made(_from_host(self._use(), 3, len(sizes), _sizes(sizes), data))
            return made if dtype == "i32" else made.cast(dtype)
        data = (c_float * builtins.max(len(flat), 1))(*flat)
        return self._made(
            _from_floats(self._use(), _dtype(dtype), len(sizes), _sizes(sizes), data)
        )

    def _from_array(self, values, dtype):
        import numpy

        array = numpy.ascontiguousarray(values).reshape(numpy.shape(values))
        kinds = {name: own for own, name in _NUMPY.items()}
        own = kinds.get(array.dtype.name)
        if own is None:
            if array.dtype.kind == "f":
                array = array.astype("float32")
                own = "f32"
            elif array.dtype.kind == "b":
                array = array.astype("uint8")
                own = "u8"
            elif array.dtype.kind in "iu":
                narrow = array.astype("int32")
                if not numpy.array_equal(narrow, array):
                    raise ValueError("there are integers that do not fit into i32")
                array, own = narrow, "i32"
            else:
                raise ValueError("arrays of %s have no form here" % array.dtype)
        sizes = _sizes(array.shape)
        if own == "f32" and dtype not in (None, "f32", "i32", "u8"):
            make, number = _from_floats, _dtype(dtype)
            return self._made(
                make(self._use(), number, array.ndim, sizes, c_void_p(array.ctypes.data))
            )
        made = self._made(
            _from_host(self._use(), _dtype(own), array.ndim, sizes, c_void_p(array.ctypes.data))
        )
        return made if dtype in (None, own) else made.cast(dtype)

    def wrap(self, array):
        """A tensor on the memory of a NumPy array, without a copy. Only on the CPU."""
        kinds = {name: own for own, name in _NUMPY.items()}
        own = kinds.get(array.dtype.name)
        if own is None or not array.flags.writeable:
            raise ValueError("only writable arrays of %s are shared" % ", ".join(kinds))
        if any(stride % array.itemsize for stride in array.strides):
            raise ValueError("the strides are no whole elements")
        strides = [stride // array.itemsize for stride in array.strides]
        kept = _keep(array)
        handle = _wrap_host(
            self._use(),
            _dtype(own),
            array.ndim,
            _sizes(array.shape),
            _sizes(strides),
            c_void_p(array.ctypes.data),
            _forget,
            kept,
        )
        if not handle:
            _wrapped.pop(kept)
        return self._made(handle)

    def from_dlpack(self, value):
        """A tensor on the memory of another library's, without a copy."""
        return _from_dlpack_object(self, value)

    def zeros(self, sizes, dtype="f32"):
        make = _function("zeros", c_void_p, c_void_p, c_int, c_uint, POINTER(c_int64))
        return self._made(make(self._use(), _dtype(dtype), len(sizes), _sizes(sizes)))

    def full(self, sizes, value, dtype="f32"):
        make = _function("full", c_void_p, c_void_p, c_int, c_uint, POINTER(c_int64), c_double)
        return self._made(make(self._use(), _dtype(dtype), len(sizes), _sizes(sizes), value))

    def arange(self, count, start=0, step=1, dtype="f32"):
        make = _function("arange", c_void_p, c_void_p, c_int, c_int64, c_double, c_double)
        return self._made(make(self._use(), _dtype(dtype), count, start, step))

    def _random(self, name, sizes, seed, dtype):
        make = _function(name, c_void_p, c_void_p, c_int, c_uint, POINTER(c_int64), c_uint64)
        return self._made(make(self._use(), _dtype(dtype), len(sizes), _sizes(sizes), seed))

    def rand(self, sizes, seed, dtype="f32"):
        return self._random("rand", sizes, seed, dtype)

    def randn(self, sizes, seed, dtype="f32"):
        return self._random("randn", sizes, seed, dtype)


# ---- DLPack --------------------------------------------------------------------------------------

_capsule_new = ctypes.pythonapi.PyCapsule_New
_capsule_new.restype = ctypes.py_object
_capsule_new.argtypes = [c_void_p, c_char_p, c_void_p]
_capsule_valid = ctypes.pythonapi.PyCapsule_IsValid
_capsule_valid.argtypes = [ctypes.py_object, c_char_p]
_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype = c_void_p
_capsule_pointer.argtypes = [ctypes.py_object, c_char_p]
_capsule_rename = ctypes.pythonapi.PyCapsule_SetName
_capsule_rename.argtypes = [ctypes.py_object, c_char_p]

_PLAIN, _VERSIONED = b"dltensor", b"dltensor_versioned"
_USED = {_PLAIN: b"used_dltensor", _VERSIONED: b"used_dltensor_versioned"}
_DELETER = CFUNCTYPE(None, c_void_p)


class _Managed(ctypes.Structure):
    """DLManagedTensor of dlpack.h."""

    _fields_ = [
        ("data", c_void_p),
        ("device", c_int32 * 2),
        ("rank", c_int32),
        ("dtype", c_uint32),
        ("sizes", c_void_p),
        ("strides", c_void_p),
        ("byte_offset", c_uint64),
        ("context", c_void_p),
        ("deleter", _DELETER),
    ]


class _ManagedVersioned(ctypes.Structure):
    """The head of DLManagedTensorVersioned."""

    _fields_ = [("version", c_uint32 * 2), ("context", c_void_p), ("deleter", _DELETER)]


_freed_valid = ctypes.PYFUNCTYPE(c_int, c_void_p, c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi)
)
_freed_pointer = ctypes.PYFUNCTYPE(c_void_p, c_void_p, c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


@ctypes.PYFUNCTYPE(None, c_void_p)
def _drop_capsule(capsule):
    """Of a capsule that nobody used: what is in it goes back. The capsule is being freed, so no
    Python object may refer to it."""
    for name in (_PLAIN, _VERSIONED):
        if _freed_valid(capsule, name):
            address = _freed_pointer(capsule, name)
            kind = _ManagedVersioned if name == _VERSIONED else _Managed
            kind.from_address(address).deleter(address)


def _from_dlpack_object(device, value):
    exported = value.__dlpack__() if hasattr(value, "__dlpack__") else value
    for name, function in ((_PLAIN, "from_dlpack"), (_VERSIONED, "from_dlpack_versioned")):
        if _capsule_valid(exported, name):
            make = _function(function, c_void_p, c_void_p, c_void_p)
            made = device._made(make(device._use(), _capsule_pointer(exported, name)))
            _capsule_rename(exported, _USED[name])
            return made
    raise TypeError("it has no DLPack tensor")


# ---- Tensors -------------------------------------------------------------------------------------

_tensor_dtype = _function("tensor_dtype", c_int, c_void_p)
_tensor_rank = _function("tensor_rank", c_uint, c_void_p)
_tensor_size = _function("tensor_size", c_int64, c_void_p, c_int)
_tensor_stride = _function("tensor_stride", c_int64, c_void_p, c_int)
_tensor_count = _function("tensor_count", c_int64, c_void_p)
_tensor_bytes = _function("tensor_bytes", c_size_t, c_void_p)
_tensor_contiguous = _function("tensor_contiguous", c_bool, c_void_p)
_to_host = _function("to_host", c_bool, c_void_p, c_void_p, c_size_t)
_to_floats = _function("to_floats", c_bool, c_void_p, c_void_p, c_size_t)


def _nest(flat, sizes):
    if not sizes:
        return flat[0]
    part = len(flat) // sizes[0] if sizes[0] else 0
    return [_nest(flat[i * part : (i + 1) * part], sizes[1:]) for i in range(sizes[0])]


class Tensor:
    """A tensor on a device. Operators and methods make new ones; see the functions of this module."""

    __slots__ = ("_handle", "device", "__weakref__")
    __array_priority__ = 1000
    __hash__ = object.__hash__

    def __init__(self, handle, device):
        self._handle = handle
        self.device = device

    def __del__(self):
        handle, self._handle = self._handle, None
        if handle:
            self.device._garbage.append((_release, handle))

    dtype = property(lambda self: DTYPES[_tensor_dtype(self._handle)])
    ndim = property(lambda self: _tensor_rank(self._handle))
    size = property(lambda self: _tensor_count(self._handle))
    nbytes = property(lambda self: _tensor_bytes(self._handle))
    is_contiguous = property(lambda self: _tensor_contiguous(self._handle))
    T = property(lambda self: transpose(self, -2, -1))

    @property
    def shape(self):
        return tuple(_tensor_size(self._handle, axis) for axis in range(self.ndim))

    @property
    def strides(self):
        """In elements."""
        return tuple(_tensor_stride(self._handle, axis) for axis in range(self.ndim))

    def __repr__(self):
        return "Tensor(%s %s on %r)" % (self.dtype, list(self.shape), self.device)

    def __len__(self):
        if not self.ndim:
            raise TypeError("a tensor of rank 0 has no length")
        return self.shape[0]

    def numpy(self):
        """A copy as an array of NumPy; bf16 and quantized types as float32."""
        import numpy

        self.device._use()
        name = _NUMPY.get(self.dtype)
        array = numpy.empty(self.shape, name or "float32")
        data = c_void_p(array.ctypes.data)
        _check(
            _to_host(self._handle, data, array.nbytes)
            if name
            else _to_floats(self._handle, data, array.size)
        )
        return array

    def __array__(self, dtype=None, copy=None):
        array = self.numpy()
        return array if dtype is None else array.astype(dtype)

    def tolist(self):
        """Nested lists of numbers."""
        self.device._use()
        format_ = _FORMATS.get(self.dtype)
        if not format_:
            data = (c_float * builtins.max(self.size, 1))()
            _check(_to_floats(self._handle, data, self.size))
            flat = list(data)[: self.size]
        else:
            data = bytearray(self.nbytes)
            buffer = (c_char * builtins.max(len(data), 1)).from_buffer(data) if data else None
            _check(_to_host(self._handle, buffer, self.nbytes))
            flat = list(struct.unpack("=%d%s" % (self.size, format_), data))
        return _nest(flat, self.shape)

    def item(self):
        """The one element."""
        if self.size != 1:
            raise ValueError("the tensor has %d elements" % self.size)
        return reshape(self, []).tolist()

    def __float__(self):
        return float(self.item())

    def __int__(self):
        return int(self.item())

    def __bool__(self):
        return bool(self.item())

    def retain(self):
        """Another Tensor with the same data."""
        return self.device._made(_function("retain", c_void_p, c_void_p)(self._handle))

    def assign(self, source):
        """Copies `source` into the data of this tensor, often a slice."""
        assign_ = _function("assign", c_bool, c_void_p, c_void_p)
        _check(assign_(self._handle, _tensor(source, self)._handle))

    def update(self, source, axis, position):
        """Writes `source` from `position` on along the axis; see ridge_update()."""
        update_ = _function("update", c_bool, c_void_p, c_void_p, c_int, c_void_p)
        _check(update_(self._handle, source._handle, axis, position._handle))

    def __dlpack_device__(self):
        kind, _, number = self.device.describe()["name"].partition(":")
        return {"cpu": 1, "cuda": 2}.get(kind, 0), int(number or 0)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if copy:
            return contiguous(self + 0 if self.dtype[0] == "f" else self).__dlpack__()
        versioned = max_version is not None and max_version[0] >= 1
        function = "to_dlpack_versioned" if versioned else "to_dlpack"
        self.device._use()
        managed = _check(_function(function, c_void_p, c_void_p)(self._handle))
        destructor = ctypes.cast(_drop_capsule, c_void_p)
        return _capsule_new(managed, _VERSIONED if versioned else _PLAIN, destructor)

    def __getitem__(self, key):
        """Indices, slices with a positive step, ... and None, as in NumPy; a view."""
        keys = list(key) if isinstance(key, tuple) else [key]
        taken = builtins.sum(1 for one in keys if one is not None and one is not Ellipsis)
        if Ellipsis not in keys:
            keys.append(Ellipsis)
        at = keys.index(Ellipsis)
        keys[at : at + 1] = [slice(None)] * (self.ndim - taken)
        result, axis = self, 0
        for one in keys:
            if one is None:
                result = unsqueeze(result, axis)
                axis += 1
            elif isinstance(one, slice):
                step = 1 if one.step is None else one.step
                end = 2**63 - 1 if one.stop is None else one.stop
                if (one.start, one.stop, one.step) != (None, None, None):
                    result = slice_(result, axis, one.start or 0, end, step)
                axis += 1
            else:
                result = select(result, axis, int(one))
        return result if result is not self else self.retain()

    def __setitem__(self, key, source):
        self[key].assign(source)


def _tensor(value, like):
    """The value as a tensor of the device and dtype of another."""
    return value if isinstance(value, Tensor) else like.device.tensor(value, like.dtype)


def _handle(value):
    return None if value is None else value._handle


# ---- Operations ----------------------------------------------------------------------------------
# A function made of a row here takes its arguments in the order of ridge.h. Kinds of arguments:
# t tensor, o tensor or None, i axis, q size, f float, b bool, d dtype, a axes.

_KINDS = {"t": c_void_p, "o": c_void_p, "i": c_int, "q": c_int64, "f": c_float, "b": c_bool}
_KINDS.update(d=c_int, u=c_uint, s=c_uint64, n=c_double)

_UNARY = (
    "logical_not neg abs sign square reciprocal floor ceil round sin cos tan exp log log1p sqrt "
    "rsqrt tanh erf sigmoid relu gelu gelu_tanh silu contiguous detach"
).split()
_BINARY = (
    "add sub mul div mod pow min max equal not_equal less less_equal greater greater_equal "
    "logical_and logical_or add_relu mul_relu"
).split()
_OTHERS = (
    ("where", "ttt", {}),
    ("clamp", "ttt", {}),
    ("affine", "ttt", {}),
    ("transpose", "tii", {"axis_a": -2, "axis_b": -1}),
    ("select", "tiq", {}),
    ("unsqueeze", "ti", {}),
    ("squeeze", "ti", {}),
    ("cast", "td", {}),
    ("argmax", "tib", {"axis": -1, "keep": False}),
    ("argmin", "tib", {"axis": -1, "keep": False}),
    ("softmax", "ti", {"axis": -1}),
    ("log_softmax", "ti", {"axis": -1}),
    ("cumsum", "ti", {"axis": -1}),
    ("layer_norm", "toof", {"weight": None, "bias": None, "epsilon": 1e-5}),
    ("rms_norm", "tof", {"weight": None, "epsilon": 1e-5}),
    ("group_norm", "tuoof", {"weight": None, "bias": None, "epsilon": 1e-5}),
    ("gather", "tit", {}),
    ("scatter_add", "titt", {}),
    ("argsort", "tib", {"axis": -1, "descending": False}),
    ("sample", "ttfqfs", {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "seed": 0}),
    ("matmul", "tt", {}),
    ("gated_mlp", "ttto", {"down": None}),
    ("lora", "ttttf", {"scale": 1.0}),
    ("quantize", "td", {}),
    ("dequantize", "td", {"dtype": "f32"}),
    ("embedding", "tt", {}),
    ("rope", "ttfb", {"base": 10000.0, "interleaved": False}),
    ("attention", "tttfb", {"scale": 1.0, "causal": False}),
    ("token_shift", "tto", {"mix": None}),
    ("cross_entropy", "tt", {}),
    ("mse_loss", "tt", {}),
    ("l1_loss", "tt", {}),
    ("bce_loss", "tt", {}),
    ("kl_loss", "tt", {}),
    ("dropout", "tnso", {"step": None}),
)


def _make_operation(name, kinds, defaults):
    function = _function(name, c_void_p, *[_KINDS[kind] for kind in kinds])
    required = len(kinds) - len(defaults)
    names = list(defaults)

    def operation(*values, **named):
        given = list(values)
        for at in range(len(given), len(kinds)):
            key = names[at - required] if at >= required else None
            if key is None:
                raise TypeError("%s() takes at least %d arguments" % (name, required))
            given.append(named.pop(key, defaults[key]))
        if named or len(given) > len(kinds):
            raise TypeError("%s() takes %s" % (name, ", ".join(names) or "no names"))
        tensors = [value for value in given if isinstance(value, Tensor)]
        like = tensors[-1]  # the first of where() is a condition
        device = like.device
        device._use()
        converted = []
        for kind, value in zip(kinds, given):
            if kind in "to":
                value = None if value is None else _tensor(value, like)
            converted.append(_dtype(value) if kind == "d" else value)
        # the tensors must live until the call returns
        return device._made(
            function(*[one._handle if isinstance(one, Tensor) else one for one in converted])
        )

    operation.__name__ = operation.__qualname__ = name
    operation.__doc__ = "ridge_%s(): see ridge.h." % name
    return operation


def _make_binary(name):
    tensors = _function(name, c_void_p, c_void_p, c_void_p)
    scalar = _function(name + "_scalar", c_void_p, c_void_p, c_double)

    def operation(x, y):
        if not isinstance(x, Tensor):
            x = y.device.tensor(x, y.dtype)
        device = x.device
        device._use()
        if isinstance(y, (int, float)):
            return device._made(scalar(x._handle, y))
        y = _tensor(y, x)
        return device._made(tensors(x._handle, y._handle))

    operation.__name__ = operation.__qualname__ = name
    operation.__doc__ = "ridge_%s() of tensors or a tensor and a number: see ridge.h." % name
    return operation


for _name in _UNARY:
    globals()[_name] = _make_operation(_name, "t", {})
for _name in _BINARY:
    globals()[_name] = _make_binary(_name)
for _name, _kinds, _defaults in _OTHERS:
    globals()[_name] = _make_operation(_name, _kinds, _defaults)


def _reduction(name):
    function = _function(name, c_void_p, c_void_p, c_uint, POINTER(c_int), c_bool)

    def operation(x, axes=(), keep=False):
        axes = (axes,) if isinstance(axes, int) else tuple(axes)
        x.device._use()
        return x.device._made(
            function(x._handle, len(axes), (c_int * builtins.max(len(axes), 1))(*axes), keep)
        )

    operation.__name__ = operation.__qualname__ = name
    operation.__doc__ = "ridge_%s() over an axis, several, or all: see ridge.h." % name
    return operation


sum, mean, amax, amin = (_reduction(name) for name in ("sum", "mean", "amax", "amin"))

_reshape = _function("reshape", c_void_p, c_void_p, c_uint, POINTER(c_int64))
_broadcast = _function("broadcast", c_void_p, c_void_p, c_uint, POINTER(c_int64))
_permute = _function("permute", c_void_p, c_void_p, POINTER(c_uint))
_slice = _function("slice", c_void_p, c_void_p, c_int, c_int64, c_int64, c_int64)
_topk = _function("topk", c_void_p, c_void_p, c_int64, c_int, POINTER(c_void_p))


def reshape(x, sizes):
    """One size may be -1: it is inferred."""
    x.device._use()
    return x.device._made(_reshape(x._handle, len(sizes), _sizes(sizes)))


def broadcast(x, sizes):
    """A view with these sizes."""
    x.device._use()
    return x.device._made(_broadcast(x._handle, len(sizes), _sizes(sizes)))


def permute(x, axes):
    """A view with the axes in this order."""
    if len(axes) != x.ndim:
        raise ValueError("%d axes of a tensor of rank %d" % (len(axes), x.ndim))
    x.device._use()
    return x.device._made(_permute(x._handle, (c_uint * builtins.max(len(axes), 1))(*axes)))


def slice_(x, axis, begin, end=2**63 - 1, step=1):
    """Elements begin, begin + step, ... before end."""
    x.device._use()
    return x.device._made(_slice(x._handle, axis, begin, end, step))


def topk(x, count, axis=-1):
    """The greatest and their indices."""
    indices = c_void_p()
    x.device._use()
    values = x.device._made(_topk(x._handle, count, axis, ctypes.byref(indices)))
    return values, Tensor(indices.value, x.device)


def _many(tensors):
    return (c_void_p * builtins.max(len(tensors), 1))(*[one._handle for one in tensors])


def expression(text, *operands):
    """An elementwise operation of one's own: expression("a * sigmoid(b) + 0.5", x, y)."""
    function = _function("expression", c_void_p, c_char_p, POINTER(c_void_p), c_uint)
    device = operands[0].device
    device._use()
    return device._made(function(text.encode(), _many(operands), len(operands)))


class _CustomKernel(ctypes.Structure):
    _fields_ = (
        [(name, c_char_p) for name in "name portable cuda opencl metal glsl".split()]
        + [("cpu", c_void_p), ("blocks", c_uint32), ("threads", c_uint32)]
        + [("scalars", POINTER(c_int64)), ("scalar_count", c_uint)]
        + [("flops", c_uint64), ("bytes", c_uint64)]
    )


def custom(
    name,
    inputs,
    sizes,
    blocks,
    threads,
    dtype="f32",
    scalars=(),
    cpu=None,
    flops=0,
    bytes=0,
    **bodies
):
    """A kernel of one's own: see ridge_custom(). The bodies are portable, cuda, opencl, metal and
    glsl; `cpu` is a C function of a library that ctypes has loaded."""
    kernel = _CustomKernel(name=name.encode(), blocks=blocks, threads=threads, flops=flops)
    kernel.bytes = bytes
    for language, body in bodies.items():
        if language not in ("portable", "cuda", "opencl", "metal", "glsl"):
            raise TypeError("there is no language %s" % language)
        setattr(kernel, language, body.encode())
    kernel.cpu = ctypes.cast(cpu, c_void_p) if cpu is not None else None
    kernel.scalars, kernel.scalar_count = _sizes(scalars), len(scalars)
    function = _function(
        "custom",
        c_void_p,
        POINTER(_CustomKernel),
        POINTER(c_void_p),
        c_uint,
        c_int,
        c_uint,
        POINTER(c_int64),
    )
    device = inputs[0].device
    device._use()
    arguments = (_many(inputs), len(inputs), _dtype(dtype), len(sizes), _sizes(sizes))
    return device._made(function(ctypes.byref(kernel), *arguments))


def _joined(name, parts, axis):
    function = _function(name, c_void_p, POINTER(c_void_p), c_uint, c_int)
    device = parts[0].device
    device._use()
    return device._made(function(_many(parts), len(parts), axis))


def cat(parts, axis=0):
    """Tensors one after the other."""
    return _joined("cat", parts, axis)


def stack(parts, axis=0):
    """Tensors along a new axis."""
    return _joined("stack", parts, axis)


def split(x, count, axis=0):
    """`count` equal views."""
    parts = (c_void_p * builtins.max(count, 1))()
    function = _function("split", c_bool, c_void_p, c_uint, c_int, POINTER(c_void_p))
    x.device._use()
    _check(function(x._handle, count, axis, parts))
    return [Tensor(part, x.device) for part in parts]


def unstack(x, axis=0):
    """A view of each index of the axis."""
    return [select(x, axis, index) for index in range(_tensor_size(x._handle, axis))]


_ACTIVATIONS = {None: 0, "relu": 1, "gelu": 2, "silu": 3}


def _product(name, a, b, bias, activation):
    function = _function(name, c_void_p, c_void_p, c_void_p, c_void_p, c_int)
    a.device._use()
    return a.device._made(
        function(a._handle, b._handle, _handle(bias), _ACTIVATIONS[activation])
    )


def matmul_activation(a, b, bias=None, activation=None):
    """activation(a x b + bias); the activation is "relu", "gelu", "silu" or None."""
    return _product("matmul_activation", a, b, bias, activation)


def linear(x, w, bias=None, activation=None):
    """activation(x x transpose(w) + bias), w being [out, in]."""
    return _product("linear", x, w, bias, activation)


class _Mask(ctypes.Structure):
    _fields_ = [
        ("causal", c_bool),
        ("window", c_int64),
        ("lengths", c_void_p),
        ("added", c_void_p),
    ]


def attention_masked(q, k, v, scale, causal=False, window=0, lengths=None, added=None):
    """Attention to the keys that the mask leaves: see struct ridge_attention_mask."""
    mask = _Mask(causal, window, _handle(lengths), _handle(added))
    function = _function(
        "attention_masked", c_void_p, c_void_p, c_void_p, c_void_p, c_float, POINTER(_Mask)
    )
    q.device._use()
    return q.device._made(
        function(q._handle, k._handle, v._handle, scale, ctypes.byref(mask))
    )


def wkv7(r, w, k, v, a, b, state):
    """y and the state after the last token."""
    after = c_void_p()
    function = _function("wkv7", c_void_p, *([c_void_p] * 7 + [POINTER(c_void_p)]))
    r.device._use()
    handles = [one._handle for one in (r, w, k, v, a, b, state)]
    y = r.device._made(function(*handles, ctypes.byref(after)))
    return y, Tensor(after.value, r.device)


class _Window(ctypes.Structure):
    _fields_ = [
        ("stride", c_int64 * 2),
        ("padding", c_int64 * 2),
        ("dilation", c_int64 * 2),
        ("groups", c_int64),
        ("output_padding", c_int64 * 2),
    ]


def _two(value):
    return (c_int64 * 2)(*((value, value) if isinstance(value, int) else value))


def _window(stride=0, padding=0, dilation=0, groups=0, output_padding=0):
    return _Window(
        _two(stride), _two(padding), _two(dilation), groups, _two(output_padding)
    )


def _convolution(name):
    function = _function(
        name, c_void_p, c_void_p, c_void_p, c_void_p, POINTER(_Window)
    )

    def operation(x, weight, bias=None, **placed):
        window = _window(**placed)
        x.device._use()
        return x.device._made(
            function(x._handle, weight._handle, _handle(bias), ctypes.byref(window))
        )

    operation.__name__ = operation.__qualname__ = name
    operation.__doc__ = (
        "ridge_%s(): stride, padding, dilation, groups and output_padding are a number or two."
        % name
    )
    return operation


def _windows(name):
    function = _function(name, c_void_p, c_void_p, POINTER(c_int64), POINTER(_Window))

    def operation(x, size, **placed):
        window = _window(**placed)
        x.device._use()
        return x.device._made(function(x._handle, _two(size), ctypes.byref(window)))

    operation.__name__ = operation.__qualname__ = name
    operation.__doc__ = "ridge_%s(): size, stride, padding, dilation are a number or two." % name
    return operation


conv1d, conv2d, conv_transpose1d, conv_transpose2d = (
    _convolution(name) for name in ("conv1d", "conv2d", "conv_transpose1d", "conv_transpose2d")
)
max_pool1d, max_pool2d, avg_pool1d, avg_pool2d, unfold = (
    _windows(name) for name in ("max_pool1d", "max_pool2d", "avg_pool1d", "avg_pool2d", "unfold")
)


def pad(x, before, after, value=0.0):
    """Elements of `value` at the ends of each axis."""
    if len(before) != x.ndim or len(after) != x.ndim:
        raise ValueError("a tensor of rank %d has as many ends" % x.ndim)
    function = _function(
        "pad", c_void_p, c_void_p, POINTER(c_int64), POINTER(c_int64), c_double
    )
    x.device._use()
    return x.device._made(function(x._handle, _sizes(before), _sizes(after), value))


_METHODS = (
    [name for name in _UNARY + _BINARY]
    + [name for name, kinds, _ in _OTHERS]
    + "sum mean amax amin reshape broadcast permute topk split unstack linear pad".split()
)
for _name in _METHODS:
    setattr(Tensor, _name, globals()[_name])


def _operator(function, swapped=False):
    if swapped:
        return lambda x, y: function(y, x)
    return lambda x, y: function(x, y)


for _symbol, _name in (
    ("add", "add"),
    ("sub", "sub"),
    ("mul", "mul"),
    ("truediv", "div"),
    ("mod", "mod"),
    ("pow", "pow"),
    ("matmul", "matmul"),
):
    setattr(Tensor, "__%s__" % _symbol, _operator(globals()[_name]))
    setattr(Tensor, "__r%s__" % _symbol, _operator(globals()[_name], True))
for _symbol, _name in (
    ("lt", "less"),
    ("le", "less_equal"),
    ("gt", "greater"),
    ("ge", "greater_equal"),
    ("eq", "equal"),
    ("ne", "not_equal"),
):
    setattr(Tensor, "__%s__" % _symbol, _operator(globals()[_name]))
Tensor.__neg__ = lambda self: neg(self)
Tensor.__abs__ = lambda self: globals()["abs"](self)


# ---- Compiling -----------------------------------------------------------------------------------

_FUNCTION = CFUNCTYPE(c_bool, c_void_p, POINTER(c_void_p), POINTER(c_void_p))


class _ProgramInfo(ctypes.Structure):
    _fields_ = [("operations", c_uint), ("kernels", c_uint)] + [
        (name, c_uint64)
        for name in (
            "flops bytes eager_bytes intermediate_bytes eager_intermediate_bytes".split()
        )
    ]


_compile = _function(
    "compile", c_void_p, _FUNCTION, c_void_p, POINTER(c_void_p), c_uint, c_uint
)
_program_run = _function("program_run", c_bool, c_void_p, POINTER(c_void_p), POINTER(c_void_p))
_program_release = _function("program_release", None, c_void_p)
_program_describe = _function("program_describe", c_bool, c_void_p, POINTER(_ProgramInfo))


class Program:
    """A compiled function of tensors, which returns a tensor or several. It is compiled at the
    first call."""

    def __init__(self, function):
        functools.update_wrapper(self, function)
        self._function = function
        self._handle = self._device = self._single = self._thrown = None
        self._outputs = 1
        self._callback = _FUNCTION(self._trace)

    def __del__(self):
        if self._handle:
            self._device._garbage.append((_program_release, self._handle))

    def _trace(self, context, inputs, outputs):
        try:
            retain = _function("retain", c_void_p, c_void_p)
            given = [
                Tensor(_check(retain(inputs[i])), self._device) for i in range(self._inputs)
            ]
            made = self._function(*given)
            self._single = isinstance(made, Tensor)
            made = [made] if self._single else list(made)
            if len(made) != self._outputs:
                self._outputs = len(made)
                return False
            for i, one in enumerate(made):
                outputs[i] = retain(one._handle)
            return True
        except BaseException as error:  # it must not be lost in C
            self._thrown = error
            return False

    def _raise(self):
        thrown, self._thrown = self._thrown, None
        if thrown is not None:
            _error_clear()
            raise thrown

    def _prepare(self, inputs):
        self._device = inputs[0].device
        self._inputs = len(inputs)
        self._device._use()
        for attempt in range(2):  # the first learns how many outputs there are
            outputs = self._outputs
            self._handle = _compile(
                self._callback, None, _many(inputs), len(inputs), outputs
            )
            self._raise()
            if self._handle or outputs == self._outputs:
                break
            _error_clear()
        _check(self._handle)

    def __call__(self, *inputs):
        if not inputs or not all(isinstance(one, Tensor) for one in inputs):
            raise TypeError("a compiled function takes tensors, at least one")
        if not self._handle:
            self._prepare(inputs)
        if len(inputs) != self._inputs:
            raise TypeError("it was compiled with %d tensors" % self._inputs)
        outputs = (c_void_p * builtins.max(self._outputs, 1))()
        self._device._use()
        ok = _program_run(self._handle, _many(inputs), outputs)
        self._raise()
        _check(ok)
        made = [Tensor(outputs[i], self._device) for i in range(self._outputs)]
        return made[0] if self._single else tuple(made)

    def describe(self):
        """Kernels, flops, bytes and memory of a run."""
        info = _ProgramInfo()
        if not self._handle:
            raise Error("the function was not called yet", "usage")
        _check(_program_describe(self._handle, ctypes.byref(info)))
        return _as_dict(info)


def compile(function):
    """The function as a Program; also a decorator."""
    return Program(function)


# ---- Training ------------------------------------------------------------------------------------


def gradients(loss, parameters):
    """Gradients of the loss, in a compiled function or of what a tape recorded."""
    made = (c_void_p * builtins.max(len(parameters), 1))()
    function = _function(
        "gradients", c_bool, c_void_p, POINTER(c_void_p), c_uint, POINTER(c_void_p)
    )
    loss.device._use()
    _check(function(loss._handle, _many(parameters), len(parameters), made))
    return [Tensor(one, loss.device) for one in made]


def gradient_norm(gradients_):
    """The norm of all gradients together."""
    function = _function("gradient_norm", c_void_p, POINTER(c_void_p), c_uint)
    device = gradients_[0].device
    device._use()
    return device._made(function(_many(gradients_), len(gradients_)))


class _OptimizerOptions(ctypes.Structure):
    _fields_ = (
        [("kind", c_int)]
        + [
            (name, c_double)
            for name in (
                "rate momentum beta1 beta2 epsilon weight_decay clip_norm loss_scale".split()
            )
        ]
        + [("growth_interval", c_uint)]
    )


class Optimizer:
    """kind: "sgd", "adam" or "adamw"; the options are those of struct ridge_optimizer_options."""

    def __init__(self, parameters, kind, **options):
        values = _OptimizerOptions(("sgd", "adam", "adamw").index(kind))
        for name, value in options.items():
            if name not in dict(_OptimizerOptions._fields_):
                raise TypeError("there is no option %s" % name)
            setattr(values, name, value)
        create = _function(
            "optimizer_create", c_void_p, POINTER(c_void_p), c_uint, POINTER(_OptimizerOptions)
        )
        self._device = parameters[0].device
        self._device._use()
        self._handle = None
        self._handle = _check(
            create(_many(parameters), len(parameters), ctypes.byref(values))
        )

    def __del__(self):
        if self._handle:
            release = _function("optimizer_release", None, c_void_p)
            self._device._garbage.append((release, self._handle))

    def _call(self, name, gradients_):
        function = _function(name, c_bool, c_void_p, POINTER(c_void_p))
        self._device._use()
        _check(function(self._handle, _many(gradients_) if gradients_ is not None else None))

    def step(self, gradients_=None):
        """With these gradients, or the accumulated ones."""
        self._call("optimizer_step", gradients_)

    def accumulate(self, gradients_):
        self._call("optimizer_accumulate", gradients_)

    def scale_loss(self, loss):
        function = _function("optimizer_scale_loss", c_void_p, c_void_p, c_void_p)
        return self._device._made(function(self._handle, loss._handle))

    @property
    def loss_scale(self):
        return _function("optimizer_loss_scale", c_double, c_void_p)(self._handle)

    def set_rate(self, rate):
        _check(_function("optimizer_set_rate", c_bool, c_void_p, c_double)(self._handle, rate))


# ---- Model files ---------------------------------------------------------------------------------


class _WeightInfo(ctypes.Structure):
    _fields_ = [
        ("name", c_char_p),
        ("type", c_char_p),
        ("loadable", c_bool),
        ("dtype", c_int),
        ("rank", c_uint),
        ("sizes", c_int64 * RANK_MAX),
        ("bytes", c_uint64),
    ]


class Weights:
    """A GGUF or safetensors file: `file["name"]` is a tensor on the device; names() lists them."""

    def __init__(self, path, device):
        self.device = device
        self._handle = None
        self._handle = _check(_function("weights_open", c_void_p, c_char_p)(os.fsencode(path)))

    def close(self):
        handle, self._handle = self._handle, None
        if handle:
            _function("weights_close", None, c_void_p)(handle)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()
        return False

    __del__ = close

    @property
    def format(self):
        return _function("weights_format", c_char_p, c_void_p)(self._handle).decode()

    def __len__(self):
        return _function("weights_count", c_size_t, c_void_p)(self._handle)

    def _infos(self):
        get = _function("weights_info", c_bool, c_void_p, c_size_t, POINTER(_WeightInfo))
        for index in range(len(self)):
            info = _WeightInfo()
            _check(get(self._handle, index, ctypes.byref(info)))
            yield info

    def names(self):
        return [info.name.decode("utf-8", "replace") for info in self._infos()]

    def info(self, name):
        """Type, sizes and bytes of a tensor, or None."""
        info = _WeightInfo()
        find = _function("weights_find", c_bool, c_void_p, c_char_p, POINTER(_WeightInfo))
        if not find(self._handle, name.encode(), ctypes.byref(info)):
            return None
        return {
            "type": info.type.decode(),
            "loadable": info.loadable,
            "sizes": tuple(info.sizes[: info.rank]),
            "bytes": info.bytes,
        }

    def __contains__(self, name):
        return self.info(name) is not None

    def __getitem__(self, name):
        load = _function("weights_load", c_void_p, c_void_p, c_void_p, c_char_p)
        return self.device._made(load(self._handle, self.device._use(), name.encode()))

    def metadata(self, key):
        """The value of a key: text, an integer, a number or a list; None if there is none."""
        encoded, length = key.encode(), c_size_t()
        get = _function("weights_text", c_void_p, c_void_p, c_char_p, POINTER(c_size_t))
        text = get(self._handle, encoded, ctypes.byref(length))
        if text:
            return ctypes.string_at(text, length.value).decode("utf-8", "replace")
        for name, kind in (("weights_integer", c_int64), ("weights_number", c_double)):
            value = kind()
            found = _function(name, c_bool, c_void_p, c_char_p, POINTER(kind))
            if found(self._handle, encoded, ctypes.byref(value)):
                return value.value
        count = _function("weights_array", c_size_t, c_void_p, c_char_p)(self._handle, encoded)
        return [self._element(encoded, index) for index in range(count)] if count else None

    def _element(self, key, index):
        length, value = c_size_t(), c_double()
        get = _function(
            "weights_array_text", c_void_p, c_void_p, c_char_p, c_size_t, POINTER(c_size_t)
        )
        text = get(self._handle, key, index, ctypes.byref(length))
        if text:
            return ctypes.string_at(text, length.value).decode("utf-8", "replace")
        number = _function(
            "weights_array_number", c_bool, c_void_p, c_char_p, c_size_t, POINTER(c_double)
        )
        return value.value if number(self._handle, key, index, ctypes.byref(value)) else None


def save(path, tensors, metadata=None):
    """Writes tensors by name to a GGUF file, or to safetensors if the path ends so. Metadata are
    text, integers, numbers, and lists of one of them."""
    create = _function("weights_create", c_void_p, c_char_p)
    writer = _check(create(os.fsencode(path)))
    try:
        for key, value in (metadata or {}).items():
            _check(_put(writer, key.encode(), value))
        put = _function("weights_put", c_bool, c_void_p, c_char_p, c_void_p)
        for name, tensor in tensors.items():
            _check(put(writer, name.encode(), tensor._handle))
    except BaseException:
        _function("weights_abandon", None, c_void_p)(writer)
        raise
    _check(_function("weights_finish", c_bool, c_void_p)(writer))


def _put(writer, key, value):
    def call(name, kind, *values):
        return _function(name, c_bool, c_void_p, c_char_p, *kind)(writer, key, *values)

    if isinstance(value, str):
        return call("weights_put_text", [c_char_p], value.encode())
    if isinstance(value, int):
        return call("weights_put_integer", [c_int64], value)
    if isinstance(value, float):
        return call("weights_put_number", [c_double], value)
    if not value:
        raise ValueError("%s is an empty list" % key.decode())
    if isinstance(value[0], str):
        kind, values = c_char_p, [one.encode() for one in value]
        name = "weights_put_texts"
    else:
        integers = all(isinstance(one, int) for one in value)
        kind, values = (c_int32 if integers else c_float), value
        name = "weights_put_integers" if integers else "weights_put_numbers"
    return call(name, [POINTER(kind), c_size_t], (kind * len(values))(*values), len(values))
