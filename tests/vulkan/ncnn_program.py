"""A network of two convolutions on ncnn, which loads a Vulkan driver without the loader. Ends with 77
where ncnn is not installed."""
import os
import sys
import tempfile

try:
    import ncnn
    import numpy
except ImportError:
    print("ncnn is not installed")
    sys.exit(77)

LAYERS = """7767517
4 4
Input in 0 1 in 0=32 1=32 2=4
Convolution c1 1 1 in a 0=16 1=3 4=1 5=1 6=576
ReLU r 1 1 a b
Convolution c2 1 1 b out 0=8 1=3 4=1 5=1 6=1152
"""
if ncnn.get_gpu_count() == 0:
    print("ncnn finds no Vulkan device")
    sys.exit(77)
random = numpy.random.default_rng(0)
with tempfile.TemporaryDirectory() as folder:
    layers, weights = os.path.join(folder, "net.param"), os.path.join(folder, "net.bin")
    with open(layers, "w") as file:
        file.write(LAYERS)
    with open(weights, "wb") as file:
        for size, bias in ((576, 16), (1152, 8)):
            file.write(numpy.uint32(0).tobytes())
            file.write((random.random(size, numpy.float32) / 64).tobytes())
            file.write(numpy.zeros(bias, numpy.float32).tobytes())
    net = ncnn.Net()
    net.opt.use_vulkan_compute = True
    net.load_param(layers)
    net.load_model(weights)
pixels = random.random((4, 32, 32), numpy.float32)
image = ncnn.Mat(pixels).clone()
total = 0.0
for step in range(20):
    extractor = net.create_extractor()
    extractor.input("in", image)
    total += float(numpy.array(extractor.extract("out")[1]).sum())
print(f"{total:.6f}")
