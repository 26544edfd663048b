// What is read is printed in XLA's form, and that is read as the same.
#include <doctest/doctest.h>

#include "tests/ir/text/text_testing.h"

namespace minihlo {
namespace {

// Checks that `text` is printed as `expected`, and that `expected` is a fixed point.
void check_prints(const std::string& text, const std::string& expected) {
  CAPTURE(text);
  CHECK(reprinted(text) == expected);
  CHECK(reprinted(expected) == expected);
}

void check_root(const std::string& lines, const std::string& expected) {
  std::string text = module_with(lines);
  CAPTURE(text);
  std::string root = root_line(text);
  CHECK(root == expected);
  Parsed parsed(text);
  if (!parsed.module) return;
  std::string once = print_text(*parsed.module);
  CHECK(reprinted(once) == once);
}

TEST_CASE("a module") {
  check_prints(
      R"(HloModule m, replica_count=2, entry_computation_layout={(f32[2], s32[])->f32[2]},
  frontend_attributes={z='1',a="{\"q\":1}"}, input_output_alias={ {}: (0, {}) },
  buffer_donor={(1, {})}, allow_spmd_sharding_propagation_to_parameters={true,false},
  allow_spmd_sharding_propagation_to_output={false}, num_partitions=4, is_scheduled=true

add {
  x = f32[2] parameter(0)
  ROOT y = f32[2] add(x, x)
}
ENTRY e (p: f32[2], q: s32[]) -> f32[2] {
  p = f32[2] parameter(0)  // a comment
  q = s32[] parameter(1), metadata={op_name="jit(f)/q" source_line=0}
  ROOT r = f32[2]{0} call(p), to_apply=add
}, execution_thread="t"
)",
      R"(HloModule m, is_scheduled=true, input_output_alias={ {}: (0, {}, may-alias) }, )"
      R"(buffer_donor={ (1, {}) }, entry_computation_layout={(f32[2]{0}, s32[])->f32[2]{0}}, )"
      R"(allow_spmd_sharding_propagation_to_parameters={true,false}, replica_count=2, )"
      R"(num_partitions=4, frontend_attributes={a={"q":1},z="1"}

%add (x: f32[2]) -> f32[2] {
  %x = f32[2]{0} parameter(0)
  ROOT %y = f32[2]{0} add(%x, %x)
}

ENTRY %e (p: f32[2], q: s32[]) -> f32[2] {
  %p = f32[2]{0} parameter(0)
  %q = s32[] parameter(1), metadata={op_name="jit(f)/q"}
  ROOT %r = f32[2]{0} call(%p), to_apply=%add
}, execution_thread="t"

)");
}

TEST_CASE("stack frames") {
  std::string text = R"(HloModule m

FileNames
1 "a.py"
2 "b \"c\".py"

FunctionNames
1 "f"

FileLocations
1 {file_name_id=1 function_name_id=1 line=3 end_line=3 column=0 end_column=9}

StackFrames
1 {file_location_id=1 parent_frame_id=1}


ENTRY %e (p: f32[]) -> f32[] {
  ROOT %p = f32[] parameter(0), metadata={stack_frame_id=1}
}

)";
  CHECK(reprinted(text) == text);
  CHECK(complaints("HloModule m\nFileNames\n1 \"a\"\nENTRY e { p = f32[] parameter(0) }") ==
        "expected-token 4:1 expected the table 'FunctionNames', got 'ENTRY'\n");
}

TEST_CASE("a bare instruction makes a module") {
  check_prints("f32[2] add(f32[2] %x, f32[2])", R"(HloModule _, is_scheduled=true

ENTRY %_ (x: f32[2], _1: f32[2]) -> f32[2] {
  %x = f32[2]{0} parameter(0)
  %_1 = f32[2]{0} parameter(1)
  ROOT %_ = f32[2]{0} add(%x, %_1)
}

)");
  CHECK(complaints("f32[2] add(x, y)") ==
        "undefined-operand 1:12 no instruction 'x' stands before this one\n");
  CHECK(complaints("f32[2] add(f32[2] x, f32[2] y) z") ==
        "expected-token 1:32 expected the end of the text behind the instruction, got 'z'\n");
}

