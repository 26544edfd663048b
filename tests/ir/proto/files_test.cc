// Protos that XLA itself has written mean the text that XLA wrote beside them.
#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "ir/module_reader.h"
#include "ir/text/printer.h"
#include "tests/paths.h"

namespace minihlo {
namespace {

std::unique_ptr<Module> read(const std::string& name, Diagnostics& diagnostics) {
  std::string error;
  auto source =
      Source::from_file((testing::source_folder() / "data" / "protos" / name).string(), error);
  REQUIRE_MESSAGE(source, error);
  return parse_module(source, diagnostics);
}

// What text says of the configuration and XLA's HloProto does not.
void take_configuration(Module& to, const Module& from) {
  for (AttributeId id : {AttributeId::replica_count, AttributeId::num_partitions,
                         AttributeId::allow_spmd_sharding_propagation_to_parameters,
                         AttributeId::allow_spmd_sharding_propagation_to_output,
                         AttributeId::alias_passthrough_params}) {
    if (const Attribute* value = find_attribute(from.attributes(), id)) to.set(*value);
  }
}

std::string without_stack_frames(std::string text) {
  constexpr std::string_view kKey = "stack_frame_id=", kEmpty = ", metadata={}";
  for (size_t at = 0; (at = text.find(kKey, at)) != std::string::npos;) {
    size_t begin = at - (text[at - 1] == ' ' ? 1 : 0);
    size_t end = text.find_first_not_of("0123456789", at + kKey.size());
    text.erase(begin, end - begin);
    at = begin;
  }
  for (size_t at = 0; (at = text.find(kEmpty, at)) != std::string::npos;) {
    text.erase(at, kEmpty.size());
  }
  return text;
}

constexpr const char* kDevices = "'computation_devices' of DeviceAssignmentProto";
constexpr const char* kOutput = "'spmd_output_sharding' of HloModuleProto";
constexpr const char* kParameters = "'spmd_parameters_shardings' of HloModuleProto";
constexpr const char* kBuffers = "'buffer_assignment' of HloProto";

TEST_CASE("proto: files of XLA mean the text beside them") {
  struct Case {
    std::string name;
    std::string ending;
    int64_t partitions;  // as the proto says
    std::vector<const char*> notes;
  };
  const Case cases[] = {
      {"jaxlib_0.4.26_narrow", ".hlo.pb", 2, {kDevices, kOutput, kParameters, kBuffers}},
      {"jaxlib_0.4.31_halo", ".pbtxt", 6, {kDevices}},
      {"jaxlib_0.6.2_mlp_tp", ".hlo.pb", 8, {kDevices, kOutput, kParameters}},
      {"jaxlib_0.8.1_mlp_tp", ".hlo.pb.gz", 8, {kDevices}},
      {"jaxlib_0.10.2_mlp_tp", ".hlo.pb", 8, {kDevices, kOutput, kParameters, kBuffers}},
      {"torch_xla_all_collectives", ".hlo.pb", 1, {kDevices}},
      {"tensorflow_lstm_loop", ".hlo.pb", 1, {}},
  };
  for (const Case& one : cases) {
    CAPTURE(one.name);
    Diagnostics of_text, of_proto;
    auto text = read(one.name + ".hlo", of_text);
    auto proto = read(one.name + one.ending, of_proto);
    REQUIRE(text);
    REQUIRE(proto);
    CHECK(proto->num_partitions() == one.partitions);
    std::vector<std::string> notes;
    for (const Diagnostic& note : of_proto.all()) notes.push_back(note.message);
    CHECK(notes.size() == one.notes.size());
    for (size_t i = 0; i < notes.size() && i < one.notes.size(); ++i) {
      CHECK(notes[i] == one.notes[i] + std::string(" is not taken over"));
    }
    take_configuration(*proto, *text);
    if (!text->stack_frames().empty()) {
      CHECK(print_text(*proto) == print_text(*text));
      continue;
    }
    // Versions before 2025 print no tables of stack frames.
    proto->stack_frames() = {};
    CHECK(without_stack_frames(print_text(*proto)) == without_stack_frames(print_text(*text)));
  }
}

}  // namespace
}  // namespace minihlo
