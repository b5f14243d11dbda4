# The module ridge.runtime: tensors, operations, compiled functions, gradients and model files through
# ctypes, without any package. tests/cli/python_numpy.sh has the arrays of NumPy.
command -v python3 > /dev/null || { echo "SKIP there is no python3" && exit 77; }
python3 -c 'import ctypes, sys; sys.exit(sys.version_info < (3, 8))' 2> /dev/null ||
    { echo "SKIP python3 is older than 3.8 or has no ctypes" && exit 77; }
[ -z "${SAN:-}" ] || { echo "SKIP a library with sanitizers cannot be loaded into python3" && exit 77; }
build=$(cd "$(dirname "$RIDGE")" && pwd)
library=$build/libridge.so
[ -f "$library" ] || library=$build/libridge.dylib
export PYTHONDONTWRITEBYTECODE=1 RIDGE_LIBRARY=$library PYTHONPATH=$TESTS/../python
cat > program.py <<'END'
import gc, threading
import ridge.runtime as rt

device = rt.Device("cpu", threads=2)
x = device.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
print(x, x.strides, x.size, len(x))
print((2 * x - x * x).tolist(), (1 - x).tolist(), (x @ x.T).tolist())
print(x[1].tolist(), x[:, ::2].tolist(), x[..., None].shape, float(x[0, 1]))
print(rt.sum(x, 0).tolist(), x.mean().item(), x.argmax(1).tolist(), (x > 2).dtype)
print([part.tolist() for part in rt.topk(x, 2)], rt.where(x > 2, x, 0.0).tolist())
print(rt.cat([x, x], 1).shape, rt.reshape(x, [-1]).tolist(), x.permute([1, 0]).shape)
print(x.cast("i32").tolist(), x.cast("bf16").tolist(), device.tensor([1, 2]).dtype)
x[0, :2] = 9.0
print(x.tolist())
print(rt.conv2d(device.full([1, 1, 3, 3], 1), device.full([1, 1, 2, 2], 1), padding=1).tolist())
for wrong in (lambda: x @ x, lambda: x.cast("f99"), lambda: x.reshape([5]), lambda: device.tensor([[1], 2])):
    try:
        wrong()
    except (rt.Error, ValueError) as error:
        print(type(error).__name__, getattr(error, "code", ""), error)

@rt.compile
def scaled(a, b):
    return rt.rms_norm(a + b), a * b

normed, product = scaled(x, x)
print(product.tolist(), scaled.describe()["operations"] > 2, scaled.__name__)

@rt.compile
def fails(a):
    raise KeyError("mine")

try:
    fails(x)
except KeyError as error:
    print("KeyError", error)

w = device.tensor([[0.5], [0.25], [0.125]])
optimizer = rt.Optimizer([w], "adamw", rate=0.1)

@rt.compile
def step(a):
    loss = rt.mse_loss(a @ w, device.full([2, 1], 1.0))
    optimizer.step(rt.gradients(loss, [w]))
    return loss

losses = [step(x).item() for _ in range(50)]
print(losses[-1] < losses[0] / 10)
with device.tape():
    v = device.tensor([1.0, 2.0])
    print(rt.gradients(rt.sum(v * v), [v])[0].tolist())

rt.save("m.gguf", {"w": w, "x": x.cast("f16")}, {"name": "m", "list": [1, 2], "texts": ["a"], "f": 0.5})
with rt.Weights("m.gguf", device) as file:
    print(file.format, file.names(), file["x"].dtype, file["x"].tolist() == x.tolist(), "y" in file)
    print(file.metadata("name"), file.metadata("list"), file.metadata("texts"), file.metadata("f"))
try:
    rt.Weights("missing.gguf", device)
except rt.Error as error:
    print(error.code)

print(rt.expression("a * 2 + sigmoid(b) * 0", x, x).tolist() == (x * 2).tolist())
try:
    rt.custom("mine", [x], [2, 3], 1, 64, portable="ELEMENT(result, 0) = 1.0f;")
except rt.Error as error:
    print(error.code, "no code for the CPU" in str(error))
with device.region() as region:
    (x @ x.T).tolist()
print(region.kernels, region.copies, region.flops, region.seconds >= region.busy_seconds > 0)
with device.trace("t.ridge"), device.range("part"):
    x.exp().tolist()

capsule = x.__dlpack__()
y = device.from_dlpack(capsule)
y[0, 0] = -1.0
print(x[0, 0].item(), x.__dlpack_device__())
x.__dlpack__(max_version=(1, 0))  # dropped: its destructor gives it back

held = [device.zeros([1000]) for _ in range(200)]
thread = threading.Thread(target=held.clear)
thread.start()
thread.join()
print(device.zeros([1]).tolist())
del x, y, v, w, capsule, normed, product, held, optimizer, step, scaled
gc.collect()
device.synchronize()
device.describe()
print(device.pool_stats()["requested_bytes"])
device.close()
try:
    device.zeros([1])
except rt.Error as error:
    print(error)
print(any(one["name"] == "cpu" and one["usable"] for one in rt.devices()), rt.version() != "")
END
python3 program.py
"$RIDGE" report --section ranges t.ridge | grep -c part