TEST_CASE("shapes") {
  auto shape = [](const std::string& text) {
    std::string line = root_line(module_with("a = " + text + " parameter(0)"));
    return line.substr(0, line.find(" parameter"));
  };
  CHECK(shape("f32[2,3]") == "%a = f32[2,3]{1,0}");
  CHECK(shape("f32[2,3]{ 0, 1 }") == "%a = f32[2,3]{0,1}");
  CHECK(shape("f32[<=8,?]") == "%a = f32[<=8,?]{1,0}");
  CHECK(shape("pred[]{:T(512)S(6)}") == "%a = pred[]{:T(512)S(6)}");
  CHECK(shape("f32[8]{0:D(D)T(8,128)(2,1)L(4)#(u32)*(u32)E(32)S(5)SC(0:1,2)M(4)}") ==
        "%a = f32[8]{0:T(8,128)(2,1)L(4)#(u32)*(u32)E(32)S(5)SC(0:1,2)M(4)}");
  CHECK(shape("f32[8]{0:T(*,8)}") == "%a = f32[8]{0:T(*,8)}");
  CHECK(shape("(f32[2], (), (token[], opaque[]))") == "%a = (f32[2]{0}, (), (token[], opaque[]))");
  CHECK(shape("(f32[],f32[],f32[],f32[],f32[],f32[])") ==
        "%a = (f32[], f32[], f32[], f32[], f32[], /*index=5*/f32[])");
  CHECK(shape("b(f32[4])") == "%a = b(f32[4]{0})");
}

TEST_CASE("operands") {
  check_root("a = f32[2] parameter(0)\nr = f32[2] add(f32[2] a, %a)", "%r = f32[2]{0} add(%a, %a)");
  check_root("a = f32[2] parameter(0)\nr = f32[2] tuple(a,a,a,a,a,a)",
             "%r = f32[2]{0} tuple(%a, %a, %a, %a, %a, /*index=5*/%a)");
  check_prints(module_with("a = (f32[2], (s32[], f32[2])) parameter(0)\n"
                           "r = f32[2] add(f32[2] negate(f32[2] a#0), f32[<=2] %a#1#1)"),
               R"(HloModule m

ENTRY %e (a: (f32[2], (s32[], f32[2]))) -> f32[2] {
  %a = (f32[2]{0}, (s32[], f32[2]{0})) parameter(0)
  %a_0 = f32[2]{0} get-tuple-element(%a), index=0
  %negate.anon = f32[2]{0} negate(%a_0)
  %a_1 = (s32[], f32[2]{0}) get-tuple-element(%a), index=1
  %a_1_1 = f32[2]{0} get-tuple-element(%a_1), index=1
  ROOT %r = f32[2]{0} add(%negate.anon, %a_1_1)
}

)");
}

