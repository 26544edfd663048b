#include "tools/case_run.h"

#include <fmt/format.h>

#include "ir/module_reader.h"
#include "ir/verifier.h"
#include "sim/walk.h"

namespace minihlo {
namespace {

// "[1,0,2]" for element `index` of a tensor.
std::string index_text(const HostTensor& tensor, int64_t index) {
  std::string text;
  for (size_t i = tensor.dims.size(); i-- > 0;) {
    text = fmt::format("{}{}{}", index % tensor.dims[i], text.empty() ? "" : ",", text);
    index /= tensor.dims[i];
  }
  return "[" + text + "]";
}

}  // namespace

std::string compare_outputs(const Mesh& mesh, const std::vector<std::vector<HostTensor>>& expected,
                            const std::vector<std::vector<HostTensor>>& actual,
                            const CompareRule& rule) {
  if (expected.size() != actual.size()) {
    return fmt::format("expected outputs of {} devices, got {}", expected.size(), actual.size());
  }
  for (size_t device = 0; device < expected.size(); ++device) {
    std::string name = device_name(mesh, static_cast<int64_t>(device));
    if (expected[device].size() != actual[device].size()) {
      return fmt::format("{}: expected {} outputs, got {}", name, expected[device].size(),
                         actual[device].size());
    }
    for (size_t i = 0; i < expected[device].size(); ++i) {
      const HostTensor& wanted = expected[device][i];
      Difference difference = compare(wanted, actual[device][i], rule);
      if (!difference.what.empty()) {
        return fmt::format("{}, output {}: {}", name, i, difference.what);
      }
      if (difference.count == 0) continue;
      return fmt::format("{}, output {}, element {}: expected {}, got {} ({} of {} differ)", name,
                         i, index_text(wanted, difference.index), difference.expected,
                         difference.actual, difference.count, wanted.element_count());
    }
  }
  return "";
}

tl::expected<Mesh, std::string> run_mesh(const Module& module, const Case* item, int64_t replicas,
                                         int64_t partitions) {
  auto chosen = [&](int64_t flag, int64_t in_case, int64_t in_header) {
    return flag > 0 ? flag : in_case > 0 ? in_case : in_header;
  };
  return make_mesh(chosen(replicas, item ? item->replicas : 0, module.replica_count()),
                   chosen(partitions, item ? item->partitions : 0, module.num_partitions()));
}

CaseOutcome run_case(const Case& item, const std::shared_ptr<const Source>& beside,
                     const RunOptions& options) {
  using Kind = CaseOutcome::Kind;
  auto failed = [](std::string message) {
    return CaseOutcome{Kind::kFailed, "", std::move(message), {}};
  };
  std::shared_ptr<const Source> source =
      item.module ? Source::from_string(item.name, *item.module) : beside;
  if (!source) return failed("the case has no module, and there is no module.hlo beside it");
  Diagnostics diagnostics(source);
  std::unique_ptr<Module> module = parse_module(source, diagnostics);
  if (!module) return failed(diagnostics.to_string());
  auto mesh = run_mesh(*module, &item, 0, 0);
  if (!mesh) return failed(mesh.error());
  verify(*module, {mesh->replicas, mesh->partitions}, diagnostics);
  if (!diagnostics.ok()) return failed(diagnostics.to_string());
  if (!item.inputs || !item.outputs) return failed("the case has no inputs or no outputs");
  auto result = simulate(*module, *mesh, *item.inputs, options);
  if (!result) {
    bool unsupported = result.error().kind == Stop::Kind::kUnsupported;
    return {unsupported ? Kind::kUnsupported : Kind::kFailed,
            result.error().what,
            result.error().message,
            {}};
  }
  std::string wrong = compare_outputs(*mesh, *item.outputs, result->outputs, item.rule);
  return {wrong.empty() ? Kind::kPassed : Kind::kFailed, "", std::move(wrong), result->stats};
}

}  // namespace minihlo
