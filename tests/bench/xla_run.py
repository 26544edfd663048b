"""Seconds that XLA's CPU backend takes for a module: xla_run.py FILE REPLICAS

Prints two numbers: from the text to the first result, and the least of further runs. Inputs are
zeros of f32 or s32. Devices are replicas; the client and its devices are made before the clock runs.
"""
import os
import sys
import time

replicas = int(sys.argv[2])
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={replicas}"
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import jax  # noqa: E402
import numpy as np  # noqa: E402
from jaxlib import _hlo, xla_client  # noqa: E402

devices = jax.devices()
text = open(sys.argv[1]).read()
start = time.perf_counter()
computation = _hlo.XlaComputation(_hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto())
options = xla_client.CompileOptions()
build = options.executable_build_options
options.num_replicas = build.num_replicas = replicas
options.device_assignment = build.device_assignment = xla_client.DeviceAssignment.create(
    np.arange(replicas).reshape(replicas, 1))
program = devices[0].client.compile_and_load(
    xla_client._xla.mlir.xla_computation_to_mlir_module(computation),
    xla_client._xla.DeviceList(tuple(devices)), options)
mesh = jax.sharding.Mesh(np.array(devices), ("x",))
sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
arguments = []
for shape in computation.program_shape().parameter_shapes():
    kind = np.float32 if str(shape).startswith("f32") else np.int32
    zeros = np.zeros(shape.dimensions(), kind)
    parts = [jax.device_put(zeros, device) for device in devices]
    arguments.append(jax.make_array_from_single_device_arrays(zeros.shape, sharding, parts))
jax.block_until_ready(arguments)


def run():
    for row in program.execute_sharded(arguments).disassemble_into_single_device_arrays():
        jax.block_until_ready(row)


run()
first = time.perf_counter() - start
times = []
end = time.perf_counter() + 2
while len(times) < 3 or time.perf_counter() < end:
    begin = time.perf_counter()
    run()
    times.append(time.perf_counter() - begin)
print(first, min(times))