TEST_CASE("attributes of each kind") {
  const std::string a = "a = f32[8,8] parameter(0)\n";
  check_root(a + "r = f32[8,8] copy(a), sharding={replicated}, control-predecessors={a}, "
                 "statistics={visualizing_index=0,name=1.5}, origin={{\"x\" {1}}}",
             "%r = f32[8,8]{1,0} copy(%a), sharding={replicated}, control-predecessors={%a}, "
             "statistics={visualizing_index=0,name=1.5}, origin={{\"x\" {1}}}");
  check_root(a + "r = f32[8,8] tanh(a), result_accuracy={tolerance={atol=1,rtol=0,ulps=4}}, "
                 "metadata={source_line=3, op_name=\"b\" op_type='a'}",
             "%r = f32[8,8]{1,0} tanh(%a), result_accuracy={tolerance={atol=1,rtol=0,ulps=4}}, "
             "metadata={op_type=\"a\" op_name=\"b\" source_line=3}");
  check_root(a + "r = f32[8,8] copy(a), frontend_attributes={z=\"1\",b.c-d={ x : \"}\" },"
                 "a=\"{\\\"q\\\":1}\"}, backend_config={uplo = 76 : ui8}",
             "%r = f32[8,8]{1,0} copy(%a), frontend_attributes={a={\"q\":1},b.c-d={ x : \"}\" },"
             "z=\"1\"}, backend_config={uplo = 76 : ui8}");
  check_root(a + "r = f32[8,8] dot(a, a), rhs_contracting_dims={0}, lhs_contracting_dims={1}, "
                 "operand_precision={HIGHEST,default}, algorithm=dot_bf16_bf16_f32_x3",
             "%r = f32[8,8]{1,0} dot(%a, %a), lhs_contracting_dims={1}, rhs_contracting_dims={0}, "
             "operand_precision={highest,default}, algorithm=dot_bf16_bf16_f32_x3");
  check_root(a + "r = f32[2,3] slice(a), slice={[0:2], [1:8:3]}",
             "%r = f32[2,3]{1,0} slice(%a), slice={[0:2:1], [1:8:3]}");
  check_root(a + "r = f32[2,8] slice(a), slice={[0:2:1],[0:8]}",
             "%r = f32[2,8]{1,0} slice(%a), slice={[0:2], [0:8]}");
  check_root(a + "z = f32[] constant(0)\nr = f32[9,9] pad(a, z), padding=1_0x-1_2_0",
             "%r = f32[9,9]{1,0} pad(%a, %z), padding=1_0x-1_2");
  check_root("z = f32[] constant(0)\nr = f32[] pad(z, z), padding=",
             "%r = f32[] pad(%z, %z), padding=");
  check_root(
      "x = f32[1,4,4,2] parameter(0)\nk = f32[3,3,2,5] parameter(1)\n"
      "r = f32[1,9,9,5] convolution(x, k), dim_labels=b01f_01io->b01f, window={stride=2x2 "
      "size=3x3 pad=1_1x0_0 rhs_reversal=0x1 lhs_dilate=1x2}, feature_group_count=1",
      "%r = f32[1,9,9,5]{3,2,1,0} convolution(%x, %k), window={size=3x3 stride=2x2 "
      "pad=1_1x0_0 lhs_dilate=1x2 rhs_reversal=0x1}, dim_labels=b01f_01io->b01f");
  check_root(a + "r = pred[8,8] compare(a, a), direction=EQ, type=FLOAT",
             "%r = pred[8,8]{1,0} compare(%a, %a), direction=EQ");
  check_root(a + "r = pred[8,8] compare(a, a), type=TOTALORDER, direction=GT",
             "%r = pred[8,8]{1,0} compare(%a, %a), direction=GT, type=TOTALORDER");
  check_root(a + "r = f32[8,8] custom-call(a), custom_call_target='it\\'s', "
                 "operand_layout_constraints={f32[8,8]{0,1}}, literal=s32[2]{0} {1,2}, "
                 "output_to_operand_aliasing={{}: (0, {})}, schedule=SCHEDULE_LATEST, "
                 "api_version=API_VERSION_TYPED_FFI, padding_type=PADDING_SAME, "
                 "custom_call_has_side_effect=true",
             "%r = f32[8,8]{1,0} custom-call(%a), padding_type=PADDING_SAME, "
             "custom_call_target=\"it\\'s\", operand_layout_constraints={f32[8,8]{0,1}}, "
             "custom_call_has_side_effect=true, literal=s32[2]{0} {1, 2}, "
             "output_to_operand_aliasing={{}: (0, {})}, schedule=SCHEDULE_LATEST, "
             "api_version=API_VERSION_TYPED_FFI");
  check_root(a + "r = f32[8,8] custom-call(a), custom_call_target=\"x\", to_apply={ x = f32[] "
                 "parameter(0) }",
             "%r = f32[8,8]{1,0} custom-call(%a), custom_call_target=\"x\", "
             "called_computations={%_}");
  check_root(a + "r = f32[8,8] domain(a), domain={kind=\"sharding\", entry={maximal device=0}, "
                 "exit={manual}}",
             "%r = f32[8,8]{1,0} domain(%a), domain={kind=\"sharding\", entry={maximal device=0}, "
             "exit={manual}}");
  check_root(
      "t = token[] after-all()\nr = ((f32[2], s32[]), token[]) infeed(t), "
      "infeed_config=\"a\\nb\"",
      "%r = ((f32[2]{0}, s32[]), token[]) infeed(%t), infeed_config=\"a\\nb\"");
  check_root(
      "t = token[] after-all()\nx = f32[2] parameter(0)\nr = token[] outfeed(x, t), "
      "outfeed_shape=f32[2]{0}",
      "%r = token[] outfeed(%x, %t), outfeed_shape=f32[2]{0}");
  check_root(a + "z = f32[8] parameter(1)\nr = (f32[8,8], f32[8], f32[8]) "
                 "batch-norm-training(a, z, z), epsilon=0.001, feature_index=1",
             "%r = (f32[8,8]{1,0}, f32[8]{0}, f32[8]{0}) batch-norm-training(%a, %z, %z), "
             "epsilon=0.001, feature_index=1");
  check_root("r = s32[4,4] iota(), iota_dimension=0",
             "%r = s32[4,4]{1,0} iota(), iota_dimension=0");
  check_root(a + "r = (f32[8,8], f32[8,8], u32[]) copy-start(a), cross_program_prefetch_index=0",
             "%r = (f32[8,8]{1,0}, f32[8,8]{1,0}, u32[]) copy-start(%a), "
             "cross_program_prefetch_index=0");
  check_root("r = (f32[2], s32[]) parameter(0), parameter_replication={true,false}",
             "%r = (f32[2]{0}, s32[]) parameter(0), parameter_replication={true,false}");
}

