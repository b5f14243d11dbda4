# The module ridge.runtime with the arrays of NumPy and with DLPack. $RIDGE_PYTHON names a Python that
# has NumPy.
python=${RIDGE_PYTHON:-python3}
"$python" -c 'import numpy, sys; sys.exit(sys.version_info < (3, 8))' 2> /dev/null ||
    { echo "SKIP NumPy is not installed" && exit 77; }
[ -z "${SAN:-}" ] || { echo "SKIP a library with sanitizers cannot be loaded into python3" && exit 77; }
build=$(cd "$(dirname "$RIDGE")" && pwd)
library=$build/libridge.so
[ -f "$library" ] || library=$build/libridge.dylib
export PYTHONDONTWRITEBYTECODE=1 RIDGE_LIBRARY=$library PYTHONPATH=$TESTS/../python
cat > program.py <<'END'
import gc, weakref
import numpy as np
import ridge.runtime as rt

device = rt.Device("cpu")
generator = np.random.default_rng(1)
for dtype in ("float32", "float16", "int32", "uint8", "float64", "int64", "bool"):
    array = (generator.standard_normal((3, 4, 5)) * 9).astype(dtype)
    for view in (array, array.transpose(2, 0, 1), array[:, ::2], array[::-1], array[:, :0], array[1, 2, 3]):
        tensor = device.tensor(view)
        expected = view.astype({"float64": "float32", "int64": "int32", "bool": "uint8"}.get(dtype, dtype))
        assert tensor.numpy().dtype == expected.dtype and np.array_equal(tensor.numpy(), expected)
        assert np.array_equal(np.asarray(tensor), expected) and tensor.tolist() == expected.tolist()
print("copies")
for dtype in ("float32", "float16", "int32", "uint8"):
    array = (generator.standard_normal((3, 4, 5)) * 9).astype(dtype)
    for view in (array, array.transpose(2, 0, 1), array[:, ::2], array[1:, 1:, 1:]):
        for make in (device.wrap, device.from_dlpack):
            tensor = make(view)
            assert np.array_equal(tensor.numpy(), view) and tensor.strides == tuple(s // view.itemsize for s in view.strides)
            back = np.from_dlpack(tensor)
            assert back.ctypes.data == view.ctypes.data and np.array_equal(back, view)
            tensor[0].assign(tensor[1])
            device.synchronize()
            assert np.array_equal(view[0], view[1])
print("shared")
array = np.zeros(100000, "float32")
alive = weakref.ref(array)
tensor = device.wrap(array)
del array
view = tensor[5:]
del tensor
gc.collect()
print(alive() is not None, view.sum().item())
del view
device.describe()
print(alive())
for wrong in (np.zeros(3, "complex64"), np.array([2**40]), np.array(["a"])):
    try:
        device.tensor(wrong)
    except ValueError as error:
        print(error)
try:
    device.from_dlpack(np.zeros(4, "float32")[::-1])
except (rt.Error, BufferError) as error:
    print(error)
print(np.abs(device.tensor(np.pi, "bf16").numpy() - np.pi) < 0.02)
back = tensor = None
device.synchronize()
kept = np.from_dlpack(device.arange(10))
try:
    device.close()
except rt.Error as error:
    print(error)
del kept
device.close()
END
"$python" program.py
