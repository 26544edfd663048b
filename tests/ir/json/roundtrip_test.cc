// What is written as JSON and read again is the same module.
#include <filesystem>

#include <doctest/doctest.h>

#include "ir/module_reader.h"
#include "tests/ir/json/json_testing.h"
#include "tests/paths.h"

namespace minihlo {
namespace {

namespace fs = std::filesystem;

void check_kept(const Module& module) {
  const std::string json = print_json(module);
  ReadJson read(json);
  REQUIRE_MESSAGE(read.module, read.complaints());
  CHECK((print_text(*read.module) == print_text(module)));
  CHECK((print_json(*read.module) == json));
}

void check_kept(const std::string& text) {
  CAPTURE(text);
  Parsed parsed(text);
  REQUIRE_MESSAGE(parsed.module, parsed.complaints(text));
  check_kept(*parsed.module);
}

// The root of a module's entry, as JSON.
std::string root_json(const std::string& instructions) {
  const std::string json = print_json(*Parsed(module_with(instructions)).module);
  const size_t begin = json.rfind('\n', json.size() - 2) + 1;
  return json.substr(begin, json.rfind("]}]}") - begin);
}

TEST_CASE("JSON: modules of data are kept") {
  int count = 0;
  for (const fs::directory_entry& entry :
       fs::recursive_directory_iterator(testing::data_file(""))) {
    if (entry.path().extension() != ".hlo") continue;
    CAPTURE(entry.path().string());
    std::string error;
    std::shared_ptr<const Source> source = Source::from_file(entry.path().string(), error);
    REQUIRE(source);
    Diagnostics diagnostics(source);
    std::unique_ptr<Module> module = parse_text(source, diagnostics);
    REQUIRE(module);
    check_kept(*module);
    ++count;
  }
  CHECK(count > 20);
}

TEST_CASE("JSON: what instructions look like") {
  CHECK(root_json("ROOT a = f32[2,<=3]{0,1:T(8,*)S(1)} parameter(0)") ==
        R"({"name":"a","opcode":"parameter","shape":{"type":"f32","dims":[2,3],)"
        R"("dynamic":[false,true],"layout":{"minor_to_major":[0,1],"memory_space":1,)"
        R"("tiles":[[8,null]]}},"attributes":{"parameter_number":0}})");
  CHECK(root_json("ROOT c = (s32[2,2], pred[]) constant(({{1,2},{3,4}}, true))") ==
        R"({"name":"c","opcode":"constant","shape":{"tuple":[{"type":"s32","dims":[2,2]},)"
        R"({"type":"pred","dims":[]}]},"attributes":{"literal_value":{"elements":[)"
        R"({"values":[1,2,3,4]},{"values":[true]}]}}})");
  CHECK(root_json("ROOT c = f32[2,2] constant({{7,7},{7,7}})") ==
        R"({"name":"c","opcode":"constant","shape":{"type":"f32","dims":[2,2]},)"
        R"("attributes":{"literal_value":{"splat":[7]}}})");
  CHECK(root_json("a = f32[8] parameter(0)\nROOT r = f32[16] all-gather(a), dimensions={0}, "
                  "replica_groups=[2,4]<=[4,2]T(1,0)") ==
        R"({"name":"r","opcode":"all-gather","shape":{"type":"f32","dims":[16]},"operands":["a"],)"
        R"("attributes":{"dimensions":[0],"replica_groups":{"form":"iota","iota":{"dims":[2,4],)"
        R"("reshape_dims":[4,2],"transpose_perm":[1,0]}}}})");
}

TEST_CASE("JSON: values are exact") {
  for (const char* constant : {
           "s64[2] constant({-9223372036854775808, 9007199254740993})",
           "u64[2] constant({18446744073709551615, 0})",
           "f32[6] constant({nan, -nan, nan(0x1), -inf, inf, -0.0})",
           "f32[3] constant({3.40282347e+38, 1e-45, 0.1})",
           "f64[3] constant({5e-324, 1.7976931348623157e+308, -nan(0xfffffffffffff)})",
           "c64[2] constant({(1, nan), (-0.0, inf)})",
           "c128[2,2] constant({ { (0, 0), (0, 0) }, { (0, 0), (0, 0) } })",
           "bf16[2] constant({1.004, nan(0x1)})",
           "f8e4m3fn[3] constant({nan, -nan, 448})",
           "f4e2m1fn[2] constant({6, -0.5})",
           "s4[3] constant({-8, 7, 0})",
           "pred[3] constant({1, 0, 1})",
           "f32[0,3] constant({})",
           "f32[100] constant({...})",
           "f32[100000,100000] constant(0)",
           "s32[2,1,1,2] constant({{{{1,2}}},{{{3,4}}}})",
       }) {
    check_kept(module_with(fmt::format("ROOT c = {}", constant)));
  }
}

TEST_CASE("JSON: strings hold any bytes") {
  check_kept(module_with(
      "a = f32[] parameter(0), frontend_attributes={x=\"{\\\"a\\\":1}\",y.z-1=\"\\xff\\xc3\\xa9"
      "\\ud7ff\\x01\\n\\t\\\\\"}, backend_config=\"\\xed\\xb2\\x80 \\xf0\\x9f\\x98\\x80 "
      "\\xf0\\x9f\"\n"
      "ROOT r = f32[] custom-call(a), custom_call_target=\"it's \\\"\", backend_config={u = 1}"));
  // As escapes of any kind.
  ReadJson read(R"({"format":"minihlo-module","version":1,"name":"m","entry":"e","computations":[)"
                R"({"name":"e","root":"t","instructions":[{"name":"t","opcode":"custom-call",)"
                R"("shape":{"type":"token"},"attributes":{"custom_call_target":)"
                R"("\u00e9\ud83d\ude00\udcff\/\b\f\r\u0041"}}]}]})");
  REQUIRE_MESSAGE(read.module, read.complaints());
  CHECK(read.module->entry()->root()->get(attr::custom_call_target) ==
        "\xC3\xA9\xF0\x9F\x98\x80\xFF/\b\f\rA");
}

TEST_CASE("JSON: attributes of each kind") {
  const std::string a = "a = f32[8,8] parameter(0)\n";
  for (const char* root : {
           "f32[8,8] copy(a), sharding={devices=[2,2]0,1,2,3 last_tile_dims={manual, replicated} "
           "shard_as 1}, control-predecessors={a}, statistics={visualizing_index=0,name=1.5}, "
           "origin={{\"x\" {1}}}, metadata={op_type=\"a\" op_name=\"b\" source_line=3}",
           "f32[8,8] copy(a), sharding={devices=[4,2]<=[2,4]T(1,0) metadata={{op_name=\"a\"}}}",
           "f32[8,8] copy(a), sharding={mesh['x'=2,'y'=4], device_ids=([4,2]T(1,0)), "
           "[{'x', ?}, {'y':(1)2}], replicated={'y':(2)2}, metadata={op_name=\"x\"}}",
           "f32[8,8] copy(a), sharding={maximal_mesh[device_id=3]}",
           "(f32[8,8], f32[8,8]) tuple(a, a), sharding={{maximal device=1}, {replicated "
           "shard_like 2}}",
           "f32[8,8] tanh(a), result_accuracy={tolerance={atol=1,rtol=0,ulps=4}}",
           "f32[8,8] dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}, "
           "operand_precision={highest,default}, algorithm=dot_bf16_bf16_f32_x3",
           "f32[2,3] slice(a), slice={[0:2:1], [1:8:3]}",
           "f32[9,9] pad(a, f32[] constant(0)), padding=1_0x-1_2_1",
           "pred[8,8] compare(a, a), direction=GT, type=TOTALORDER",
           "f32[8,8] custom-call(a), window={size=3x3 stride=2x2 pad=1_1x0_0 rhs_reversal=0x1}, "
           "dim_labels=bf_io->bf, custom_call_target=\"x\", "
           "operand_layout_constraints={f32[8,8]{0,1}}, literal=s32[2]{0} {1,2}, "
           "output_to_operand_aliasing={{}: (0, {})}, schedule=SCHEDULE_LATEST, "
           "api_version=API_VERSION_TYPED_FFI",
           "f32[8,8] domain(a), domain={kind=\"sharding\", entry={maximal device=0}, "
           "exit={manual}}",
           "(f32[8,8], f32[8], f32[8]) batch-norm-training(a, f32[8] broadcast(f32[] constant(0))"
           ", f32[8] broadcast(f32[] constant(1))), epsilon=0.001, feature_index=1",
           "f32[8,8] collective-permute(a), channel_id=3, source_target_pairs={{0,1},{1,0}}",
           "f32[16,8] all-gather(a), dimensions={0}, replica_groups=mesh['x'=4,'y'=2], "
           "device_ids=([2,2,2]T(0,2,1)) {'x':(2)2}",
           "f32[16,8] all-gather(a), dimensions={0}, replica_groups={{0,1},{2,3}}",
           "f32[8,8] call(a), to_apply={ ROOT p = f32[8,8] parameter(0) }",
           "((f32[8,8]), f32[8,8], u32[]) negate-start(a), async_execution_thread=\"t\"",
           "((f32[8,8]), f32[8,8], u32[]) negate-start(a), metadata={op_name=\"x\"}",
       }) {
    check_kept(module_with(a + "ROOT r = " + root));
  }
  check_kept(R"(HloModule m, is_scheduled=true, input_output_alias={ {0}: (0, {}, must-alias) },
buffer_donor={ (1, {0,1}) }, entry_computation_layout={(f32[2]{0})->f32[2]{0:T(128)}},
allow_spmd_sharding_propagation_to_output={true,false}, replica_count=4,
frontend_attributes={xla.sdy.meshes="{mesh = #sdy.mesh<[\"x\"=2]>}"}
FileNames
1 "a.py"
FunctionNames
1 "f"
FileLocations
1 {file_name_id=1 function_name_id=1 line=3 end_line=3 column=0 end_column=9}
StackFrames
1 {file_location_id=1 parent_frame_id=1}

ENTRY e { ROOT a = f32[2] parameter(0), metadata={stack_frame_id=1} }, execution_thread="x"
)");
}

TEST_CASE("JSON: what can be written in several ways is kept in XLA's") {
  const auto root = [](std::string_view opcode, std::string_view attribute) {
    ReadJson read(fmt::format(
        R"({{"format":"minihlo-module","version":1,"name":"m","entry":"e","computations":[)"
        R"({{"name":"e","root":"r","instructions":[)"
        R"({{"name":"a","opcode":"parameter","shape":{{"type":"f32","dims":[8]}},)"
        R"("attributes":{{"parameter_number":0}}}},)"
        R"({{"name":"r","opcode":"{}","shape":{{"type":"f32","dims":[8]}},"operands":["a"],)"
        R"("attributes":{{{}}}}}]}}]}})",
        opcode, attribute));
    return read.module ? print_text(*read.module->entry()->root()) : read.complaints();
  };
  CHECK(root("negate", R"("sharding":{"form":"tiled","tile_dims":[4,2],"iota":{"reshape_dims":)"
                       R"([2,2,1,2],"transpose_perm":[2,0,1,3]}})") ==
        "%r = f32[8]{0} negate(%a), sharding={devices=[4,2]<=[8]}");
  CHECK(root("negate",
             R"("sharding":{"form":"named","mesh":{"axes":[{"name":"x","size":4}],)"
             R"("order":{"reshape_dims":[2,2],"transpose_perm":[0,1]}},"named":"[{'x'}]"})") ==
        "%r = f32[8]{0} negate(%a), sharding={mesh['x'=4], [{'x'}]}");
  CHECK(root("negate", R"("sharding":{"form":"named","mesh":{"axes":[{"name":"x","size":4}]},)"
                       R"("named":"[], manual={'x'}"})") ==
        "%r = f32[8]{0} negate(%a), sharding={mesh['x'=4], manual}");
  CHECK(root("collective-broadcast",
             R"("replica_groups":{"form":"iota","iota":{"dims":[2,4],"reshape_dims":)"
             R"([2,2,2],"transpose_perm":[2,0,1]}})") ==
        "%r = f32[8]{0} collective-broadcast(%a), replica_groups=[2,4]<=[4,2]T(1,0)");
}

TEST_CASE("JSON: shapes of each kind") {
  for (const char* shape :
       {"f32[]", "token[]", "opaque[]", "()", "(f32[2], (s32[], token[]))", "b(f32[8])",
        "f32[<=10,?]", "s4[4]{0:E(4)}",
        "f32[4,4]{1,0:T(2,128)(2,1)L(2)#(u32)*(u8)E(32)S(5)SC(0:1,2)(1:3)M(4)}", "f32[]{:T(8)}"}) {
    check_kept(module_with(fmt::format("ROOT a = {} parameter(0)", shape)));
  }
}

TEST_CASE("JSON: names are made unique, and shapes inferred, as in text") {
  ReadJson read(R"({"format":"minihlo-module","version":1,"name":"m","entry":"e","computations":[
{"name":"c","root":"b","instructions":[
{"name":"a","opcode":"parameter","shape":{"type":"f32","dims":[]},"attributes":{"parameter_number":0}},
{"name":"b","opcode":"negate","operands":["a"]}]},
{"name":"e","root":"b","instructions":[
{"name":"a","opcode":"parameter","shape":{"type":"f32","dims":[]},"attributes":{"parameter_number":0}},
{"name":"b","opcode":"call","operands":["a"],"attributes":{"to_apply":"c"}}]}]})");
  REQUIRE_MESSAGE(read.module, read.complaints());
  CHECK(print_text(*read.module) == R"(HloModule m

%c (a: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  ROOT %b = f32[] negate(%a)
}

ENTRY %e (a.1: f32[]) -> f32[] {
  %a.1 = f32[] parameter(0)
  ROOT %b.1 = f32[] call(%a.1), to_apply=%c
}

)");
}

TEST_CASE("JSON: it is told from text by its content") {
  Parsed parsed(module_with("ROOT a = f32[] parameter(0)"));
  auto source = Source::from_string("t", "\n  " + print_json(*parsed.module));
  Diagnostics diagnostics(source);
  std::unique_ptr<Module> module = parse_module(source, diagnostics);
  REQUIRE(module);
  CHECK(print_text(*module) == print_text(*parsed.module));
}

}  // namespace
}  // namespace minihlo