TEST_CASE("collectives and their groups") {
  const std::string a = "a = f32[8] parameter(0)\n";
  auto groups = [&](const std::string& text) {
    std::string line = root_line(
        module_with(a + "r = f32[16] all-gather(a), dimensions={0}, replica_groups=" + text));
    size_t begin = line.find("replica_groups=") + 15;
    return line.find(", dim") == line.npos ? line : line.substr(begin, line.find(", dim") - begin);
  };
  for (const char* text : {"{}", "{{0,1},{2,3}}", "[2,4]<=[8]", "[2,4]<=[4,2]T(1,0)",
                           "mesh['x'=2,'y'=4] {'x'}", "mesh['x'=2,'y'=4] {'y':(1)2,'x'}",
                           "mesh['x'=4,'y'=2], device_ids=([2,2,2]T(0,2,1)) {'x':(2)2}",
                           "mesh['x'=2,'y'=2], device_ids=(0,2,1,3) {'x'}"}) {
    CHECK(groups(text) == text);
  }
  // As XLA keeps them.
  const char* const canonical[][2] = {
      {"[2,4]<=[2,4]T(0,1)", "[2,4]<=[8]"},
      {"[2,4]<=[2,1,4]T(2,1,0)", "[2,4]<=[2,4]T(1,0)"},
      {"[6,10]<=[3,4,5]T(1,2,0)", "[6,10]<=[3,20]T(1,0)"},
      {"[6,10]<=[3,4,5]T(2,0,1)", "[6,10]<=[12,5]T(1,0)"},
      {"[6,10]<=[3,4,5]T(2,1,0)", "[6,10]<=[3,4,5]T(2,1,0)"},
      {"[6,10]<=[1,3,1,4,1,5]T(4,3,2,5,1,0)", "[6,10]<=[3,20]T(1,0)"},
      {"[1,1]<=[1,1]T(1,0)", "[1,1]<=[1]"},
      {"mesh['x'=2,'y'=4], device_ids=([2,4]T(0,1)) {'x'}", "mesh['x'=2,'y'=4] {'x'}"},
      {"mesh['x'=2,'y'=4], device_ids=([2,1,4]T(2,1,0)) {'x'}",
       "mesh['x'=2,'y'=4], device_ids=([2,4]T(1,0)) {'x'}"}};
  for (const auto& [given, kept] : canonical) CHECK(groups(given) == kept);
  check_root(a + "r = f32[8] all-reduce(a), to_apply={ x = f32[] parameter(0)\ny = f32[] "
                 "parameter(1)\nROOT s = f32[] add(x, y) }",
             "%r = f32[8]{0} all-reduce(%a), replica_groups={}, to_apply=%_");
  check_root(a + "r = f32[8] collective-permute(a), source_target_pairs={{0,1}, {1,0}}, "
                 "channel_id=3",
             "%r = f32[8]{0} collective-permute(%a), channel_id=3, "
             "source_target_pairs={{0,1},{1,0}}");
  check_root(a + "i = s32[1] constant({0})\nr = f32[8] collective-permute(a, a, i, i), "
                 "source_target_pairs={{0,1}}, slice_sizes={{4}}",
             "%r = f32[8]{0} collective-permute(%a, %a, %i, %i), source_target_pairs={{0,1}}, "
             "slice_sizes={{4}}");
}

