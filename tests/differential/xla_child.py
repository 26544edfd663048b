"""XLA's CPU backend behind two pipes: differential.py starts it and restarts it when it dies.

usage: xla_child.py DEVICES
Says one line when it is ready, {"jaxlib", "denormals": whether they count}; then each line of standard input is a request
{"module", "replicas", "partitions", "inputs"} and each line of output an answer, {"outputs"} or
{"error"}. Leaves are those of cases: {"dtype", "dims", "data"}.
"""
import base64
import json
import os
import sys

# Rounding as each operation has it: no pass that multiplies by a reciprocal, folds with another
# evaluator or contracts, none that wants sharding attributes, NaN kept by maximum and minimum.
PASSES_OFF = (
    "spmd-partitioning,sharding-propagation,algsimp,constant_folding,reassociate,fusion,"
    "cpu_multi_output_fusion,loop-fusion,reshape-mover,simplify-sorts,simplify-while-loops,"
    "simplify-conditional,while-loop-constant-sinking,while-loop-invariant-code-motion")
FLAGS = (
    "--xla_allow_excess_precision=false --xla_cpu_enable_fast_math=false "
    "--xla_cpu_enable_fast_min_max=false --xla_cpu_use_xnnpack=false "
    "--xla_cpu_multi_thread_eigen=false --xla_disable_hlo_passes=" + PASSES_OFF)

answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # XLA prints to both
device_count = int(sys.argv[1])
os.environ["XLA_FLAGS"] = f"{FLAGS} --xla_force_host_platform_device_count={device_count}"
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import jax  # noqa: E402
import jaxlib  # noqa: E402
import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402
from denormals import keep_denormals  # noqa: E402
from jaxlib import _hlo, xla_client  # noqa: E402

jax.config.update("jax_enable_x64", True)
devices = jax.devices()


def numpy_type(name):
    """f32 -> float32, s4 -> int4, f8e4m3fn -> float8_e4m3fn"""
    plain = {"pred": "bool", "bf16": "bfloat16", "c64": "complex64", "c128": "complex128"}
    long = plain.get(name)
    if long is None:
        kind = {"s": "int", "u": "uint", "f": "float"}[name[0]]
        long = kind + name[1:].replace("e", "_e", 1)
    return np.dtype(getattr(ml_dtypes, long, None) or long)


def is_narrow_integer(name):
    return name in ("s1", "s2", "s4", "u1", "u2", "u4")


def to_array(leaf):
    name = leaf["dtype"]
    raw = base64.b64decode(leaf["data"])
    if is_narrow_integer(name):
        return np.frombuffer(raw, np.int8).astype(numpy_type(name)).reshape(leaf["dims"])
    return np.frombuffer(raw, numpy_type(name)).reshape(leaf["dims"])


def to_leaf(array, name):
    array = np.asarray(array)
    dims = list(array.shape)
    if is_narrow_integer(name):
        array = array.astype(np.int8 if name[0] == "s" else np.uint8)
    elif name.startswith(("f4e", "f6e")):
        array = np.atleast_1d(array).view(np.uint8) & ((1 << int(name[1])) - 1)
    data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return {"dtype": name, "dims": dims, "data": data}


def leaf_types(shape):
    if shape.is_tuple():
        return [leaf for part in shape.tuple_shapes() for leaf in leaf_types(part)]
    return [str(shape).split("[")[0]]


def run(module, replicas, partitions, inputs):
    count = replicas * partitions
    parsed = _hlo.hlo_module_from_text(module)
    computation = _hlo.XlaComputation(parsed.as_serialized_hlo_module_proto())
    stable = xla_client._xla.mlir.xla_computation_to_mlir_module(computation)
    options = xla_client.CompileOptions()
    build = options.executable_build_options
    options.num_replicas = build.num_replicas = replicas
    options.num_partitions = build.num_partitions = partitions
    build.use_spmd_partitioning = partitions > 1
    options.device_assignment = build.device_assignment = xla_client.DeviceAssignment.create(
        np.arange(count).reshape(replicas, partitions))
    program = devices[0].client.compile_and_load(
        stable, xla_client._xla.DeviceList(tuple(devices[:count])), options)
    mesh = jax.sharding.Mesh(np.array(devices[:count]), ("x",))
    same = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
    arguments = []
    for column in zip(*inputs):
        shards = [jax.device_put(to_array(leaf), devices[d]) for d, leaf in enumerate(column)]
        arguments.append(jax.make_array_from_single_device_arrays(shards[0].shape, same, shards))
    results = program.execute_sharded(arguments).disassemble_into_single_device_arrays()
    types = leaf_types(computation.program_shape().result_shape())
    return [[to_leaf(shards[d], name) for shards, name in zip(results, types)]
            for d in range(count)]


def answer(value):
    answers.write(json.dumps(value) + "\n")
    answers.flush()


answer({"jaxlib": jaxlib.__version__, "denormals": keep_denormals()})
for line in sys.stdin:
    try:
        answer({"outputs": run(**json.loads(line))})
    except Exception as error:  # whatever XLA has against the module
        answer({"error": f"{type(error).__name__}: {error}"[:2000]})
