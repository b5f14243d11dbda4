"""A WebGPU program (wgpu-py) that counts its dispatches. Ends with 77 where wgpu-py is not installed."""
import array
import sys

try:
    import wgpu
except ImportError:
    print("wgpu-py is not installed")
    sys.exit(77)

SHADER = """
@group(0) @binding(0) var<storage, read_write> data: array<f32>;
@compute @workgroup_size(64) fn scale(@builtin(global_invocation_id) i: vec3<u32>) { data[i.x] = data[i.x] * 1.5; }
@compute @workgroup_size(32) fn shift(@builtin(global_invocation_id) i: vec3<u32>) { data[i.x] = data[i.x] - 1.0; }
"""
COUNT, STEPS, LAYERS = 4096, 10, 4

adapter = wgpu.gpu.request_adapter_sync(power_preference="high-performance")
if adapter is None or adapter.info["backend_type"] != "Vulkan":
    print("wgpu-py does not use Vulkan")
    sys.exit(77)
device = adapter.request_device_sync()
module = device.create_shader_module(code=SHADER)
usage = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC
data = device.create_buffer_with_data(data=array.array("f", [3.0] * COUNT), usage=usage)
entry = {"binding": 0, "visibility": wgpu.ShaderStage.COMPUTE, "buffer": {"type": "storage"}}
group_layout = device.create_bind_group_layout(entries=[entry])
layout = device.create_pipeline_layout(bind_group_layouts=[group_layout])
resource = {"buffer": data, "offset": 0, "size": data.size}
group = device.create_bind_group(layout=group_layout, entries=[{"binding": 0, "resource": resource}])
scale, shift = (device.create_compute_pipeline(layout=layout, compute={"module": module, "entry_point": name})
                for name in ("scale", "shift"))
dispatches = 0
for step in range(STEPS):
    encoder = device.create_command_encoder()
    for layer in range(LAYERS):
        compute = encoder.begin_compute_pass()
        compute.set_bind_group(0, group)
        for pipeline, size in ((scale, 64), (shift, 32)):
            compute.set_pipeline(pipeline)
            compute.dispatch_workgroups(COUNT // size)
            dispatches += 1
        compute.end()
    device.queue.submit([encoder.finish()])
    result = memoryview(device.queue.read_buffer(data)).cast("f")
print("count dispatches", dispatches)
print(result[0], result[COUNT - 1])