TEST_CASE("shardings") {
  auto sharding = [](const std::string& text) {
    std::string line = root_line(module_with("a = f32[8] parameter(0), sharding=" + text));
    size_t begin = line.find("sharding=");
    return begin == line.npos ? line : line.substr(begin + 9);
  };
  for (const char* text :
       {"{replicated}",
        "{manual}",
        "{unknown}",
        "{unreduced}",
        "{maximal device=3}",
        "{devices=[2,2]0,1,2,3}",
        "{devices=[2,4]<=[8]}",
        "{devices=[4,2]<=[2,4]T(1,0)}",
        "{devices=[2,2]<=[4] last_tile_dim_replicate}",
        "{devices=[2,2]0,1,2,3 last_tile_dims={manual, replicated} shard_as 1}",
        "{replicated shard_like 2}",
        "{}",
        "{{replicated}, {manual}}",
        "{{manual}, {manual}, {manual}, {manual}, {manual}, /*index=5*/{manual}}",
        "{devices=[2]0,1 metadata={op_name=\"x\"}}",
        "{replicated metadata={{op_name=\"a\"}, {op_name=\"b\"}}}",
        "{mesh['x'=2,'y'=4], [{'x', ?}, {'y':(1)2}], replicated={'y':(2)2}}",
        "{mesh['x'=2], [{}], unreduced={'x'}, metadata={{op_name=\"x\"}}}",
        "{mesh['x'=2,'y'=4], device_ids=([4,2]T(1,0)), [{}, {?}]}",
        "{maximal_mesh[device_id=3]}",
        "{mesh['x'=2], [{}], unreduced=max{'x'}}",
        "{mesh['x'=2,'y'=2], unreduced=max}",
        "{mesh['x'=2,'y'=2], device_ids=(0,1,3,2), [{'y'}, {'x'}]}",
        "{mesh['x'=2,'y'=8], [{'y':(4)2, 'y':(1)2}], replicated={'x', 'y':(2)2}}",
        "{mesh['x'=2], replicated}",
        "{mesh['x'=2,'y'=2], unreduced}",
        "{mesh['x'=2,'y'=2], [], manual={'x'}}"}) {
    CHECK(sharding(text) == text);
  }
  // One meaning has one form, which is XLA's.
  CHECK(sharding("{devices=[2,4]<=[2,2,2]T(1,2,0)}") == "{devices=[2,4]<=[2,4]T(1,0)}");
  CHECK(sharding("{replicated metadata={{op_name=\"a\"}}}") ==
        "{replicated metadata={op_name=\"a\"}}");
  CHECK(sharding("{mesh['x'=2], []}") == "{mesh['x'=2], replicated}");
  CHECK(sharding("{mesh['x'=2,'y'=2], [], unreduced={'x','y'}}") ==
        "{mesh['x'=2,'y'=2], unreduced}");
  CHECK(sharding("{mesh['x'=2], [], manual={'x'}}") == "{mesh['x'=2], manual}");
  CHECK(sharding("{mesh['x'=2], [{}], unreduced=[min]{'x'}}") ==
        "{mesh['x'=2], [{}], unreduced=min{'x'}}");
  CHECK(sharding("{mesh['x'=2], [{'x'}], replicated={}, manual={}}") == "{mesh['x'=2], [{'x'}]}");
}

