#include "tools/equivalence_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/walk.h"

namespace minihlo {
namespace {

using prove::Counterexample;
using prove::EquivalenceResult;

// Elements of the inputs that the text lists.
constexpr size_t kListedInputs = 20;

template <class Texts>
Json list(const Texts& texts) {
  Json json = Json::array();
  for (const auto& text : texts) json.push(text);
  return json;
}

std::string counterexample_text(const Counterexample& found, const Mesh& mesh) {
  std::string out;
  if (!found.report.empty()) {
    out += fmt::format("  {}\n", found.report);
  } else {
    out += fmt::format("  {}, output {} {}, index [{}]\n", device_name(mesh, found.device),
                       found.output, found.output_shape, fmt::join(found.index, ","));
    const char* names[2] = {"first ", "second"};
    for (int side = 0; side < 2; ++side) {
      out += fmt::format("    {}  {}", names[side], found.values[side]);
      if (!found.paths[side].empty()) out += fmt::format("    from {}", found.paths[side]);
      out += '\n';
    }
  }
  if (!found.inputs.empty()) out += "  inputs, zero but for\n";
  for (size_t i = 0; i < found.inputs.size(); ++i) {
    if (i == kListedInputs) {
      out += fmt::format("    ... and {} more (--json lists all)\n", found.inputs.size() - i);
      break;
    }
    const prove::InputElement& input = found.inputs[i];
    out += fmt::format("    {}, parameter leaf {}, element {}: {}\n",
                       device_name(mesh, input.device), input.parameter, input.index, input.value);
  }
  out += fmt::format("  replayed: {}\n", found.replay);
  return out;
}

Json counterexample_json(const Counterexample& found, const Mesh& mesh) {
  Json json = Json::object();
  if (!found.report.empty()) {
    json.set("report", found.report);
  } else {
    json.set("device", found.device);
    json.set("replica", mesh.replica(found.device));
    json.set("partition", mesh.partition(found.device));
    json.set("output", found.output);
    json.set("index", list(found.index));
    json.set("values", list(found.values));
    json.set("paths", list(found.paths));
  }
  Json inputs = Json::array();
  for (const prove::InputElement& input : found.inputs) {
    Json element = Json::object();
    element.set("device", input.device);
    element.set("parameter", input.parameter);
    element.set("element", input.index);
    element.set("value", input.value);
    inputs.push(std::move(element));
  }
  json.set("inputs", std::move(inputs));
  json.set("replay", found.replay);
  return json;
}

}  // namespace

std::string equivalence_text(const EquivalenceResult& result, const Mesh& mesh) {
  std::string out = fmt::format("{}: {}\n", to_string(result.verdict), result.reason);
  if (result.verdict == prove::Verdict::kProved ||
      result.verdict == prove::Verdict::kProvedUpToRounding) {
    out += fmt::format("  {} outputs on {} replica{} x {} partition{}, {} terms\n", result.outputs,
                       mesh.replicas, mesh.replicas == 1 ? "" : "s", mesh.partitions,
                       mesh.partitions == 1 ? "" : "s", result.terms);
  }
  if (!result.rules.empty()) out += fmt::format("  rules: {}\n", fmt::join(result.rules, ", "));
  for (const std::string& assumption : result.assumptions) {
    out += fmt::format("  assumed: {}\n", assumption);
  }
  if (result.counterexample) out += counterexample_text(*result.counterexample, mesh);
  return out;
}

Json equivalence_json(const EquivalenceResult& result, const Mesh& mesh) {
  Json json = Json::object();
  json.set("verdict", to_string(result.verdict));
  json.set("reason", result.reason);
  json.set("replicas", mesh.replicas);
  json.set("partitions", mesh.partitions);
  json.set("outputs", result.outputs);
  json.set("terms", result.terms);
  json.set("tests", result.tests);
  json.set("assumptions", list(result.assumptions));
  json.set("rules", list(result.rules));
  if (!result.relaxations.empty()) json.set("relaxations", list(result.relaxations));
  if (!result.unsupported.empty()) json.set("unsupported", result.unsupported);
  if (result.counterexample) {
    json.set("counterexample", counterexample_json(*result.counterexample, mesh));
  }
  return json;
}

}  // namespace minihlo
