// No bytes make the reader crash, hang or take much memory.
#include <doctest/doctest.h>

#include <chrono>
#include <random>

#include "ir/verifier.h"
#include "tests/ir/proto/proto_testing.h"

namespace minihlo {
namespace {

constexpr const char* kSample =
    R"(HloModule m, is_scheduled=true, input_output_alias={ {}: (0, {}, may-alias) }, entry_computation_layout={(f32[2,2]{1,0}, (s32[], token[]))->f32[2,2]{1,0}}, num_partitions=2, frontend_attributes={a={"q":1},z="1"}, origin_recovery_table={ {"a"} : {"b" {1}}, "ENTRY r { p = f32[] parameter(0) }" }

FileNames
1 "a.py"

FunctionNames
1 "f"

FileLocations
1 {file_name_id=1 function_name_id=1 line=3 end_line=3 column=0 end_column=9}

StackFrames
1 {file_location_id=1 parent_frame_id=1}


%add (x: f32[], y: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %s = f32[] add(%x, %y), metadata={op_name="a\"b" stack_frame_id=1}
}

ENTRY %e (p: f32[2,2], q: (s32[], token[])) -> f32[2,2] {
  %p = f32[2,2]{1,0:T(8,128)S(5)} parameter(0), sharding={devices=[2,1]<=[2]}
  %q = (s32[], token[]) parameter(1), sharding={{replicated}, {mesh['x'=2,'y'=2], [{'x', ?}], unreduced={'y'}}}
  %c = f32[2,2]{1,0} constant({ { 1, -2.5 }, { nan(0x1), inf } })
  %z = c64[2]{0} constant({(1, 2), (-0.0, nan)}), origin={{"a" {1}}}
  %s.1 = ((f32[2,2]), f32[1,2]) slice-start(%p), slice={[0:1], [0:2]}
  %d = f32[1,2] slice-done(%s.1)
  %g = f32[4,2] all-gather(f32[2,2] %p), channel_id=1, replica_groups=mesh['x'=2], device_ids=([2]) {'x'}, dimensions={0}
  %i = f32[] constant(0)
  %w = f32[2,2]{1,0} reduce-window(%p, %i), window={size=1x2 pad=0_0x0_1}, to_apply=add
  %k = f32[2,2] custom-call(%p), custom_call_target='x', backend_config={uplo = 76 : ui8}, literal=s32[1]{0} {1}, output_to_operand_aliasing={{}: (0, {})}
  ROOT %a = f32[2,2]{1,0} add(%p, %c), control-predecessors={%w}
}
)";

// A module, or a reason why not; and the module is one that the rest of the house can take.
void check(const std::string& bytes) {
  Read read(bytes);
  if (!read.module) {
    CHECK_FALSE(read.diagnostics.ok());
    return;
  }
  print_text(*read.module);
  written(*read.module);
  Diagnostics diagnostics;
  verify(*read.module, {}, diagnostics);
}

TEST_CASE("hostile protos: the sample itself is well") {
  CHECK(through_proto(kSample) == reprinted(kSample));
}

TEST_CASE("hostile protos: cut at every byte") {
  const std::string bytes = written(*Parsed(kSample).module);
  for (size_t size = 0; size < bytes.size(); ++size) {
    CAPTURE(size);
    check(bytes.substr(0, size));
  }
}

TEST_CASE("hostile protos: every bit flipped") {
  const std::string bytes = written(*Parsed(kSample).module);
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      CAPTURE(i);
      CAPTURE(bit);
      std::string changed = bytes;
      changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
      check(changed);
    }
  }
}

TEST_CASE("hostile protos: random changes") {
  const auto seed =
      static_cast<uint32_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  CAPTURE(seed);
  std::mt19937 random(seed);
  const std::string bytes = written(*Parsed(kSample).module);
  for (int round = 0; round < 5000; ++round) {
    std::string changed = bytes;
    const int changes = 1 + static_cast<int>(random() % 4);
    for (int i = 0; i < changes; ++i) {
      const size_t at = random() % changed.size();
      switch (random() % 4) {
        case 0:
          changed[at] = static_cast<char>(random());
          break;
        case 1:
          changed.erase(at, 1 + random() % 8);
          break;
        case 2:
          changed.insert(at, changed.substr(random() % changed.size(), random() % 40));
          break;
        default:
          changed.insert(at, 1, '\xff');
          break;
      }
      if (changed.empty()) break;
    }
    check(changed);
  }
}

TEST_CASE("hostile protos: nested without end") {
  auto delimited = [](const char* tag, const std::string& value) {
    std::string length;
    for (size_t size = value.size(); size > 0 || length.empty(); size >>= 7) {
      length += static_cast<char>((size & 0x7f) | (size > 0x7f ? 0x80 : 0));
    }
    return tag + length + value;
  };
  // A tuple of a tuple of ..., deeper than any limit; as HloModuleProto.host_program_shape.result.
  std::string shape = "\x10\x0b";
  for (int i = 0; i < 3000; ++i) shape = "\x10\x0d" + delimited("\x22", shape);
  Read read("\x0a\x01m" + delimited("\x22", delimited("\x12", shape)));
  CHECK_FALSE(read.module);
  CHECK(read.diagnostics.to_string().find("nested more than") != std::string::npos);
}

}  // namespace
}  // namespace minihlo
