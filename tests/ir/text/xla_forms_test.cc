// Forms at the edge of the grammar that XLA's parser takes, and some that it refuses.
#include <doctest/doctest.h>

#include "tests/ir/text/text_testing.h"

namespace minihlo {
namespace {

struct Form {
  std::string text;
  std::string root;  // as it is printed, or the complaints
};

// The root of the entry must be printed so, and XLA's form of the module must be a fixed point.
void check_forms(std::initializer_list<Form> forms) {
  for (const Form& form : forms) {
    CAPTURE(form.text);
    CHECK(root_line(form.text) == form.root);
    Parsed parsed(form.text);
    if (!parsed.module) continue;
    std::string once = print_text(*parsed.module);
    CHECK(reprinted(once) == once);
  }
}

void check_roots(std::initializer_list<Form> forms) {
  for (const Form& form : forms) check_forms({{module_with(form.text), form.root}});
}

TEST_CASE("names") {
  const std::string kConstant = "%c = f32[] constant(1)";
  check_forms({
      {"HloModule m:\nENTRY e { c = f32[] constant(1) }", kConstant},
      {"HloModule m:\ne: { c: = f32[] constant(1) }", kConstant},
      {"HloModule __m\nENTRY e { c = f32[] constant(1) }", kConstant},
      {"HloModule m\nENTRY e (x f32[2], %y s32[]) -> f32[] { c = f32[] constant(1) }", kConstant},
      {"HloModule m\n__f { c = f32[] constant(1) }\nENTRY e { r = f32[] call(), to_apply=__f }",
       "%r = f32[] call(), to_apply=%a_f"},
      {"HloModule m\n%f32 { c = f32[] constant(1) }\nENTRY e { r = f32[] call(), to_apply=%f32 }",
       "%r = f32[] call(), to_apply=%f32_"},
      {"HloModule m\nENTRY e { opaque_type = f32[] constant(1) }",
       "%opaque_type = f32[] constant(1)"},
      {"HloModule m\nENTRY e (%x: f32[2]) -> f32[] { c = f32[] constant(1) }",
       "expected-token 2:12 expected a shape, got ':'\n"},
      {"HloModule m\nENTRY f32 { c = f32[] constant(1) }",
       "invalid-name 2:7 expected the computation's name, and 'f32' can't be a name\n"},
  });
}

TEST_CASE("comments end where a line ends, be it with CR alone") {
  check_forms({{"HloModule m // x\rENTRY e {\r// y\r c = f32[] constant(1) // z\r}",
                "%c = f32[] constant(1)"}});
}

TEST_CASE("commas behind the last element, where XLA takes them") {
  const std::string kRest = "\nENTRY e { p = f32[] parameter(0) }";
  const std::string kRoot = "%p = f32[] parameter(0)";
  check_forms({
      {"HloModule m, input_output_alias={ {}: (0, {}), }" + kRest, kRoot},
      {"HloModule m, buffer_donor={ (0, {}), }" + kRest, kRoot},
      {"HloModule m, entry_computation_layout={(f32[],)->f32[]}" + kRest, kRoot},
      {"HloModule m, frontend_attributes={a=\"b\",}" + kRest,
       "expected-token 1:41 expected a name followed by '=', got '}'\n"},
  });
}

TEST_CASE("of frontend attributes with one name the last one counts") {
  check_roots({{"p = f32[] parameter(0), frontend_attributes={a=\"1\",b=\"2\",a=\"3\"}",
                "%p = f32[] parameter(0), frontend_attributes={a=\"3\",b=\"2\"}"}});
}

TEST_CASE("shardings") {
  auto sharded = [](const std::string& sharding) {
    return "p = f32[2,2] parameter(0), sharding=" + sharding;
  };
  auto kept = [&](const std::string& sharding) {
    return Form{sharded(sharding), "%p = f32[2,2]{1,0} parameter(0), sharding=" + sharding};
  };
  const std::string kMesh = "{mesh['a'=2,'b'=4], ";
  check_roots({
      kept(kMesh + "replicated}"),
      kept(kMesh + "unreduced, metadata={{op_name=\"x\"}}}"),
      kept(kMesh + "manual}"),
      kept("{mesh[], [{}, {}]}"),
      kept("{maximal_mesh[device_id=5], metadata={{op_name=\"x\"}}}"),
      kept(kMesh + "[{'a', ?}, {'b':(2)2}], manual={'b':(1)2}, "
                   "metadata={{op_name=\"x\"}}}"),
      {sharded("{mesh[\"a\"=2,'b'=4] [ {\"a\",?},{} ] , replicated={'b'}}"),
       "%p = f32[2,2]{1,0} parameter(0), sharding=" + kMesh + "[{'a', ?}, {}], replicated={'b'}}"},
      {sharded("{mesh['a'=2,'b'=4], [{'1'}, {}], replicated={'0'}}"),
       "%p = f32[2,2]{1,0} parameter(0), sharding=" + kMesh + "[{'b'}, {}], replicated={'a'}}"},
      kept(kMesh + "unreduced=max{'b'}}"),
      {sharded(kMesh + "unreduced=sum{'b'}}"),
       "%p = f32[2,2]{1,0} parameter(0), sharding=" + kMesh + "[], unreduced={'b'}}"},
      {sharded(kMesh + "unreduced{'b'}}"),
       "%p = f32[2,2]{1,0} parameter(0), sharding=" + kMesh + "[], unreduced={'b'}}"},
      {sharded(kMesh + "unreduced=max{'a','b'}}"),
       "%p = f32[2,2]{1,0} parameter(0), sharding=" + kMesh + "unreduced=max}"},
      {sharded(kMesh + "[{}, {}], unreduced=sum{'b'}}"),
       "%p = f32[2,2]{1,0} parameter(0), sharding=" + kMesh + "[{}, {}], unreduced={'b'}}"},
      {sharded(kMesh + "unreduced=sum}"),
       "%p = f32[2,2]{1,0} parameter(0), sharding=" + kMesh + "unreduced}"},
      {sharded(kMesh + "unreduced={'b'}}"),
       "expected-token 4:67 expected 'sum', 'max' or 'min', got '{'\n"},
      kept(kMesh + "unreduced=min}"),
      {sharded("{devices=[3]0,1}"), "%p = f32[2,2]{1,0} parameter(0), sharding={devices=[3]0,1,0}"},
      {sharded("{devices=[1,1]0}"), "invalid-sharding 4:46 1 tiles are given 1 devices\n"},
      {sharded("{devices=[2,2]0,1,2,3,4}"), "invalid-sharding 4:46 4 tiles are given 5 devices\n"},
      {sharded("{devices=[]<=[1]}"),
       "invalid-sharding 4:46 the numbers of tiles must be positive and their product fit 63 "
       "bits\n"},
      {sharded("{devices=[2,2]<=[2,2]T(0,2)}"),
       "invalid-sharding 4:59 T(0,2) does not order 2 axes\n"},
      {sharded("{devices=[2,2]<=[2,2]T(1,0]}"),
       "expected-token 4:63 expected ')' around the integers, got ']'\n"},
      {sharded("{devices=[2,2]<=[2,2]T(0)}"), "invalid-sharding 4:59 T(0) does not order 2 axes\n"},
      {sharded("{{replicated},}"),
       "expected-token 4:51 expected '{' before the sharding, got '}'\n"},
      {sharded("{{{replicated}}}"),
       "invalid-sharding 4:39 a tuple's shardings are a flat list, one a leaf\n"},
      {sharded("{mesh['a'=2]}"),
       "expected-token 4:49 expected '[' around the dimensions, got '}'\n"},
      {sharded("{mesh['a'=2], [{?, 'a'}]}"),
       "expected-token 4:56 expected '}' behind '?', got ''a''\n"},
      {sharded("{mesh['a'=2], [{'c'}]}"), "invalid-mesh 4:53 the mesh has no axis 'c'\n"},
      {sharded("{mesh['a'=2], [{'1'}]}"), "invalid-mesh 4:53 the mesh has no axis '1'\n"},
      {sharded("{mesh['a'=2], [{'0x'}]}"), "invalid-mesh 4:53 the mesh has no axis '0x'\n"},
      {sharded("{mesh['a'=2], device_ids=([3,2]T(1,0)), [{'a'}]}"),
       "invalid-mesh 4:62 the mesh has axes of 2, and devices of 3 x 2\n"},
      {sharded("{mesh['a'=2], device_ids=(0,1,2), [{'a'}]}"),
       "invalid-mesh 4:62 the mesh has axes of 2, and 3 devices\n"},
      {sharded("{maximal_mesh[device_id=5], [{}]}"),
       "expected-token 4:65 expected 'metadata=', got '['\n"},
  });
}

TEST_CASE("what is said of both sides of a product has a grammar") {
  auto product = [](const std::string& rest) {
    return "a = f32[4,4] parameter(0)\nb = f32[4,4] parameter(1)\ns = u16[4] parameter(2)\n"
           "d = f32[4,4] dot(a, b, s), lhs_contracting_dims={1}, rhs_contracting_dims={0}, " +
           rest;
  };
  auto kept = [&](const std::string& written, const std::string& printed) {
    return Form{product(written),
                "%d = f32[4,4]{1,0} dot(%a, %b, %s), lhs_contracting_dims={1}, "
                "rhs_contracting_dims={0}, " +
                    printed};
  };
  check_roots({
      kept("sparsity_config={ rhs={idx=2 stride=1 dimension=0 sparsity=1x4} }",
           "sparsity_config={rhs={sparsity=1x4 dimension=0 stride=1 idx=2}}"),
      kept("sparsity_config={rhs={sparsity=1x4} lhs={idx=3} rhs={idx=2}}",
           "sparsity_config={lhs={sparsity=0x0 idx=3} rhs={sparsity=1x4 idx=2}}"),
      kept("block_scaling_config={lhs={steps=1x1 strides=32 zero_idx=3 scale_idx=2}rhs={}}",
           "block_scaling_config={lhs={scale_idx=2 zero_idx=3 strides=32 steps=1x1} "
           "rhs={scale_idx=0}}"),
      {product("sparsity_config={out={idx=2}}"),
       "expected-token 7:97 expected '}', 'lhs=' or 'rhs=', got 'out='\n"},
      {product("sparsity_config={lhs={idx=2}, rhs={idx=2}}"),
       "expected-token 7:108 expected '}', 'lhs=' or 'rhs=', got ','\n"},
      {product("sparsity_config={lhs={scale_idx=2}}"),
       "expected-token 7:102 expected '}' or 'sparsity=', got 'scale_idx='\n"},
      {product("sparsity_config={lhs={sparsity=1x2x4}}"),
       "invalid-value 7:111 sparsity is made of 2 sizes\n"},
      {product("block_scaling_config={lhs={scale_idx=2x2}}"),
       "expected-token 7:117 expected a number, got '2x2'\n"},
      {product("block_scaling_config=2"),
       "expected-token 7:101 expected '{' before the sides, got '2'\n"},
  });
}

TEST_CASE("values in braces have a grammar, and are spaced as XLA does") {
  auto line = [](const std::string& rest) { return "p = (f32[2], f32[3]) parameter(0), " + rest; };
  auto kept = [&](const std::string& written, const std::string& printed) {
    return Form{line(written), "%p = (f32[2]{0}, f32[3]{0}) parameter(0), " + printed};
  };
  auto exp = [](const std::string& rest) {
    return "p = f32[] parameter(0)\ne = f32[] exponential(p), result_accuracy=" + rest;
  };
  check_roots({
      kept("origin={ ({'a' {0,}},{\"b\"}) }", "origin={({\"a\" {0}}, {\"b\"})}"),
      kept("origin={({}, {\"b\"})}", "origin={({}, {\"b\"})}"),
      kept("origin={[synthetic_call]}", "origin={[synthetic_call]}"),
      kept("origin={({'a'},{}) , ['f/while#$'] }", "origin={({\"a\"}, {}),[\"f/while#$\"]}"),
      kept("origin={({},[\"f\"],{})}", "origin={({}, {}),[\"f\"]}"),
      kept("origin={{},[\"\"]}", "origin={{},[\"\"]}"),
      kept("statistics={visualizing_index=1, a=2, b=-1.5}",
           "statistics={visualizing_index=1,a=2,b=-1.5}"),
      kept("metadata={profile_type={ 1 } ,op_name=\"x\"}",
           "metadata={op_name=\"x\" profile_type={1}}"),
      kept("metadata={profile_type={} op_name=\"x\"}", "metadata={op_name=\"x\"}"),
      kept("parameter_replication={true,false}", "parameter_replication={true,false}"),
      {exp("{mode=HIGHEST}"), "%e = f32[] exponential(%p), result_accuracy={mode=highest}"},
      {exp("{tolerance={rtol=0.5, ulps=2}}"),
       "%e = f32[] exponential(%p), result_accuracy={tolerance={rtol=0.5,ulps=2}}"},
      {line("origin={[synthetic]}"),
       "expected-token 4:45 expected 'synthetic_call', got 'synthetic'\n"},
      {line("origin={\"a\"}"),
       "expected-token 4:44 expected '{\"name\"}', a tuple of those, or '[synthetic_call]', got "
       "'\"a\"'\n"},
      {line("origin={({},{}),[\"a\"],[\"b\"]}"),
       "duplicate-value 4:58 the origin has its calls already\n"},
      {line("origin={({},{}),[a]}"), "expected-token 4:53 expected the calls in quotes, got 'a'\n"},
      {line("origin={({\"a\"}}"), "invalid-value 4:43 a tuple in the origin is not closed\n"},
      {line("statistics={visualizing_index=1.5}"),
       "expected-token 4:66 expected the index of a statistic, got '1.5'\n"},
      {line("statistics={visualizing_index=1,a=inf}"),
       "expected-token 4:70 expected a finite number, got 'inf'\n"},
      {line("metadata={profile_type={4}}"),
       "invalid-value 4:59 there is no type 4 of a profile: they are 0 to 3\n"},
      {line("parameter_replication=true"),
       "expected-token 4:58 expected '{' around the values, got 'true'\n"},
      {"p = f32[2] parameter(0)\nq = f32[2] negate(p), control-predecessors={}",
       "invalid-value 5:44 the list is empty\n"},
      {"p = f32[2] parameter(0)\nq = f32[2] negate(p), parameter_replication={true}",
       "unknown-attribute 5:23 'negate' takes no attribute 'parameter_replication'\n"},
      {exp("{mode=high}"), "expected-token 5:49 expected 'default' or 'highest', got 'high'\n"},
      {exp("{0.5}"), "expected-token 5:44 expected 'mode=' or 'tolerance=', got '0.5'\n"},
      {exp("{tolerance={foo=1}}"),
       "expected-token 5:55 expected 'atol=', 'rtol=' or 'ulps=', got 'foo='\n"},
  });
}

TEST_CASE("the table of origins to recover holds modules") {
  const std::string kRest = "\nENTRY e { p = f32[] parameter(0) }";
  auto header = [](const std::string& table) {
    return "HloModule m, origin_recovery_table=" + table;
  };
  check_forms({
      {header("{ {\"a\"} : {\"b\" {1}} }") + kRest, "%p = f32[] parameter(0)"},
      {header("{ {\"a\"} : {\"b\"}, \"ENTRY e { c = f32[] constant(1) }\" }") + kRest,
       "%p = f32[] parameter(0)"},
      {header("{ a }") + kRest,
       "expected-token 1:38 expected '{' before a value's origin, got 'a'\n"},
  });
  Parsed broken(header("{ {\"a\"} : {\"b\"}, \"x\" }") + kRest);
  REQUIRE(!broken.module);
  CHECK(broken.diagnostics.all()[0].message == "the recovery module can't be read");
}

TEST_CASE("shapes") {
  check_roots({
      {"p = f32[2] parameter(0)\nq = f32[2] {0} negate(f32[2] {0} p)", "%q = f32[2]{0} negate(%p)"},
      {"p = f32[2] parameter(0)\nq = f32[2] negate(f32[<=2] p)", "%q = f32[2]{0} negate(%p)"},
      {"p = f32[2] parameter(0)\nq = f32[2] negate(f32[?] p)", "%q = f32[2]{0} negate(%p)"},
      {"p = f32[2]{0:D(C+~)} parameter(0)", "%p = f32[2]{0} parameter(0)"},
      {"p = f32[2]{0:D(X)} parameter(0)",
       "expected-token 4:16 expected a level type: D, C, S or H, got 'X'\n"},
      {"p = f32[2]{0:T(-2)} parameter(0)", "invalid-layout 4:16 a tile's size can't be negative\n"},
      {"p = f32[2]{0:L(0)} parameter(0)", "invalid-layout 4:14 the alignment must be positive\n"},
      {"p = token[]{} parameter(0)", "expected-token 4:12 expected an opcode, got '{'\n"},
  });
}

TEST_CASE("attributes of single opcodes") {
  const std::string kP = "p = f32[2] parameter(0)\n";
  const std::string kX = "x = f32[1,2,1] parameter(0)\n";
  const std::string kDot =
      kP + "d = f32[] dot(p, p), lhs_contracting_dims={0}, rhs_contracting_dims={0}, ";
  const std::string kDotLine =
      "%d = f32[] dot(%p, %p), lhs_contracting_dims={0}, rhs_contracting_dims={0}";
  const std::string kConvolution = kX + "c = f32[1,2,1] convolution(x, x), window={size=1}, ";
  const std::string kConvolutionLine =
      "%c = f32[1,2,1]{2,1,0} convolution(%x, %x), window={size=1}";
  const std::string kCall = kP + "c = f32[2] custom-call(p), custom_call_target=\"t\", ";
  const std::string kCallLine = "%c = f32[2]{0} custom-call(%p), custom_call_target=\"t\"";
  check_roots({
      {kP + "d = f32[2] domain(p), domain={exit={manual} kind='sharding', entry={replicated}}",
       "%d = f32[2]{0} domain(%p), domain={kind=\"sharding\", entry={replicated}, exit={manual}}"},
      {kP + "d = f32[2] domain(p), domain={kind=\"x\", entry={manual}, exit={manual}}",
       "invalid-value 5:36 the only kind of domain is \"sharding\"\n"},
      {kP + "d = f32[2] domain(p), domain={kind=\"sharding\", entry={manual}}",
       "missing-attribute 5:30 a domain needs 'kind', 'entry' and 'exit'\n"},
      {kDot + "algorithm=DOT_BF16_BF16_F32_X9", kDotLine + ", algorithm=dot_bf16_bf16_f32_x9"},
      {kDot + "algorithm=unset", kDotLine},
      {kDot + "algorithm=dot_f32_f32",
       "invalid-value 5:84 there is no algorithm 'dot_f32_f32' (did you mean "
       "'dot_f32_f32_f32'?)\n"},
      {kDot + "operand_precision={HIGH,default}", kDotLine + ", operand_precision={high,default}"},
      {kConvolution + "dim_labels=b0f_0io->b0f, convolution_kind=fprop",
       kConvolutionLine + ", dim_labels=b0f_0io->b0f, convolution_kind=fprop"},
      {kConvolution + "dim_labels=b0f_0io->b0f, convolution_kind=unset",
       kConvolutionLine + ", dim_labels=b0f_0io->b0f"},
      {kConvolution + "dim_labels=b0?f_?0?io->?b?0?f",
       kConvolutionLine + ", dim_labels=b0?f_?0?io->?b?0?f"},
      {"s = s32[2] parameter(0)\nc = pred[2] compare(s, s), direction=LT, type=FLOAT",
       "%c = pred[2]{0} compare(%s, %s), direction=LT, type=FLOAT"},
      {kCall + "window={}", "%c = f32[2]{0} custom-call(%p), window={}, custom_call_target=\"t\""},
      {kCall + "literal=(s32[2]{0} {1,2}, (pred[] true), ())",
       kCallLine + ", literal=( s32[2]{0} {1, 2}, ( pred[] true ), (  ) )"},
      {kP + "t = f32[2,2] all-gather(p), dimensions={0}, replica_groups=mesh['a'=2], {'a'}",
       "%t = f32[2,2]{1,0} all-gather(%p), replica_groups=mesh['a'=2] {'a'}, dimensions={0}"},
      {kP + "t = f32[2] all-gather(p), dimensions={0}, replica_groups=mesh['a'=2] {}",
       "invalid-groups 5:58 replica_groups: a group along axes of a mesh has more than one "
       "device\n"},
      {kCall + "schedule=schedule_latest, api_version=Api_Version_Typed_FFI",
       kCallLine + ", schedule=SCHEDULE_LATEST, api_version=API_VERSION_TYPED_FFI"},
      {"z = f32[] constant(0)\nr = f32[2] rng(z, z), distribution=RNG_Uniform",
       "%r = f32[2]{0} rng(%z, %z), distribution=rng_uniform"},
      {"s = u64[2] parameter(0)\n"
       "r = (u64[2], u32[4]) rng-bit-generator(s), algorithm=RNG_THREE_FRY",
       "%r = (u64[2]{0}, u32[4]{0}) rng-bit-generator(%s), algorithm=rng_three_fry"},
      {"s = s32[2] parameter(0)\nc = pred[2] compare(s, s), direction=lt",
       "invalid-value 5:38 'direction' must be one of EQ, NE, GE, GT, LE, LT "
       "(did you mean 'LT'?)\n"},
      {kP + "b = f32[2] batch-norm-training(p, p, p), epsilon=1e39, feature_index=0",
       "number-out-of-range 5:50 the number does not fit 32 bits\n"},
  });
}

TEST_CASE("bare instructions, and commas between operands") {
  check_forms({
      {"f32[2] add(f32[2], f32[2] a)", "%_ = f32[2]{0} add(%_0, %a)"},
      {"add(f32[2] a, f32[2] b)",
       "expected-token 1:4 expected '=' behind the instruction's name, got '('\n"},
      {"ROOT f32[2] negate(f32[2] a)",
       "invalid-name 1:6 expected an instruction's name, and 'f32' can't be a name\n"},
      {"x = f32[2] negate(f32[2] x)",
       "duplicate-name 1:1 the computation has another instruction 'x' (it is here)\n"},
      {"f32[2] call(f32[2]), to_apply={ ROOT p = f32[2] parameter(0) }",
       "%_ = f32[2]{0} call(%_0), to_apply=%_.1"},
      {module_with("p = f32[2] parameter(0)\nt = tuple(,p,,p,)"),
       "%t = (f32[2]{0}, f32[2]{0}) tuple(%p, %p)"},
  });
}

TEST_CASE("asynchronous chains") {
  auto chain = [](const std::string& start, const std::string& rest) {
    return "HloModule m\nw { a = f32[2] parameter(0) n = f32[2] negate(a) }\nENTRY e {\n"
           "p = f32[2] parameter(0)\n"
           "s = ((f32[2]), f32[2], s32[]) async-start(p), calls=w" +
           start + "\n" + rest + "\n}";
  };
  check_forms({
      {chain("", "d = f32[2] async-done(s), async_execution_thread=\"main\""),
       "%d = f32[2]{0} negate-done(%s)"},
      {chain(", async_execution_thread=\"t\"",
             "d = f32[2] async-done(s), async_execution_thread=\"t\""),
       "%d = f32[2]{0} async-done(%s)"},
      {chain(", async_execution_thread=\"t\"",
             "d = f32[2] async-done(s), async_execution_thread=\"main\""),
       "async-chain 6:12 'async-done' has another execution thread than its start 's' (the start "
       "is here)\n"},
      {chain("", "u = ((f32[2]{0}), f32[2], s32[]) async-update(s)\nd = f32[2] async-done(u)"),
       "%d = f32[2]{0} negate-done(%u)"},
      {chain("", "u = ((f32[2]{0:S(1)}), f32[2], s32[]) async-update(s)\nd = f32[2] async-done(u)"),
       "async-chain 6:39 'async-update' must have the shape of its operand 's', ((f32[2]{0}), "
       "f32[2]{0}, s32[]), not ((f32[2]{0:S(1)}), f32[2]{0}, s32[])\n"},
  });
}

TEST_CASE("a call that is bound late is taken into its start") {
  auto chain = [](const std::string& rest) {
    return "HloModule m\nfoo { a = f32[] parameter(0) b = f32[] parameter(1) c = f32[] add(a, b) "
           "}\n"
           "ENTRY e {\np = f32[] parameter(0)\n" +
           rest + "\n}";
  };
  check_forms({
      {chain("s = ((f32[]), (), s32[]) call-start(p), to_apply=foo"),
       "%s = ((f32[]), (), s32[]) async-start(%p), calls=%foo"},
      {chain("s = ((f32[]), (), s32[]) call-start(p), to_apply=foo\n"
             "u = ((f32[], f32[]), f32[], s32[]) call-update(s, p)\nd = f32[] call-done(u)"),
       "%d = f32[] async-done(%u)"},
      {chain("s = ((), (), s32[]) call-start(), to_apply=foo\n"
             "u = ((f32[], f32[]), (), s32[]) call-update(s, p, p)\nd = f32[] call-done(u)"),
       "%d = f32[] async-done(%u)"},
  });
}

TEST_CASE("aliases and threads of asynchronous work") {
  const std::string kFoo =
      "HloModule m\nfoo { a = f32[2] parameter(0) n = f32[2] negate(a) }\n"
      "ENTRY e {\np = f32[2] parameter(0)\n";
  auto start = [&](const std::string& opcode, const std::string& rest) {
    return kFoo + "s = ((f32[2]), f32[2], s32[]) " + opcode + "-start(p)" + rest + "\n}";
  };
  auto printed = [](const std::string& opcode, const std::string& rest) {
    return "%s = ((f32[2]{0}), f32[2]{0}, s32[]) " + opcode + "-start(%p)" + rest;
  };
  const std::string kThread = ", async_execution_thread=\"x\"";
  const std::string kTarget = ", custom_call_target=\"y\"";
  const std::string kAlias = ", output_to_operand_aliasing={{1}: (0, {})}";
  check_forms({
      {start("negate", kAlias + kThread), printed("negate", kThread + kAlias)},
      {start("custom-call", kTarget + kThread), printed("custom-call", kThread + kTarget)},
      {start("call", kAlias + ", to_apply=foo"), printed("call", ", to_apply=%foo" + kAlias)},
      {kFoo + "s = ((), (), s32[]) call-start(), to_apply=foo\n" +
           "ROOT u = ((f32[2]), f32[2], s32[]) call-update(s, p), " +
           "output_to_operand_aliasing={{2}: (0, {2})}\n}",
       "%u = ((f32[2]{0}), f32[2]{0}, s32[]) async-update(%s, %p), "
       "output_to_operand_aliasing={{2}: (0, {2})}"},
  });
}

TEST_CASE("asynchronous work that is carried through a tuple") {
  const std::string kCarried =
      "HloModule m\nw { a = f32[2] parameter(0) n = f32[2] negate(a) }\nENTRY e {\n"
      "p = f32[2] parameter(0)\ns = ((f32[2]), f32[2], s32[]) async-start(p), calls=w\n"
      "t = (((f32[2]), f32[2], s32[])) tuple(s)\n"
      "g = ((f32[2]), f32[2], s32[]) get-tuple-element(t), index=0\n";
  check_forms({
      {kCarried + "d = f32[2] async-done(g), calls=w\n}",
       "%d = f32[2]{0} async-done(%g), calls=%w"},
      {kCarried + "d = f32[2] negate-done(g)\n}", "%d = f32[2]{0} async-done(%g)"},
      {kCarried + "d = f32[2] async-done(p)\n}",
       "async-chain 8:12 the operand of 'async-done' must be an async-start or async-update, not "
       "'p'\n"},
  });
}

// What is complained of, and the root.
std::string warned_root(const std::string& instructions) {
  const std::string text = module_with(instructions);
  return complaints(text) + root_line(text);
}

TEST_CASE("shapes that are written, and others that count") {
  struct Row {
    std::string text, expected;
  };
  auto warning = [](const std::string& place, const std::string& written, const std::string& opcode,
                    const std::string& counts) {
    return "ignored-shape " + place + " the shape is written as " + written + ", but '" + opcode +
           "' gives " + counts + ", which counts\n";
  };
  const std::string kStart = "p = f32[2] parameter(0)\nt = token[] after-all()\n";
  const std::string kRecv = "(f32[2], u32[], token[])";
  for (const Row& row : std::initializer_list<Row>{
           {"r = f32[3] after-all()",
            warning("4:12", "f32[3]", "after-all", "token[]") + "%r = token[] after-all()"},
           {kStart + "r = f32[3] add-dependency(p, t)",
            warning("6:12", "f32[3]", "add-dependency", "f32[2]") +
                "%r = f32[2]{0} add-dependency(%p, %t)"},
           {kStart + "r = (f32[3], u32[], token[]) send(p, t), channel_id=1",
            warning("6:30", "(f32[3], u32[], token[])", "send", kRecv) +
                "%r = (f32[2]{0}, u32[], token[]) send(%p, %t), channel_id=1"},
           {kStart + "s = " + kRecv +
                " send(p, t), channel_id=1\nr = f32[] send-done(s), channel_id=1",
            warning("7:11", "f32[]", "send-done", "token[]") +
                "%r = token[] send-done(%s), channel_id=1"},
           {kStart + "r = (f32[2], f32[]) recv(t), channel_id=1",
            warning("6:21", "(f32[2], f32[])", "recv", kRecv) +
                "%r = (f32[2]{0}, u32[], token[]) recv(%t), channel_id=1"},
           {kStart + "s = " + kRecv +
                " recv(t), channel_id=1\nr = f32[] recv-done(s), channel_id=1",
            warning("7:11", "f32[]", "recv-done", "(f32[2], token[])") +
                "%r = (f32[2]{0}, token[]) recv-done(%s), channel_id=1"},
           {kStart + "r = (f32[2]) infeed(t)",
            warning("6:14", "(f32[2])", "infeed", "(f32[2], token[])") +
                "%r = (f32[2]{0}, token[]) infeed(%t)"},
           {kStart + "r = f32[2] outfeed(p, t), outfeed_shape=f32[2]",
            warning("6:12", "f32[2]", "outfeed", "token[]") +
                "%r = token[] outfeed(%p, %t), outfeed_shape=f32[2]{0}"},
           // Layouts are replaced without a word.
           {"p = f32[2,3]{0,1} parameter(0)\nt = token[] after-all()\n"
            "r = f32[2,3]{1,0} add-dependency(p, t)",
            "%r = f32[2,3]{0,1} add-dependency(%p, %t)"},
       }) {
    CAPTURE(row.text);
    CHECK(warned_root(row.text) == row.expected);
  }
}

TEST_CASE("of several dimensions, where one is needed, the first counts") {
  auto warning = [](const std::string& place, const std::string& opcode) {
    return "ignored-dimensions " + place + " '" + opcode +
           "' takes one dimension: of dimensions={0,1} the first counts\n";
  };
  struct Row {
    std::string text, expected;
  };
  const std::string kStart = "p = f32[2,2] parameter(0)\ns = s32[] constant(1)\n";
  for (const Row& row : std::initializer_list<Row>{
           {"r = f32[4,2] all-gather(p), replica_groups={{0,1}}, dimensions={0,1}",
            warning("6:14", "all-gather") +
                "%r = f32[4,2]{1,0} all-gather(%p), replica_groups={{0,1}}, dimensions={0}"},
           {"r = s32[] get-dimension-size(p), dimensions={0,1}",
            warning("6:11", "get-dimension-size") +
                "%r = s32[] get-dimension-size(%p), dimensions={0}"},
           {"r = f32[<=2,2] set-dimension-size(p, s), dimensions={0,1}",
            warning("6:16", "set-dimension-size") +
                "%r = f32[<=2,2]{1,0} set-dimension-size(%p, %s), dimensions={0}"},
       }) {
    CAPTURE(row.text);
    CHECK(warned_root(kStart + row.text) == row.expected);
  }
}

TEST_CASE("one computation in several branches") {
  check_forms(
      {{"HloModule m\nf { a = f32[] parameter(0) }\ng { b = f32[] parameter(0) }\n"
        "ENTRY e {\nx = f32[] parameter(0)\ni = s32[] parameter(1)\n"
        "c = f32[] conditional(i, x, x, x), branch_computations={f, f, g}\n}",
        "%c = f32[] conditional(%i, %x, %x, %x), branch_computations={%f, %f, %g}"}});
}

TEST_CASE("integers in literals wrap as in XLA") {
  check_roots({
      {"c = u64[2] constant({-1, 18446744073709551615})",
       "%c = u64[2]{0} constant({18446744073709551615, 18446744073709551615})"},
      {"c = s32[] constant(18446744073709551615)", "%c = s32[] constant(-1)"},
      {"c = f32[] constant(18446744073709551615)", "%c = f32[] constant(-1)"},
      {"c = u32[] constant(18446744073709551615)",
       "literal-range 4:20 the value is outside the range of u32\n"},
      {"c = f4e2m1fn[2] constant({nan, -nan})", "%c = f4e2m1fn[2]{0} constant({-0.0, 0})"},
  });
}

TEST_CASE("rows of stack-frame tables have their values in any order") {
  auto module = [](const std::string& location) {
    return "HloModule m\nFileNames\n1 \"a\"\nFunctionNames\n1 \"f\"\nFileLocations\n1 {" +
           location +
           "}\nStackFrames\n1 {parent_frame_id=1 file_location_id=1}\nENTRY e { p = f32[] "
           "parameter(0) }";
  };
  const std::string kIds = "file_name_id=1, function_name_id=1 ";
  const std::string kRoot = "%p = f32[] parameter(0)";
  check_forms({
      {module(kIds + "end_column=1 column=2, end_line=3, line=4"), kRoot},
      {module(kIds + "end_column=1 column=2, end_line=3"),
       "missing-attribute 7:3 the row needs 'line'\n"},
      {module(kIds + "line=1 line=2"), "duplicate-attribute 7:46 'line' is given twice\n"},
      {module(kIds + "lime=1"),
       "unknown-attribute 7:39 the row has no 'lime' (did you mean 'line'?)\n"},
      {module(kIds + "line=2147483648"),
       "number-out-of-range 7:44 the integer does not fit 32 bits\n"},
  });
}

}  // namespace
}  // namespace minihlo
