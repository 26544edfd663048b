// JSON that is no module says what is wrong, where.
#include <doctest/doctest.h>

#include "tests/ir/json/json_testing.h"

namespace minihlo {
namespace {

std::string complaints(const std::string& json) { return ReadJson(json).complaints(); }

constexpr std::string_view kParameter =
    R"({"name":"a","opcode":"parameter","shape":{"type":"f32","dims":[4]},)"
    R"("attributes":{"parameter_number":0}})";

// Of a module whose entry has a parameter `a` in line 2, and then this in line 3.
std::string in_entry(const std::string& instruction) {
  return complaints(fmt::format(R"({{"format":"minihlo-module","version":1,"name":"m","entry":"e",)"
                                R"("computations":[{{"name":"e","root":"a","instructions":[)"
                                "\n{},\n{}\n]}}]}}",
                                kParameter, instruction));
}

// Of an attribute of an instruction `r` that takes `a`.
std::string in_attribute(std::string_view opcode, std::string_view attributes) {
  return in_entry(fmt::format(R"({{"name":"r","opcode":"{}","shape":{{"type":"f32","dims":[4]}},)"
                              "\n"
                              R"("operands":["a"],"attributes":{{{}}}}})",
                              opcode, attributes));
}

std::string in_shape(std::string_view shape) {
  return in_entry(fmt::format(
      R"({{"name":"r","opcode":"custom-call","attributes":{{"custom_call_target":"x"}},"shape":)"
      "\n{}}}",
      shape));
}

std::string in_constant(std::string_view type, std::string_view literal) {
  return in_entry(fmt::format(
      R"({{"name":"r","opcode":"constant","shape":{{"type":"{}","dims":[2]}},"attributes":{{)"
      "\n"
      R"("literal_value":{}}}}})",
      type, literal));
}

TEST_CASE("JSON errors: the module") {
  CHECK(complaints("{") == "invalid-json 1:2 expected a key, in quotes\n");
  CHECK(complaints("[]") == "wrong-type 1:1 expected an object, got an array\n");
  CHECK(complaints("{}") == "missing-key 1:1 the key 'format' is missing\n");
  CHECK(complaints(R"({"format":"x","version":1})") ==
        "unknown-format 1:1 this is x 1, not minihlo-module 1\n");
  CHECK(complaints(R"({"format":"minihlo-module","version":2})") ==
        "unknown-format 1:1 this is minihlo-module 2, not minihlo-module 1\n");
  CHECK(complaints(R"({"format":"minihlo-module","version":1,"nam":"m"})") ==
        "unknown-key 1:40 there is no key 'nam' here; did you mean 'name'? (at /nam)\n");
  const std::string head = R"({"format":"minihlo-module","version":1,"name":"m","entry":"e")";
  CHECK(complaints(head + "}") == "missing-key 1:1 the key 'computations' is missing\n");
  CHECK(complaints(head + R"(,"computations":[]})") ==
        "undefined-computation 1:59 there is no computation 'e' (at /entry)\n");
  CHECK(complaints(head + R"(,"entry":"e","computations":[]})") ==
        "duplicate-key 1:63 the key 'entry' is given twice (at /entry)\n");
  CHECK(complaints(head + R"(,"attributes":{"is_sheduled":true},"computations":[]})") ==
        "unknown-attribute 1:77 there is no attribute 'is_sheduled' here; did you mean "
        "'is_scheduled'? (at /attributes/is_sheduled)\n");
  CHECK(complaints(head + R"(,"computations":[{"name":"e","root":"a","instructions":[]}]})") ==
        "undefined-root 1:98 the computation has no instruction 'a' (at /computations/0/root)\n");
  CHECK(complaints(head + R"(,"computations":[{"name":"e f","root":"a","instructions":[]}]})") ==
        "invalid-name 1:87 'e f' is no name that HLO text can hold (at /computations/0/name)\n");
  CHECK(complaints(R"({"format":"minihlo-module","version":1,"name":"f32","entry":"e",)"
                   R"("computations":[]})") ==
        "invalid-name 1:47 'f32' is no name that HLO text can hold (at /name)\n");
  CHECK(complaints(R"({"format":"minihlo-module","version":1,"name":"maximal","entry":"e",)"
                   R"("computations":[]})") ==
        "invalid-name 1:47 a module can't be called 'maximal' (at /name)\n");
  CHECK(complaints(head + R"(,"stack_frames":{"file_names":[],"function_names":[],)"
                          R"("file_locations":[],"frames":[{"file_location_id":4294967296,)"
                          R"("parent_frame_id":1}]},"computations":[]})") ==
        "number-out-of-range 1:145 4294967296 does not fit 32 bits (at /stack_frames/frames/0)\n");
  const std::string body = fmt::format(R"("root":"a","instructions":[{}])", kParameter);
  CHECK(complaints(head + R"(,"computations":[{"name":"e",)" + body + R"(},{"name":"e",)" + body +
                   "}]}") ==
        "duplicate-name 1:232 there is another computation 'e' (at /computations/1/name)\n");
}

TEST_CASE("JSON errors: instructions") {
  const std::string at = " (at /computations/0/instructions/1";
  CHECK(in_entry("{\"name\":\"r\"}") == "missing-key 3:1 the key 'opcode' is missing" + at + ")\n");
  CHECK(in_entry("7") == "wrong-type 3:1 expected an object, got a number" + at + ")\n");
  CHECK(in_entry(R"({"name":"r","opcode":"negat"})") ==
        "unknown-opcode 3:22 there is no opcode 'negat'; did you mean 'negate'?" + at +
            "/opcode)\n");
  CHECK(in_entry(R"({"name":"a","opcode":"negate","operands":["a"]})") ==
        "duplicate-name 3:9 the computation has another instruction 'a'" + at + "/name)\n");
  CHECK(in_entry(R"({"name":"r","opcode":"negate","operands":["r"]})") ==
        "undefined-operand 3:43 no instruction 'r' stands before this one" + at + "/operands/0)\n");
  CHECK(in_entry(R"({"name":"r","opcode":"negate","operands":[]})") ==
        "operand-count 3:22 'negate' takes 1 operand, not 0" + at + "/opcode)\n");
  CHECK(in_entry(R"({"name":"r","opcode":"slice","operands":["a"]})") ==
        "missing-attribute 3:22 'slice' needs the attribute 'slice'" + at + "/opcode)\n");
  CHECK(in_entry(R"({"name":"r","opcode":"bitcast","operands":["a"]})") ==
        "missing-shape 3:22 the shape of 'bitcast' must be given" + at + "/opcode)\n");
  CHECK(in_entry(R"({"name":"r","opcode":"dot","operands":["a","a"],)"
                 R"("attributes":{"lhs_contracting_dims":[3]}})")
            .starts_with("shape-inference 3:22 "));
  CHECK(in_entry(std::string(kParameter).replace(9, 1, "b")) ==
        "duplicate-parameter 3:22 the computation has a parameter 0 already" + at + "/opcode)\n");
  CHECK(in_entry(R"({"name":"r","opcode":"parameter","shape":{"type":"token"},)"
                 R"("attributes":{"parameter_number":-1}})") ==
        "invalid-parameter 3:22 a parameter's number must be from 0 to 1048575" + at +
            "/opcode)\n");
  CHECK(in_entry(R"({"name":"r","opcode":"async-done","shape":{"type":"token"},)"
                 R"("operands":["a"]})") ==
        "async-chain 3:22 the operand of 'async-done' must be an async-start or async-update, not "
        "'a'" +
            at + "/opcode)\n");
  // An instruction with an error is known: what uses it is not reported again.
  CHECK(in_entry(R"({"name":"r","opcode":"negat"},{"name":"s","opcode":"negate","operands":["r"]},)"
                 R"({"name":"t","opcode":"x"})") ==
        "unknown-opcode 3:22 there is no opcode 'negat'; did you mean 'negate'?" + at +
            "/opcode)\nunknown-opcode 3:100 there is no opcode 'x' (at "
            "/computations/0/instructions/3/opcode)\n");
}

TEST_CASE("JSON errors: attributes") {
  const std::string at = " (at /computations/0/instructions/1/attributes";
  CHECK(in_attribute("negate", R"("dimensions":[0])") ==
        "unknown-attribute 4:32 there is no attribute 'dimensions' here" + at + "/dimensions)\n");
  CHECK(in_attribute("negate", R"("metadata":{"op_nam":"x"})") ==
        "unknown-attribute 4:44 there is no attribute 'op_nam' here; did you mean 'op_name'?" + at +
            "/metadata/op_nam)\n");
  CHECK(in_attribute("reverse", R"("dimensions":0)") ==
        "wrong-type 4:45 expected an array, got a number" + at + "/dimensions)\n");
  CHECK(in_attribute("reverse", R"("dimensions":[0.5])") ==
        "wrong-type 4:46 expected an integer" + at + "/dimensions/0)\n");
  CHECK(in_attribute("reverse", R"("dimensions":[9223372036854775808])") ==
        "number-out-of-range 4:46 the integer does not fit 64 bits" + at + "/dimensions/0)\n");
  CHECK(in_attribute("reverse", R"("dimensions":[0],"dimensions":[0])") ==
        "duplicate-key 4:49 the key 'dimensions' is given twice" + at + "/dimensions)\n");
  CHECK(in_attribute("slice", R"("slice":[{"start":0}])") ==
        "missing-key 4:41 the key 'limit' is missing" + at + "/slice/0)\n");
  CHECK(in_attribute("slice", R"("slice":[{"start":0,"limit":1,"strid":1}])") ==
        "unknown-key 4:62 there is no key 'strid' here; did you mean 'stride'?" + at +
            "/slice/0/strid)\n");
  CHECK(in_attribute("collective-permute", R"("source_target_pairs":[[0]])") ==
        "wrong-type 4:55 expected a pair [source, target]" + at + "/source_target_pairs/0)\n");
  CHECK(in_attribute("fft", R"("fft_type":"DFT")") ==
        "invalid-value 4:43 'DFT' must be one of FFT, IFFT, RFFT, IRFFT" + at + "/fft_type)\n");
  CHECK(in_attribute("call", R"("to_apply":"f")") ==
        "undefined-computation 4:43 no computation 'f' stands before this one" + at +
            "/to_apply)\n");
  CHECK(in_attribute("call", R"("to_apply":"e")") ==
        "undefined-computation 4:43 computation 'e' calls itself" + at + "/to_apply)\n");
  CHECK(in_attribute("negate", R"("frontend_attributes":{"a b":"x"})") ==
        "invalid-name 4:55 'a b' is no key that HLO text can hold" + at +
            "/frontend_attributes/a b)\n");
  CHECK(in_attribute("negate", R"("frontend_attributes":{"a":"x","a":"y"})") ==
        "duplicate-key 4:54 the key 'a' is given twice" + at + "/frontend_attributes)\n");
  CHECK(in_attribute("negate", R"("metadata":{"op_name":"\ud800"})") ==
        "invalid-json 4:54 a surrogate stands alone; of those, only \\udc80 to \\udcff stand for "
        "something, a byte" +
            at + "/metadata/op_name)\n");
  CHECK(in_attribute("negate", R"("origin":"{}}, metadata={}")") ==
        "invalid-value 4:41 'origin' must be text in balanced braces" + at + "/origin)\n");
  CHECK(in_attribute("dot", R"("algorithm":"a, b={}")") ==
        "invalid-value 4:44 'algorithm' must be a word" + at + "/algorithm)\n");
  CHECK(in_attribute("dot", R"("operand_precision":["a}"])") ==
        "invalid-value 4:52 'operand_precision' must be a list of words" + at +
            "/operand_precision)\n");
  CHECK(in_attribute("convolution", R"("window":[{"size":1},{"size":-1}])")
            .starts_with("invalid-value 4:41 'window' must be of numbers that text can hold"));
  CHECK(in_attribute("convolution", R"("dim_labels":"bf")") ==
        "invalid-value 4:45 'dim_labels' must be dimension labels such as bf_io->bf" + at +
            "/dim_labels)\n");
}