TEST_CASE("asynchronous operations") {
  check_root(
      "a = f32[8] parameter(0)\ns = ((f32[8]), f32[4]) slice-start(a), slice={[0:4]}, "
      "metadata={op_name=\"x\"}, async_execution_thread=\"t\"\n"
      "u = ((f32[8]), f32[4]) slice-update(s)\nr = f32[4] slice-done(u)",
      "%r = f32[4]{0} slice-done(%u)");
  // A computation that does more than one thing has to be named.
  std::string text = R"(HloModule m

%c (p: s32[]) -> s32[] {
  %p = s32[] parameter(0)
  %q = s32[] negate(%p)
  ROOT %t = s32[] negate(%q)
}

ENTRY %e (a: s32[]) -> s32[] {
  %a = s32[] parameter(0)
  %s = ((s32[]), s32[], u32[]) async-start(%a), calls=%c
  ROOT %d = s32[] async-done(%s)
}

)";
  CHECK(reprinted(text) == text);
  std::string sugared = R"(HloModule m

ENTRY %e (a: s32[]) -> s32[] {
  %a = s32[] parameter(0)
  %s = ((s32[]), s32[], u32[]) negate-start(%a), async_execution_thread="t"
  ROOT %d = s32[] negate-done(%s)
}

)";
  CHECK(reprinted(sugared) == sugared);
  CHECK(reprinted(R"(HloModule m
c { p = s32[] parameter(0)
  ROOT t = s32[] negate(p) }, execution_thread="t"
ENTRY e { a = s32[] parameter(0)
  s = ((s32[]), s32[], u32[]) async-start(a), calls=c, async_execution_thread="t"
  ROOT d = s32[] async-done(s), calls=c
})") == sugared);
}

TEST_CASE("names that clash are changed as XLA changes them") {
  check_prints(R"(HloModule m
c { a = f32[] parameter(0)
  a.0 = f32[] negate(a)
  ROOT a.01 = f32[] negate(a.0) }
ENTRY e { a.1 = f32[] parameter(0)
  a = f32[] negate(a.1)
  ROOT z = f32[] map(a), dimensions={}, to_apply=c }
)",
               R"(HloModule m

%c (a: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %a.1 = f32[] negate(%a)
  ROOT %a.2 = f32[] negate(%a.1)
}

ENTRY %e (a.3: f32[]) -> f32[] {
  %a.3 = f32[] parameter(0)
  %a.4 = f32[] negate(%a.3)
  ROOT %z = f32[] map(%a.4), dimensions={}, to_apply=%c
}

)");
}

TEST_CASE("the first number that is tried for a name that clashes is 0") {
  check_prints(R"(HloModule m
c { a.1 = f32[] parameter(0)
  ROOT b = f32[] negate(a.1) }
d { a.1 = f32[] parameter(0)
  ROOT b = f32[] negate(a.1) }
ENTRY e { a.1 = f32[] parameter(0)
  z = f32[] map(a.1), dimensions={}, to_apply=c
  ROOT y = f32[] map(z), dimensions={}, to_apply=d }
)",
               R"(HloModule m

%c (a.1: f32[]) -> f32[] {
  %a.1 = f32[] parameter(0)
  ROOT %b = f32[] negate(%a.1)
}

%d (a.0: f32[]) -> f32[] {
  %a.0 = f32[] parameter(0)
  ROOT %b.1 = f32[] negate(%a.0)
}

ENTRY %e (a.2: f32[]) -> f32[] {
  %a.2 = f32[] parameter(0)
  %z = f32[] map(%a.2), dimensions={}, to_apply=%c
  ROOT %y = f32[] map(%z), dimensions={}, to_apply=%d
}

)");
}

TEST_CASE("instructions are printed from each sink, unless they are scheduled") {
  std::string body =
      "a = f32[] parameter(0)\nb = f32[] parameter(1)\nw = f32[] constant(0)\n"
      "x = f32[] negate(b)\ny = f32[] negate(a)\nROOT r = f32[] add(y, x)";
  check_prints(module_with(body), R"(HloModule m

ENTRY %e (a: f32[], b: f32[]) -> f32[] {
  %w = f32[] constant(0)
  %a = f32[] parameter(0)
  %y = f32[] negate(%a)
  %b = f32[] parameter(1)
  %x = f32[] negate(%b)
  ROOT %r = f32[] add(%y, %x)
}

)");
  CHECK(reprinted(module_with(body, ", is_scheduled=true")).find("%w") >
        reprinted(module_with(body, ", is_scheduled=true")).find("%b = "));
}

