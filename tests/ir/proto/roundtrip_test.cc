// What is written is read as the same.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "ir/proto/attribute_fields.h"
#include "ir/proto/schema.h"
#include "tests/ir/proto/proto_testing.h"
#include "tests/paths.h"

namespace minihlo {
namespace {

namespace fs = std::filesystem;

void check_keeps(const std::string& text) {
  CAPTURE(text);
  CHECK(through_proto(text) == reprinted(text));
}

TEST_CASE("proto: every module of data/ comes back as it was") {
  for (const fs::directory_entry& entry :
       fs::recursive_directory_iterator(testing::source_folder() / "data")) {
    if (entry.path().extension() != ".hlo") continue;
    CAPTURE(entry.path().string());
    const std::string text = testing::read_file(entry.path());
    const bool same = through_proto(text) == reprinted(text);
    CHECK(same);
  }
}

TEST_CASE("proto: the header") {
  check_keeps(R"(HloModule m, replica_count=2, entry_computation_layout={(f32[2], s32[])->f32[2]},
  frontend_attributes={z='1',a="{\"q\":1}"}, input_output_alias={ {}: (0, {}), {1}: (1, {0}, must-alias) },
  buffer_donor={(1, {2,0})}, allow_spmd_sharding_propagation_to_parameters={true,false},
  allow_spmd_sharding_propagation_to_output={true}, num_partitions=4, is_scheduled=true,
  alias_passthrough_params=true

FileNames
1 "a.py"
2 ""

FunctionNames
1 "f"

FileLocations
1 {file_name_id=1 function_name_id=1 line=3 end_line=4 column=5 end_column=9}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=1 parent_frame_id=2}

add {
  y = f32[2] parameter(0)
  ROOT s = f32[2] add(y, y)
}, execution_thread="u"
ENTRY e {
  q = s32[] parameter(1)
  p = f32[2] parameter(0)
  ROOT r = f32[2]{0} call(p), to_apply=add
}
)");
}

TEST_CASE("proto: shapes and layouts") {
  for (const char* shape :
       {"f32[]", "f32[0]", "f32[<=4,3]", "f32[?,2]", "token[]", "opaque[]", "()",
        "(f32[2], (), (s32[], token[]))", "b(f32[8])", "f32[2,3]{0,1}",
        "f32[2,3]{1,0:T(8,128)(2,1)}", "f32[2,3]{1,0:T(*,4)L(8)E(4)S(5)SC(0:1,2)(1:2)M(16)}",
        "f32[2]{0:#(u32)*(u8)}", "f32[2]{0:T()}", "f32[2]{0:T(8)()}", "f32[]{:T(128)}", "s1[3]",
        "f8e8m0fnu[2]"}) {
    check_keeps(module_with(fmt::format("  p = {} parameter(0)", shape)));
  }
}

TEST_CASE("proto: constants of every type, in any layout") {
  for (const ElementTypeInfo& type : kElementTypes) {
    std::string values[] = {"0", "1", "1", "0", "1", "1"};
    if (type.kind == ElementKind::kSigned) values[1] = values[4] = type.bits == 1 ? "-1" : "-2";
    if (type.kind == ElementKind::kSigned && type.bits == 1) values[2] = values[5] = "0";
    if (type.text == "f8e8m0fnu") values[0] = values[3] = "2";
    if (type.kind == ElementKind::kComplex) {
      for (std::string& value : values) value = fmt::format("({}, 2)", value);
    }
    std::string literal = fmt::format("{{ {{ {}, {}, {} }}, {{ {}, {}, {} }} }}", values[0],
                                      values[1], values[2], values[3], values[4], values[5]);
    for (const char* layout : {"1,0", "0,1"}) {
      check_keeps(
          module_with(fmt::format("  c = {}[2,3]{{{}}} constant({})", type.text, layout, literal)));
    }
    check_keeps(module_with(fmt::format("  c = {}[] constant({})", type.text, values[1])));
    check_keeps(module_with(fmt::format("  c = {}[0,2] constant({{}})", type.text)));
  }
  check_keeps(
      module_with("  c = f32[2,2,3]{0,2,1} constant({{{1,2,3},{4,5,6}},{{7,8,9},{0,1,2}}})"));
  check_keeps(module_with("  c = f32[3] constant({nan(0x7), -inf, -0.0})"));
  check_keeps(module_with("  c = f32[2,2] constant({...})"));
  check_keeps(module_with("  c = (f32[2], (s32[], pred[2])) constant(({1,2}, (3, {1,0})))"));
  check_keeps(module_with("  c = (f32[2], s32[]) constant(({...}, 3))"));
  check_keeps(module_with("  c = f32[<=2] constant({1,2})"));
}

TEST_CASE("proto: a constant that is one value everywhere stays so") {
  Read read(written(*Parsed(module_with("  c = f32[100,100] constant(0)")).module));
  REQUIRE(read.module);
  const Literal* literal = read.module->entry()->root()->get(attr::literal_value);
  CHECK(literal->form == Literal::Form::kSplat);
  CHECK(literal->bytes.size() == 4);

  Diagnostics diagnostics;
  const std::string large =
      print_proto(*Parsed(module_with("  c = f32[100000,100000] constant(0)")).module, diagnostics);
  CHECK(large.size() < 1000);
  REQUIRE(diagnostics.all().size() == 1);
  CHECK(diagnostics.all()[0].rule == "not-for-xla");
  Read again(large);
  REQUIRE(again.module);
  CHECK(again.module->entry()->root()->get(attr::literal_value)->form == Literal::Form::kSplat);
}

TEST_CASE("proto: shardings") {
  for (const char* sharding : {"{replicated}",
                               "{manual}",
                               "{unknown}",
                               "{unreduced}",
                               "{maximal device=3}",
                               "{devices=[2,2]0,1,2,3}",
                               "{devices=[2,4]<=[8]}",
                               "{devices=[4,2]<=[2,4]T(1,0)}",
                               "{devices=[2,4]<=[8] last_tile_dim_replicate}",
                               "{devices=[2,1,2,2]<=[8] last_tile_dims={manual, unreduced}}",
                               "{replicated shard_as 1}",
                               "{devices=[2]0,1 shard_like 7}",
                               "{replicated metadata={op_name=\"x\"}}",
                               "{replicated metadata={{op_name=\"x\"}, {op_name=\"y\"}}}",
                               "{{replicated}, {devices=[2]0,1}}",
                               "{}",
                               "{mesh['x'=2,'y'=4], [{'x'}, {'y':(2)2, ?}], replicated={'y':(1)2}, "
                               "unreduced=max{'x'}, manual={'y'}}",
                               "{mesh['x'=2], [{}, {?}]}",
                               "{mesh['x'=2], [{'x'}], metadata={op_name=\"a\"}}",
                               "{mesh['x'=2,'y'=4], replicated}",
                               "{mesh['x'=2,'y'=4], unreduced}",
                               "{mesh['x'=2,'y'=4], manual}",
                               "{mesh['x'=2,'y'=4], [], manual={'y'}}",
                               "{mesh['x'=2], [], replicated={'x'}}",
                               "{mesh['x'=4,'y'=2], device_ids=([2,4]T(1,0)), [{'x', 'y'}]}",
                               "{mesh['x'=2], device_ids=(1,0), [{'x'}]}",
                               "{maximal_mesh[device_id=3]}"}) {
    check_keeps(module_with(fmt::format("  p = f32[8,8] parameter(0), sharding={}", sharding)));
  }
  check_keeps(
      module_with("  p = f32[8] parameter(0)\n  r = f32[8] domain(p), domain={kind=\"sharding\", "
                  "entry={maximal device=0}, exit={replicated}}"));
}

TEST_CASE("proto: what is common to all instructions") {
  for (const char* attributes :
       {"statistics={visualizing_index=1,a=1.5,stat-2=44}", "origin={{\"x\" {1,0}}}",
        "origin={({\"a\"}, ({}, {\"b\" {3}}))}", "origin={[synthetic_call]}", "origin={{}}",
        "origin={{\"x\"},[\"f/while#$\"]}", "origin={{},[\"\"]}",
        "metadata={op_type=\"t\" op_name=\"a\\\"b\" source_file=\"f\" source_line=3 "
        "source_end_line=4 source_column=5 source_end_column=6 profile_type={1} "
        "deduplicated_name=\"d\" preserve_layout=true scheduling_name=\"s\" stack_frame_id=7 "
        "metadata_payload=\"p\"}",
        "backend_config={\"a\":1}", "backend_config=\"a b\\n\"", "backend_config={uplo = 76 : ui8}",
        "frontend_attributes={b={\"q\":[1]},a=\"x y\"}", "control-predecessors={p}"}) {
    check_keeps(module_with(
        fmt::format("  p = f32[8] parameter(0)\n  r = f32[8] copy(p), {}", attributes)));
  }
  check_keeps(
      module_with("  p = (f32[2], f32[2]) parameter(0), parameter_replication={true,false}"));
}

TEST_CASE("proto: attributes of opcodes") {
  const char* const start =
      "  a = f32[8,8] parameter(0)\n  i = s32[] parameter(1)\n  z = f32[] constant(0)\n"
      "  x = f32[1,4,4,2] parameter(2)\n  k = f32[3,3,2,5] parameter(3)\n"
      "  v = f32[8] parameter(4)\n  t = token[] after-all()\n  n = s32[4,1] parameter(5)\n";
  for (const char* line : {
           "iota(), iota_dimension=0",
           "broadcast(v), dimensions={1}",
           "reshape(a), inferred_dimension=0",
           "slice(a), slice={[0:8], [1:8:3]}",
           "dynamic-slice(a, i, i), dynamic_slice_sizes={8,8}",
           "pad(a, z), padding=1_0_2x-1_2",
           "gather(a, n), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, "
           "index_vector_dim=1, slice_sizes={1,8}, indices_are_sorted=true",
           "gather(a, n), offset_dims={1}, collapsed_slice_dims={}, start_index_map={0}, "
           "operand_batching_dims={0}, start_indices_batching_dims={0}, index_vector_dim=0, "
           "slice_sizes={1,8}",
           "dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}, "
           "operand_precision={highest,default}, algorithm=dot_bf16_bf16_f32_x3",
           "dot(a, a), lhs_batch_dims={0}, lhs_contracting_dims={1}, rhs_batch_dims={0}, "
           "rhs_contracting_dims={1}, operand_precision={HIGH,packed_nibble}",
           "dot(a, a, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}, "
           "block_scaling_config={lhs={scale_idx=2 zero_idx=3 strides=1x32 steps=1x1}}",
           "dot(a, a, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}, "
           "block_scaling_config={lhs={scale_idx=2} rhs={scale_idx=2 strides=32}}",
           "ragged-dot(a, a, v), lhs_contracting_dims={1}, rhs_contracting_dims={1}, "
           "lhs_ragged_dims={0}, rhs_group_dims={0}",
           "convolution(x, k), window={size=3x3 stride=2x2 pad=1_1x0_0 lhs_dilate=1x2 "
           "rhs_dilate=1x1 rhs_reversal=0x1}, dim_labels=b01f_01io->b01f, feature_group_count=2, "
           "convolution_kind=dgrad, sparsity_config={lhs={sparsity=2x4 dimension=1 stride=1 "
           "idx=2}}",
           "convolution(a, a), dim_labels=bf_io->bf, batch_group_count=8",
           "convolution(a, a, v), dim_labels=bf_io->bf, operand_precision={high,default}, "
           "algorithm=dot_bf16_bf16_f32, block_scaling_config={lhs={scale_idx=2}}",
           "convolution(a, a), dim_labels=b?f_i?o->bf",
           "fft(a), fft_type=IFFT, fft_length={8}",
           "fft(a), fft_type=FFT, fft_length={8}",
           "triangular-solve(a, a), left_side=true, lower=true, unit_diagonal=true, "
           "transpose_a=NO_TRANSPOSE",
           "triangular-solve(a, a)",
           "cholesky(a), lower=true",
           "compare(a, a), direction=GE, type=TOTALORDER",
           "reduce-precision(a), exponent_bits=5, mantissa_bits=10",
           "batch-norm-inference(a, v, v, v, v), epsilon=0.001, feature_index=1",
           "batch-norm-inference(a, v, v, v, v), epsilon=0.0010000000474974513, feature_index=1",
           "topk(a), k=3, largest=true",
           "topk(a), k=3, largest=false, is_stable=false",
           "rng(z, z), distribution=rng_normal",
           "rng-bit-generator(a), algorithm=rng_default",
           "rng-bit-generator(a), algorithm=rng_philox",
           "rng-get-and-update-state(), delta=0",
           "tanh(a), result_accuracy={tolerance={atol=1e-06,rtol=0,ulps=4}}",
           "tanh(a), result_accuracy={mode=highest}",
           "all-gather(a), channel_id=0, replica_groups={{0,1},{2,3}}, constrain_layout=true, "
           "dimensions={0}, use_global_device_ids=true",
           "all-gather(a), replica_groups=[2,4]<=[4,2]T(1,0), dimensions={0}",
           "all-gather(a), replica_groups=[2,4]<=[8], dimensions={0}",
           "all-gather(a), replica_groups=mesh['a'=4,'b'=2], device_ids=([2,2,2]T(0,2,1)) "
           "{'a':(2)2}, dimensions={0}",
           "all-gather(a), replica_groups={}, dimensions={0}",
           "all-to-all(a), replica_groups={{0,1}}",
           "collective-permute(a), channel_id=3, source_target_pairs={{0,1},{1,0}}",
           "collective-permute(a), source_target_pairs={}",
           "collective-permute(a, a, i, i), source_target_pairs={{0,1}}, slice_sizes={{1,8},{2,8}}",
           "collective-permute(a, a, i, i), source_target_pairs={{0,1}}, slice_sizes={{1},{2,8}}",
           "collective-broadcast(a), replica_groups={{0,1}}, has_dynamic_root=false",
           "copy-start(a), cross_program_prefetch_index=0",
           "send(a, t), channel_id=2, is_host_transfer=true",
           "infeed(t), infeed_config=\"a\\\"b\"",
           "outfeed(a, t), outfeed_shape=f32[8,8]{0,1}, outfeed_config=\"c\"",
           "custom-call(a, a), custom_call_target=\"t\"",
           "custom-call(a, a), window={size=3}, dim_labels=b0f_0io->b0f, feature_group_count=2, "
           "operand_precision={high,high}, padding_type=PADDING_SAME, custom_call_target=\"t\", "
           "operand_layout_constraints={f32[8,8]{0,1}, f32[8,8]{1,0}}, "
           "custom_call_has_side_effect=true, literal=s32[2]{0} {1, 2}, "
           "output_to_operand_aliasing={{}: (0, {}), {1}: (1, {0})}, schedule=SCHEDULE_LATEST, "
           "api_version=API_VERSION_TYPED_FFI",
           "custom-call(), custom_call_target=\"\", operand_layout_constraints={}",
           "get-dimension-size(a), dimensions={1}",
       }) {
    check_keeps(module_with(fmt::format("{}  r = f32[8,8] {}", start, line)));
  }
}

TEST_CASE("proto: called computations") {
  const char* const callees = R"(HloModule m
f {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}
g {
  x = f32[] parameter(0)
  ROOT s = f32[] negate(x)
}
c {
  x = f32[] parameter(0)
  z = f32[] constant(1)
  ROOT s = pred[] compare(x, z), direction=LT
}
ENTRY e {
  a = f32[8,8] parameter(0)
  i = s32[] parameter(1)
  q = pred[] parameter(2)
  z = f32[] parameter(3)
  n = s32[4,1] parameter(4)
)";
  for (const char* lines : {
           "r = f32[8] reduce(a, z), dimensions={1}, to_apply=f",
           "r = f32[8,8] reduce-window(a, z), window={size=1x2 pad=0_0x0_1}, to_apply=f",
           "r = f32[8,8] map(a, a), dimensions={0,1}, to_apply=f",
           "r = f32[8,8] sort(a), dimensions={0}, is_stable=true, to_apply=c",
           "r = f32[8,8] select-and-scatter(a, a, z), window={size=1x1}, select=c, scatter=f",
           "r = f32[8,8] scatter(a, n, a), update_window_dims={1}, inserted_window_dims={0}, "
           "scatter_dims_to_operand_dims={0}, index_vector_dim=1, unique_indices=true, to_apply=f",
           "r = f32[8,8] all-reduce(a), channel_id=1, replica_groups={{0}}, "
           "mode=cross_partition, to_apply=f",
           "r = f32[8,8] reduce-scatter(a), replica_groups={}, dimensions={1}, to_apply=f",
           "r = (f32[8], f32[]) scan(a, z), dimensions={0}, num_carries=1, is_reverse=true, "
           "is_associative=false, to_apply=f",
           "r = (f32[8], f32[]) scan(a, z), dimensions={0}, num_carries=1, is_associative=true, "
           "to_apply=f",
           "r = f32[] while(z), condition=c, body=g",
           "r = f32[] conditional(q, z, z), true_computation=g, false_computation=f",
           "r = f32[] conditional(i, z, z, z), branch_computations={g, f, g}",
           "r = f32[] call(z), to_apply=g, is_composite=true",
           "r = f32[] fusion(z), kind=kCustom, output_to_operand_aliasing={{}: (0, {})}, calls=g",
           "r = f32[] custom-call(z), custom_call_target=\"t\", to_apply=g",
           "r = f32[] custom-call(z), custom_call_target=\"t\", called_computations={g, f}",
           "b = ((f32[]), f32[], s32[]) call-start(z), to_apply=g\n"
           "u = ((f32[]), f32[], s32[]) call-update(b)\nr = f32[] call-done(u)",
           "b = ((f32[]), f32[], s32[]) call-start(z), to_apply=g, "
           "frontend_attributes={a=\"1\"}, metadata={op_name=\"x\"}\nr = f32[] call-done(b)",
           "b = ((f32[]), f32[], s32[]) async-start(z), async_execution_thread=\"w\", calls=g\n"
           "r = f32[] async-done(b)",
       }) {
    check_keeps(fmt::format("{}{}\n}}\n", callees, lines));
  }
}

TEST_CASE("proto: a schedule keeps its order") {
  check_keeps(R"(HloModule m, is_scheduled=true
f {
  y = f32[] parameter(1)
  x = f32[] parameter(0)
  ROOT s = f32[] add(x, y)
}
ENTRY e {
  b = f32[] parameter(1)
  c = f32[] constant(2)
  a = f32[] parameter(0)
  d = f32[] negate(c), control-predecessors={a}
  ROOT r = f32[] fusion(a, b), kind=kLoop, calls=f
  e.1 = f32[] negate(d)
}
)");
}

// Called computations and control predecessors are ids; no message has mode, and what a shuffle does
// has messages of its own.
TEST_CASE("proto: every attribute of every opcode has a field") {
  for (int i = 0; i < kOpcodeCount; ++i) {
    const auto opcode = static_cast<Opcode>(i);
    CAPTURE(to_string(opcode));
    auto fields = proto::attribute_fields(opcode);
    for (const AttributeUse& use : info(opcode).attributes) {
      CAPTURE(info(use.id).text);
      const AttributeKind kind = info(use.id).kind;
      if (kind == AttributeKind::kComputation || kind == AttributeKind::kComputations) continue;
      if (use.id == AttributeId::mode || use.id == AttributeId::shuffle_mode ||
          use.id == AttributeId::shifts) {
        continue;
      }
      CHECK(std::any_of(fields.begin(), fields.end(), [&](const proto::AttributeField& field) {
        return field.use.id == use.id;
      }));
    }
  }
}

TEST_CASE("proto: every attribute of metadata and element type is known to the schema") {
  for (const AttributeUse& use : metadata_attributes()) {
    CAPTURE(info(use.id).text);
    CHECK(proto::find_field(proto::MessageId::OpMetadata, info(use.id).text));
  }
  for (const ElementTypeInfo& type : kElementTypes) {
    CAPTURE(type.text);
    CHECK(proto::find_field(proto::MessageId::LiteralProto, std::string(type.text) + "s"));
  }
}

}  // namespace
}  // namespace minihlo