TEST_CASE("JSON errors: groups and shardings") {
  const std::string at = " (at /computations/0/instructions/1/attributes";
  auto sharding = [&](std::string_view fields) {
    std::string out = in_attribute("negate", fmt::format(R"("sharding":{{{}}})", fields));
    return out.substr(0, out.find(at));
  };
  CHECK(sharding(R"("form":"split")") ==
        "invalid-value 4:51 'split' must be one of replicated, manual, unknown, unreduced, "
        "maximal, tiled, tuple, named");
  CHECK(sharding(R"("form":"tiled","tile_dims":[2,2],"devices":[0,1])") ==
        "invalid-sharding 4:43 4 tiles are given 2 devices");
  CHECK(sharding(R"("form":"tiled","tile_dims":[2,0],"devices":[])") ==
        "invalid-sharding 4:43 the numbers of tiles must be positive and their product fit 63 "
        "bits");
  CHECK(sharding(R"("form":"tiled","tile_dims":[2],"iota":{"reshape_dims":[4]})") ==
        "invalid-sharding 4:43 the tiles and the devices differ in number");
  CHECK(sharding(R"("form":"tiled","tile_dims":[4],"iota":{"dims":[2,2],"reshape_dims":[4]})") ==
        "invalid-sharding 4:43 the tiles and the devices differ in number");
  CHECK(
      sharding(
          R"("form":"tiled","tile_dims":[4],"iota":{"reshape_dims":[2,2],"transpose_perm":[1,1]})") ==
      "invalid-sharding 4:82 {1,1} does not order 2 axes");
  CHECK(sharding(R"("form":"named")") == "invalid-sharding 4:43 a named sharding needs a mesh");
  CHECK(
      sharding(R"("form":"named","mesh":{"axes":[{"name":"x","size":2}]},"named":"[{}]}, x={")") ==
      "invalid-sharding 4:43 'named' is not what HLO text writes behind a mesh");
  CHECK(
      sharding(
          R"("form":"named","mesh":{"axes":[{"name":"x","size":2}]},"named":"[{}], metadata={}")") ==
      "invalid-sharding 4:43 'named' is not what HLO text writes behind a mesh");
  CHECK(sharding(R"("form":"named","mesh":{"maximal":true})") ==
        "invalid-mesh 4:66 a maximal mesh has one device");
  CHECK(
      sharding(R"("form":"named","mesh":{"axes":[{"name":"x","size":2},{"name":"x","size":2}]})") ==
      "invalid-mesh 4:66 the mesh has two axes 'x'");
  CHECK(
      sharding(R"("form":"named","mesh":{"axes":[{"name":"x","size":2}],"device_ids":[0,1,2]})") ==
      "invalid-mesh 4:66 the mesh has axes of 2, and 3 devices");
  auto groups = [&](std::string_view fields) {
    std::string out = in_attribute(
        "all-gather", fmt::format(R"("dimensions":[0],"replica_groups":{{{}}})", fields));
    return out.substr(0, out.find(at));
  };
  CHECK(groups(R"("form":"iota")") ==
        "invalid-groups 4:66 replica_groups: 'form' and the other keys don't go together");
  CHECK(groups(R"("form":"iota","iota":{"dims":[2,2],"reshape_dims":[8]})") ==
        "invalid-groups 4:66 replica_groups: its sizes do not multiply to those behind <=");
  CHECK(groups(R"("form":"lists","mesh":{})") ==
        "invalid-groups 4:66 replica_groups: 'form' and the other keys don't go together");
}