TEST_CASE("options") {
  std::string text = module_with(
      "a = f32[2] parameter(0), metadata={op_name=\"x\"}, backend_config={}\n"
      "c = f32[11] constant({1,2,3,4,5,6,7,8,9,10,11})\nROOT r = f32[2] negate(a)");
  PrintOptions options;
  options.metadata = options.backend_config = false;
  options.largest_constant = 10;
  options.percent = options.program_shape = false;
  options.operand_shapes = true;
  CHECK(reprinted(text, options) == R"(HloModule m

ENTRY e {
  c = f32[11]{0} constant({...})
  a = f32[2]{0} parameter(0)
  ROOT r = f32[2]{0} negate(f32[2]{0} a)
}

)");
}

TEST_CASE("XLA's canonical form") {
  const std::string text = R"(HloModule m, is_scheduled=true

red { x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(y, x) }

one { ROOT b = f32[8] parameter(0) }

two { b = f32[8] parameter(0)
  ROOT c = f32[8] add(b, b) }

ENTRY main {
  i = s32[] parameter(1)
  a = f32[8] parameter(0), metadata={op_name="x"}
  z = f32[] constant(0), control-predecessors={i}
  c = f32[8] conditional(i, a, a), branch_computations={one, two}, backend_config={}
  f = f32[8] fusion(c), kind=kLoop, calls=two
  ROOT r = f32[] reduce(f, z), dimensions={0}, to_apply=red
})";
  CHECK(reprinted(text, PrintOptions::xla_canonical()) == R"(HloModule m, is_scheduled=true

one {
  ROOT tmp_0 = f32[8]{0} parameter(0)
}

two {
  tmp_0 = f32[8]{0} parameter(0)
  ROOT tmp_1 = f32[8]{0} add(f32[8]{0} tmp_0, f32[8]{0} tmp_0)
}

red {
  tmp_0 = f32[] parameter(0)
  tmp_1 = f32[] parameter(1)
  ROOT tmp_2 = f32[] add(f32[] tmp_1, f32[] tmp_0)
}

ENTRY main {
  tmp_0 = s32[] parameter(1)
  tmp_1 = f32[8]{0} parameter(0)
  tmp_2 = f32[] constant(0)
  tmp_3 = f32[8]{0} conditional(s32[] tmp_0, f32[8]{0} tmp_1, f32[8]{0} tmp_1), branch_computations={
  {
    ROOT tmp_0 = f32[8]{0} parameter(0)
  },
  {
    tmp_0 = f32[8]{0} parameter(0)
    ROOT tmp_1 = f32[8]{0} add(f32[8]{0} tmp_0, f32[8]{0} tmp_0)
  }
}
  tmp_4 = f32[8]{0} fusion(f32[8]{0} tmp_3), kind=kLoop, calls=
  {
    tmp_0 = f32[8]{0} parameter(0)
    ROOT tmp_1 = f32[8]{0} add(f32[8]{0} tmp_0, f32[8]{0} tmp_0)
  }
  ROOT tmp_5 = f32[] reduce(f32[8]{0} tmp_4, f32[] tmp_2), dimensions={0}, to_apply=
  {
    tmp_0 = f32[] parameter(1)
    tmp_1 = f32[] parameter(0)
    ROOT tmp_2 = f32[] add(f32[] tmp_0, f32[] tmp_1)
  }
}

)");
}

TEST_CASE(
    "the canonical form is the same for modules that differ in names alone, and is read again") {
  const std::string one = R"(HloModule a
add { x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y) }
ENTRY e { p = f32[8] parameter(0), metadata={op_name="x"}
  z = f32[] constant(0)
  ROOT r = f32[] reduce(p, z), dimensions={0}, to_apply=add, backend_config={} }
)";
  const std::string other = R"(HloModule b
sum.5 { s = f32[] parameter(0)
  x = f32[] parameter(1)
  ROOT y = f32[] add(s, x) }
