// What is wrong with a proto is said with its place.
#include <doctest/doctest.h>

#include <functional>

#include <fmt/format.h>

#include "ir/proto/writer.h"
#include "tests/ir/proto/proto_testing.h"

namespace minihlo::proto {
namespace {

using Fill = std::function<void(Writer&)>;

void write_scalar(Writer& out, Field field) {
  out.message(field, [](Writer& shape) { shape.integer(ShapeProto::element_type, 11); });
}

Fill instruction(std::string_view name, std::string_view opcode, int64_t id, Fill more = {}) {
  return [=](Writer& out) {
    out.text(HloInstructionProto::name, name);
    out.text(HloInstructionProto::opcode, opcode);
    write_scalar(out, HloInstructionProto::shape);
    out.integer(HloInstructionProto::id, id);
    if (more) more(out);
  };
}

Fill operands(std::vector<int64_t> ids) {
  return [=](Writer& out) { out.integers<int64_t>(HloInstructionProto::operand_ids, ids); };
}

// A field of any wire type, as bytes.
std::string raw(uint32_t number, uint32_t wire_type, std::string_view value) {
  std::string bytes;
  for (uint32_t tag = number << 3 | wire_type; tag > 0; tag >>= 7) {
    bytes += static_cast<char>((tag & 0x7f) | (tag > 0x7f ? 0x80 : 0));
  }
  return bytes + std::string(value);
}

// A HloModuleProto with one computation of these instructions, whose root is number 1.
std::string module_of(const std::vector<Fill>& instructions, Fill more = {}) {
  std::string bytes;
  Writer out(bytes);
  out.text(HloModuleProto::name, "m");
  out.message(HloModuleProto::computations, [&](Writer& computation) {
    computation.text(HloComputationProto::name, "main");
    for (const Fill& fill : instructions) {
      computation.message(HloComputationProto::instructions, fill);
    }
    computation.integer(HloComputationProto::id, 5);
    computation.integer(HloComputationProto::root_id, 1);
  });
  out.message(HloModuleProto::host_program_shape, [](Writer& shape) {
    write_scalar(shape, ProgramShapeProto::parameters);
    write_scalar(shape, ProgramShapeProto::result);
  });
  out.integer(HloModuleProto::entry_computation_id, 5);
  if (more) more(out);
  return bytes;
}

const Fill kParameter = instruction("p", "parameter", 1);

void check_says(const std::string& bytes, std::string_view message, std::string_view rule) {
  CAPTURE(message);
  Read read(bytes);
  const std::string said = read.diagnostics.to_string();
  CAPTURE(said);
  CHECK(said.find(message) != std::string::npos);
  CHECK(said.find(rule) != std::string::npos);
}

TEST_CASE("proto errors: the module they are made of is well") {
  Read read(module_of({kParameter}));
  CHECK(read.diagnostics.to_string() == "");
  CHECK(read.text().find("ROOT %p = f32[] parameter(0)") != std::string::npos);
}

TEST_CASE("proto errors: instructions") {
  auto says = [](const Fill& second, std::string_view message, std::string_view rule) {
    check_says(module_of({kParameter, second}), message, rule);
  };
  const std::string at = "computations[0] (%main).instructions[1] (%x)";
  says(instruction("x", "add", 2, operands({1, 77})),
       at + ".operand_ids[1]: no instruction 77 stands before this one", "unknown-id");
  says(instruction("x", "add", 2, operands({1})), "'add' takes 2 operands, not 1", "operand-count");
  says(instruction("x", "addd", 2), at + ".opcode: there is no opcode 'addd'", "unknown-opcode");
  says(instruction("", "negate", 2, operands({1})), "name: a name is missing", "missing-field");
  says(instruction("x", "negate", 1, operands({1})), "the computation has an instruction 1 already",
       "duplicate-id");
  says(instruction("x", "negate", -4, operands({1})), "an id can't be -4", "invalid-id");
  says(instruction("x", "parameter", 2), "the computation has a parameter 0 already",
       "duplicate-parameter");
  says(instruction("x", "parameter", 2,
                   [](Writer& out) { out.integer(HloInstructionProto::parameter_number, 9); }),
       "there can't be a parameter 9 among 2 instructions", "invalid-parameter");
  says(instruction("x", "call", 2,
                   [](Writer& out) {
                     operands({1})(out);
                     out.integers<int64_t>(HloInstructionProto::called_computation_ids,
                                           std::vector<int64_t>{8});
                   }),
       at + ".called_computation_ids[0]: no computation 8 stands before this one", "unknown-id");
  says(instruction("x", "call", 2, operands({1})), "'call' calls 1 computation, not 0",
       "called-computations");
  says(instruction("x", "compare", 2, operands({1, 1})),
       "'compare' needs the attribute 'direction'", "missing-attribute");
  says(instruction("x", "compare", 2,
                   [](Writer& out) {
                     operands({1, 1})(out);
                     out.text(HloInstructionProto::comparison_direction, "XX");
                   }),
       at + ".comparison_direction: 'XX' is no value of it", "unknown-value");
  says(instruction("x", "rng", 2,
                   [](Writer& out) {
                     operands({1, 1})(out);
                     out.integer(HloInstructionProto::distribution, 7);
                   }),
       "RandomDistribution has no value 7", "unknown-value");
  says(instruction("x", "constant", 2,
                   [](Writer& out) {
                     out.message(HloInstructionProto::literal, [](Writer& literal) {
                       write_scalar(literal, LiteralProto::shape);
                       literal.fixed(LiteralProto::f32s, std::string_view("12345678", 8));
                     });
                   }),
       "literal.f32s: f32[] needs 1 elements, not 2", "literal-size");
  says(instruction("x", "negate", 2,
                   [](Writer& out) {
                     operands({1})(out);
                     out.message(HloInstructionProto::sharding,
                                 [](Writer& sharding) { sharding.integer(OpSharding::type, 9); });
                   }),
       at + ".sharding.type: there is no sharding of type 9", "unknown-value");
  says(instruction("x", "async-done", 2, operands({1})),
       "the operand must be an async-start or async-update, not 'p'", "async-chain");
}

TEST_CASE("proto errors: shapes") {
  auto says = [](const Fill& shape, std::string_view message, std::string_view rule) {
    check_says(module_of({kParameter,
                          [&](Writer& out) {
                            out.text(HloInstructionProto::name, "x");
                            out.text(HloInstructionProto::opcode, "after-all");
                            out.message(HloInstructionProto::shape, shape);
                          }}),
               message, rule);
  };
  says([](Writer&) {}, "shape.element_type: there is no type of number 0", "unknown-type");
  says([](Writer& out) { out.integer(ShapeProto::element_type, 99); },
       "there is no type of number 99", "unknown-type");
  says(
      [](Writer& out) {
        out.integer(ShapeProto::element_type, 11);
        out.integers<int64_t>(ShapeProto::dimensions, std::vector<int64_t>{2, -3});
      },
      "shape.dimensions[1]: a dimension can't be -3", "negative-dimension");
  says(
      [](Writer& out) {
        out.integer(ShapeProto::element_type, 11);
        out.integers<int64_t>(ShapeProto::dimensions, std::vector<int64_t>(3, int64_t{1} << 40));
      },
      "an array of 2^63 bytes or more", "shape-too-large");
  says(
      [](Writer& out) {
        out.integer(ShapeProto::element_type, 11);
        out.integers<int64_t>(ShapeProto::dimensions, std::vector<int64_t>{2, 3});
        out.message(ShapeProto::layout, [](Writer& layout) {
          layout.integers<int64_t>(LayoutProto::minor_to_major, std::vector<int64_t>{0, 0});
        });
      },
      "shape.layout.minor_to_major: {0,0} does not order 2 dimensions", "invalid-layout");
  says(
      [](Writer& out) {
        out.integer(ShapeProto::element_type, 11);
        out.integers<int64_t>(ShapeProto::dimensions, std::vector<int64_t>{2, 3});
        out.message(ShapeProto::layout, [](Writer& layout) {
          layout.integers<int64_t>(LayoutProto::minor_to_major, std::vector<int64_t>{0});
        });
      },
      "shape.layout.minor_to_major: {0} does not order 2 dimensions", "invalid-layout");
}

TEST_CASE("proto errors: the module") {
  check_says("", "there are no computations", "missing-field");
  check_says(module_of({}), "a computation needs an instruction", "empty-computation");
  check_says(module_of({instruction("p", "parameter", 3)}), "the computation has no instruction 1",
             "unknown-id");
  check_says(module_of({kParameter},
                       [](Writer& out) { out.integer(HloModuleProto::entry_computation_id, 6); }),
             "entry_computation_id: the module has no computation 6", "unknown-id");
  auto schedule = [](std::vector<int64_t> ids) {
    return [=](Writer& out) {
      out.message(HloModuleProto::schedule, [&](Writer& inner) {
        inner.message(HloScheduleProto::sequences, [&](Writer& entry) {
          entry.integer(SequencesEntry::key, 5);
          entry.message(SequencesEntry::value, [&](Writer& sequence) {
            sequence.integers<int64_t>(InstructionSequence::instruction_ids, ids);
          });
        });
      });
    };
  };
  const std::vector<Fill> two{kParameter, instruction("n", "negate", 2, operands({1}))};
  check_says(module_of(two, schedule({2, 1})), "'n' is scheduled before 'p', which it needs",
             "invalid-schedule");
  check_says(module_of(two, schedule({1})), "'main' has 2 instructions, and 1 are scheduled",
             "invalid-schedule");
  check_says(module_of(two, schedule({1, 1})), "'p' is scheduled twice", "invalid-schedule");
}

TEST_CASE("proto errors: calls, order and names") {
  // A computation that calls itself, or one that comes later, calls one that isn't there yet.
  for (int64_t callee : {5, 6}) {
    check_says(module_of({kParameter, instruction("x", "call", 2,
                                                  [&](Writer& out) {
                                                    operands({1})(out);
                                                    out.integers<int64_t>(
                                                        HloInstructionProto::called_computation_ids,
                                                        std::vector<int64_t>{callee});
                                                  })}),
               fmt::format("no computation {} stands before this one", callee), "unknown-id");
  }
  check_says(
      module_of({instruction("x", "negate", 1, operands({2})), instruction("p", "parameter", 2)}),
      "(%x).operand_ids[0]: no instruction 2 stands before this one", "unknown-id");
  check_says(module_of({kParameter, instruction("x", "negate", 2, operands({-1}))}),
             "no instruction -1 stands before this one", "unknown-id");
  check_says(module_of({kParameter, instruction("p", "negate", 2, operands({1}))}),
             "instructions[1] (%p).name: an instruction named 'p' is there already",
             "duplicate-name");
  auto again = [](std::string_view name, int64_t id) {
    return [=](Writer& out) {
      out.message(HloModuleProto::computations, [&](Writer& computation) {
        computation.text(HloComputationProto::name, name);
        computation.message(HloComputationProto::instructions, instruction("q", "parameter", 1));
        computation.integer(HloComputationProto::id, id);
        computation.integer(HloComputationProto::root_id, 1);
      });
    };
  };
  CHECK(Read(module_of({kParameter}, again("other", 6))).diagnostics.to_string() == "");
  check_says(module_of({kParameter}, again("other", 5)), "the module has a computation 5 already",
             "duplicate-id");
  check_says(module_of({kParameter}, again("main", 6)),
             "computations[1] (%main).name: a computation named 'main' is there already",
             "duplicate-name");
}

TEST_CASE("proto: what stands twice counts as protobuf has it") {
  // The last of single values counts, and messages are merged.
  auto shape = [](std::vector<int64_t> dims, bool typed) {
    return [=](Writer& out) {
      out.message(HloInstructionProto::shape, [&](Writer& inner) {
        if (typed) inner.integer(ShapeProto::element_type, 11);
        inner.integers<int64_t>(ShapeProto::dimensions, dims);
      });
    };
  };
  Read read(module_of({[&](Writer& out) {
    out.text(HloInstructionProto::name, "first");
    out.text(HloInstructionProto::opcode, "negate");
    shape({2, 3}, true)(out);
    out.integer(HloInstructionProto::id, 9);
    out.text(HloInstructionProto::opcode, "parameter");
    shape({4}, false)(out);
    out.integer(HloInstructionProto::id, 1);
    out.text(HloInstructionProto::name, "last");
  }}));
  CHECK(read.text().find("ROOT %last = f32[2,3,4]{2,1,0} parameter(0)") != std::string::npos);
  CHECK(read.diagnostics.to_string() == "");
}

TEST_CASE("proto: numbers packed, one by one, and both") {
  const std::string dimensions[] = {raw(14, 2, std::string("\x02\x00\x01", 3)),
                                    raw(14, 0, std::string("\x00", 1)) + raw(14, 0, "\x01"),
                                    raw(14, 2, std::string("\x01\x00", 2)) +
                                        raw(14, 2, std::string("\x00", 1)) + raw(14, 0, "\x01"),
                                    // A number may be written longer than it need be.
                                    raw(14, 2, std::string("\x04\x80\x00\x81\x00", 5))};
  for (const std::string& bytes : dimensions) {
    Read read(module_of({[&](Writer& out) {
      out.append(bytes);
      instruction("c", "constant", 1)(out);
    }}));
    CHECK(read.diagnostics.to_string().find("'dimensions' of HloInstructionProto is not taken") !=
          std::string::npos);
    Read transposed(module_of({kParameter, [&](Writer& out) {
                                 out.text(HloInstructionProto::name, "t");
                                 out.text(HloInstructionProto::opcode, "transpose");
                                 write_scalar(out, HloInstructionProto::shape);
                                 out.integer(HloInstructionProto::id, 2);
                                 operands({1})(out);
                                 out.append(bytes);
                               }}));
    CHECK(transposed.text().find("transpose(%p), dimensions={0,1}") != std::string::npos);
  }
}

TEST_CASE("proto errors: a file that is cut says where, and in which message") {
  std::string whole;
  Writer(whole).message(HloProto::hlo_module, [&](Writer& out) {
    out.append(module_of({kParameter, instruction("n", "negate", 2, operands({1}))}));
  });
  const size_t name = whole.find("negate") - 2;
  check_says(whole.substr(0, name + 4),
             fmt::format("@0: error: these bytes are no HloProto: 'hlo_module' is cut: it has {} "
                         "bytes, and {} are left [",
                         whole.size() - 2, name + 2),
             "malformed-message");
  // A message that says that it is shorter than what is in it.
  std::string short_one = whole;
  const size_t instruction_begin = whole.rfind('\x12', name - 1);
  short_one[instruction_begin + 1] = 6;
  check_says(short_one,
             fmt::format("@{}: error: hlo_module.computations[0] (%main).instructions[1]: these "
                         "bytes are no HloInstructionProto: 'opcode' is cut: it has 6 bytes, and 1 "
                         "are left [",
                         name),
             "malformed-message");
  // Numbers in one piece, of which the last is cut.
  check_says(module_of({kParameter,
                        instruction("n", "negate", 2,
                                    [](Writer& out) { out.append(raw(36, 2, "\x02\x01\x81")); })}),
             "instructions[1] (%n).operand_ids: the last number is cut [", "malformed-message");
}

TEST_CASE("proto errors: bytes that are no message") {
  auto says = [](const std::string& bytes, std::string_view why) {
    const std::string whole = module_of({kParameter});
    check_says(whole + bytes, fmt::format("these bytes are no HloModuleProto: {} [", why),
               "malformed-message");
    check_says(whole + bytes, fmt::format("@{}", whole.size()), "malformed-message");
  };
  constexpr std::string_view kElevenBytes = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
  says(raw(3, 2, "\xff\xff\xff\xff\x07"),
       "'computations' is cut: it has 2147483647 bytes, and 0 are left");
  says(raw(3, 2,
           "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
           "ab"),
       "'computations' is cut: it has 4294967295 bytes, and 2 are left");
  says(raw(3, 2, "\x80"), "the length of 'computations' is cut");
  says(raw(3, 2, kElevenBytes), "the length of 'computations' has more than 10 bytes");
  says(raw(5, 0, kElevenBytes), "the number in 'id' has more than 10 bytes");
  says(raw(5, 0, ""), "the number in 'id' is cut");
  says(raw(77, 0, ""), "the number in field 77 is cut");
  says(raw(5, 1, "1234567"), "'id' is cut: it has 8 bytes, and 7 are left");
  says(raw(5, 5, "123"), "'id' is cut: it has 4 bytes, and 3 are left");
  says(raw(99, 3, ""), "field 99 is a group, which XLA never writes");
  says(raw(99, 4, ""), "field 99 is a group, which XLA never writes");
  says(raw(99, 6, ""), "field 99 has wire type 6, which there is not");
  says(std::string("\x00\x01", 2), "there is no field number 0");
  says(raw(19000, 0, "1"), "there is no field number 19000");
  says("\xff", "the number of a field is cut");
  says(std::string(kElevenBytes), "the number of a field has more than 10 bytes");
  // A field of another wire type is one that nobody knows.
  Read read(module_of({kParameter}) + raw(5, 2, std::string("\x01\x01", 2)));
  CHECK(read.module);
  CHECK(read.diagnostics.to_string().find("an unknown field 5") != std::string::npos);
}

TEST_CASE("proto: bytes of strings that are no UTF-8 are kept") {
  const std::string name = "a\xff\xc3";
  Read read(module_of({instruction("p", "parameter", 1, [&](Writer& out) {
    out.message(HloInstructionProto::metadata,
                [&](Writer& metadata) { metadata.text(OpMetadata::op_name, name); });
  })}));
  REQUIRE(read.module);
  CHECK(through_proto(read.text()) == read.text());
  std::span<const Attribute> metadata = read.module->entry()->root()->get(attr::metadata);
  CHECK(get(metadata, attr::op_name) == name);
}

TEST_CASE("proto: what is not taken over is said once") {
  const std::string bytes = module_of({kParameter}, [](Writer& out) {
    out.integer(HloModuleProto::use_auto_spmd_partitioning, 1);
    out.text(HloModuleProto::device_type, "tpu");
  });
  Read read(bytes + std::string("\xf8\x3f\x01", 3));  // field 1023
  REQUIRE(read.module);
  const std::string said = read.diagnostics.to_string();
  CHECK(said.find("'use_auto_spmd_partitioning' of HloModuleProto is not taken over") !=
        std::string::npos);
  CHECK(said.find("'device_type' of HloModuleProto is not taken over") != std::string::npos);
  CHECK(said.find("HloModuleProto has an unknown field 1023") != std::string::npos);
  CHECK(read.diagnostics.all().size() == 3);
}

TEST_CASE("proto: files are told apart by what is in them") {
  const std::string module = module_of({kParameter});
  const std::string text = Read(module).text();
  auto wrapped = [](Field field, const std::string& inner, const Fill& more = {}) {
    std::string bytes;
    Writer out(bytes);
    out.text(field, inner);
    if (more) more(out);
    return bytes;
  };
  const std::string hlo = wrapped(HloProto::hlo_module, module);
  CHECK(Read(hlo).text() == text);
  CHECK(Read(wrapped(HloSnapshot::hlo, hlo)).text() == text);
  Read unoptimized(wrapped(HloUnoptimizedSnapshot::hlo_module, module, [](Writer& out) {
    out.message(HloUnoptimizedSnapshot::partitions,
                [](Writer& inputs) { inputs.message(HloProto::hlo_module, [](Writer&) {}); });
    out.integer(HloUnoptimizedSnapshot::version, 1);
  }));
  CHECK(unoptimized.text() == text);
  CHECK(unoptimized.diagnostics.to_string().find("'partitions' of HloUnoptimizedSnapshot") !=
        std::string::npos);
}

TEST_CASE("proto: comparisons of old files have opcodes of their own") {
  Read read(module_of(
      {instruction("p", "parameter", 3), instruction("x", "less-than", 1, operands({3, 3}))}));
  CHECK(read.text().find("compare(%p, %p), direction=LT") != std::string::npos);
}

TEST_CASE("proto: of a field with one value the last one counts") {
  Read read(module_of({instruction("p", "no-opcode", 1, [](Writer& out) {
    out.text(HloInstructionProto::opcode, "parameter");
    out.message(HloInstructionProto::shape,
                [](Writer& shape) { shape.integer(ShapeProto::element_type, 4); });
  })}));
  CHECK(read.text().find("ROOT %p = s32[] parameter(0)") != std::string::npos);
}

TEST_CASE("proto: names that text can't carry are changed") {
  Read read(module_of({instruction("a b", "parameter", 1)}));
  REQUIRE(read.module);
  CHECK(read.module->entry()->root()->name() == "a_b");
  CHECK(read.diagnostics.to_string().find("'a b' can't be a name in text") != std::string::npos);
}

TEST_CASE("proto: ids of newer versions have the computation above") {
  const int64_t high = int64_t{5} << 32;
  Read read(module_of({instruction("p", "parameter", high | 3),
                       instruction("x", "negate", high | 1, operands({high | 3}))}));
  CHECK(read.text().find("ROOT %x = f32[] negate(%p)") != std::string::npos);
}

}  // namespace
}  // namespace minihlo::proto