TEST_CASE("JSON errors: shapes") {
  auto shape = [&](std::string_view text) {
    std::string out = in_shape(text);
    return out.substr(0, out.find(" (at /computations/0/instructions/1/shape"));
  };
  CHECK(shape("{}") == "missing-key 4:1 the key 'type' is missing");
  CHECK(shape(R"({"type":"f31","dims":[]})") == "unknown-type 4:1 there is no type 'f31'");
  CHECK(shape(R"({"type":"f32"})") == "missing-key 4:1 the key 'dims' is missing");
  CHECK(shape(R"({"type":"f32","dims":[-1]})") ==
        "negative-dimension 4:23 a dimension can't be negative");
  CHECK(shape(R"({"type":"f32","dims":[null]})") ==
        "invalid-shape 4:22 a dimension without size must be dynamic");
  CHECK(shape(R"({"type":"f32","dims":[2],"dynamic":[true,true]})") ==
        "invalid-shape 4:1 'dynamic' needs a truth value for each dimension");
  CHECK(shape(R"({"type":"f32","dims":[4294967296,4294967296]})") ==
        "shape-too-large 4:1 an array of more than 1000 dimensions or 2^63 bytes");
  CHECK(shape(R"({"type":"f32","dims":[2,2],"layout":{"minor_to_major":[0,0]}})") ==
        "invalid-layout 4:37 'minor_to_major' does not order 2 dimensions");
  CHECK(shape(R"({"type":"f32","dims":[],"layout":{"minor_to_major":[],)"
              R"("index_primitive_type":"f32"}})") ==
        "invalid-layout 4:34 'f32' is no integer type");
  CHECK(shape(R"({"buffer":{"type":"token"}})") ==
        "invalid-shape 4:11 a buffer is made of an array shape");
  CHECK(shape(R"({"tuple":[],"type":"token"})") == "unknown-key 4:13 there is no key 'type' here");
  std::string deep = R"({"type":"token"})";
  for (int i = 0; i < 450; ++i) deep = fmt::format(R"({{"tuple":[{}]}})", deep);
  CHECK(shape(deep).find("a tuple of more than 262144 shapes, 400 levels") != std::string::npos);
}