ENTRY e.1 { p.1 = f32[8] parameter(0)
  z.1 = f32[] constant(0)
  ROOT r = f32[] reduce(p.1, z.1), dimensions={0}, to_apply=sum.5 }
)";
  const std::string canonical = reprinted(one, PrintOptions::canonical());
  CHECK(reprinted(other, PrintOptions::canonical()) == canonical);
  CHECK(reprinted(canonical, PrintOptions::canonical()) == canonical);
}

TEST_CASE("bodies that would make a text of any length are named") {
  // Each computation calls the one before twice, fifty times over.
  std::string text = "HloModule m\nc0 { ROOT a = f32[] parameter(0) }\n";
  for (int i = 1; i <= 50; ++i) {
    text += fmt::format(
        "c{0} {{ p = f32[] parameter(0)\n q = f32[] call(p), to_apply=c{1}\n"
        "ROOT r = f32[] call(q), to_apply=c{1} }}\n",
        i, i - 1);
  }
  text += "ENTRY e { p = f32[] parameter(0)\n ROOT r = f32[] call(p), to_apply=c50 }\n";
  PrintOptions options;
  options.full_bodies = true;
  CHECK(reprinted(text, options).size() < 20'000'000);
}

TEST_CASE("shapes that are written alike, with and without layouts behind them") {
  const std::string start =
      "  p = f32[2,2] parameter(0)\n  a = (f32[2,2]{0,1}) custom-call(p), "
      "custom_call_target=\"t\"\n  ROOT r = ";
  for (std::string_view layout : {"{0,1}", " {0,1}", "{ 0,1}", " {\t0,1}", "\t{0,1}", "/*c*/{0,1}",
                                  " /*c*/ {0,1}", "{/*c*/0,1}", " {\n0,1}"}) {
    CAPTURE(layout);
    CHECK(root_line(module_with(start + fmt::format("f32[2,2]{} copy(p)", layout))) ==
          "%r = f32[2,2]{0,1} copy(%p)");
  }
  CHECK(complaints(module_with(start + "f32[2,2]{-1} copy(p)")).find("{-1} does not order") !=
        std::string::npos);
}

TEST_CASE("values that are written alike, or almost") {
  // metadata of an instruction, and in a sharding; dimensions of two kinds; groups of two forms.
  std::string text = module_with(
      "  p = f32[2,2]{1,0} parameter(0), sharding={replicated metadata={op_name=\"a\"}}, "
      "metadata={op_name=\"a\"}\n"
      "  a = f32[2,2]{1,0} all-reduce(p), replica_groups={{0},{1}}, to_apply=add, "
      "metadata={op_name=\"a\"}\n"
      "  b = f32[2,2]{1,0} all-reduce(a), replica_groups={{0},{1}}, to_apply=add, "
      "metadata={op_name=\"a\"  source_line=1}\n"
      "  c = f32[2,2]{1,0} all-reduce(b), replica_groups={{1},{0}}, to_apply=add, "
      "metadata={op_name=\"a}\"}\n"
      "  ROOT d = f32[2,2]{1,0} all-reduce(c), replica_groups={{0},{1}}, to_apply=add,\n"
      "    metadata={op_name=\"a\"\n}\n",
      ", replica_count=2");
  text.replace(text.find("ENTRY"), 0,
               "add {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n  ROOT z = f32[] add(x, "
               "y)\n}\n");
  const std::string printed = reprinted(text);
  auto count = [&](std::string_view part) {
    size_t found = 0;
    for (size_t at = printed.find(part); at != printed.npos; at = printed.find(part, at + 1)) {
      ++found;
    }
    return found;
  };
  CAPTURE(printed);
  CHECK(count("metadata={op_name=\"a\"}") == 4);
  CHECK(count("metadata={op_name=\"a\" source_line=1}") == 1);
  CHECK(count("metadata={op_name=\"a}\"}") == 1);
  CHECK(count("replica_groups={{0},{1}}") == 3);
  CHECK(count("replica_groups={{1},{0}}") == 1);
}

}  // namespace
}  // namespace minihlo