TEST_CASE("JSON errors: values") {
  auto value = [&](std::string_view type, std::string_view literal) {
    std::string out = in_constant(type, literal);
    return out.substr(0, out.find(" (at /computations/0/instructions/1/attributes"));
  };
  CHECK(value("f32", R"({"values":[1]})") == "literal-size 4:27 1 values are written, not 2");
  CHECK(value("c64", R"({"values":[1,2,3]})") ==
        "literal-size 4:27 3 values are written, not 2 pairs of real and imaginary part");
  CHECK(value("f32", R"({"values":[1,"x"]})") ==
        "invalid-literal 4:30 expected a value of type f32");
  CHECK(value("f32", R"({"values":[1,"2"]})") ==
        "invalid-literal 4:30 expected a value of type f32");
  CHECK(value("f32", R"({"values":[1,true]})") ==
        "invalid-literal 4:30 expected a value of type f32");
  CHECK(value("f32", R"({"values":[1,[2]]})") ==
        "invalid-literal 4:30 expected a value of type f32");
  CHECK(value("f32", R"({"values":[1,1e39]})") ==
        "literal-range 4:30 the value is outside the range of f32");
  CHECK(value("f32", R"({"values":[1,1e999]})") ==
        "literal-range 4:30 the value is outside the range of f32");
  CHECK(value("bf16", "{\"values\":[1,\"nan(0xfff)\"]}") ==
        "literal-range 4:30 bf16 has no NaN with this payload");
  CHECK(value("s8", R"({"values":[1,128]})") ==
        "literal-range 4:30 the value is outside the range of s8");
  CHECK(value("s8", R"({"values":[1,0.5]})") == "invalid-literal 4:30 expected a value of type s8");
  CHECK(value("s8", R"({"values":[1,"1"]})") == "invalid-literal 4:30 expected a value of type s8");
  CHECK(value("pred", R"({"values":[true,1]})") ==
        "invalid-literal 4:33 expected a value of type pred");
  CHECK(value("f32", R"({"values":[1,2],"splat":[1]})") ==
        "invalid-literal 4:17 a literal has one of 'values', 'splat', 'elements' and 'elided'");
  CHECK(value("f32", "{}") ==
        "invalid-literal 4:17 a literal has one of 'values', 'splat', 'elements' and 'elided'");
  CHECK(value("f32", R"({"elements":[]})") ==
        "invalid-literal 4:17 this is no value of the shape f32[2]{0}");
  CHECK(value("f32", R"({"shape":{"type":"f32","dims":[3]},"values":[1,2,3]})") ==
        "literal-size 4:17 the value is f32[3]{0}, not f32[2]{0}");
}

TEST_CASE("JSON errors: however it is cut or changed, nothing breaks") {
  const std::string text =
      print_json(*Parsed(module_with("a = f32[2,2]{1,0:T(2)} parameter(0), "
                                     "sharding={devices=[2]0,1}\nc = f32[3] constant({1,nan,"
                                     "2})\nROOT r = f32[] reduce(a, f32[] constant(0)), "
                                     "dimensions={0,1}, to_apply={ x = f32[] "
                                     "parameter(0)\n y = f32[] parameter(1)\nROOT s = f32[] add(x, "
                                     "y) }, metadata={op_name=\"q\"}"))
                      .module);
  REQUIRE(ReadJson(text).module);
  for (size_t cut = 0; cut + 2 < text.size(); ++cut) {
    CHECK_FALSE(ReadJson(text.substr(0, cut)).module);
  }
  for (size_t at = 0; at < text.size(); ++at) {
    for (char c : {'0', '"', '{', ']', ',', 'x'}) {
      std::string changed = text;
      changed[at] = c;
      ReadJson read(changed);
      CHECK((read.module != nullptr) == read.diagnostics.ok());
      if (read.module) print_text(*read.module);
    }
  }
}

}  // namespace
}  // namespace minihlo
