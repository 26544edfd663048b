#include "tools/case_run.h"

#include <numeric>

#include <fmt/format.h>

#include "ir/module_reader.h"
#include "ir/verifier.h"
#include "tools/comparison.h"
#include "tools/run_report.h"
#include "tools/source_lines.h"

namespace minihlo {
namespace {

CaseOutcome::Kind kind_of(Stop::Kind stop) {
  using Kind = CaseOutcome::Kind;
  switch (exit_code(stop)) {
    case ExitCode::kUnsupported:
      return Kind::kUnsupported;
    case ExitCode::kDiffers:
      return Kind::kFailed;
    case ExitCode::kUndecided:
      return Kind::kStopped;
    default:
      return Kind::kInvalid;
  }
}

}  // namespace

tl::expected<Mesh, std::string> run_mesh(const Module& module, const Case* item, int64_t replicas,
                                         int64_t partitions) {
  auto chosen = [&](int64_t flag, int64_t in_case, int64_t in_header) {
    return flag > 0 ? flag : in_case > 0 ? in_case : in_header;
  };
  return make_mesh(chosen(replicas, item ? item->replicas : 0, module.replica_count()),
                   chosen(partitions, item ? item->partitions : 0, module.num_partitions()));
}

std::vector<int> all_devices(const Mesh& mesh) {
  std::vector<int> devices(static_cast<size_t>(mesh.device_count()));
  std::iota(devices.begin(), devices.end(), 0);
  return devices;
}

tl::expected<std::vector<int>, std::string> devices_of_outputs(const Case& item, const Mesh& mesh) {
  if (item.devices) {
    for (const int device : *item.devices) {
      if (device < mesh.device_count()) continue;
      return tl::unexpected(
          fmt::format("outputs of device {} of a mesh of {}", device, mesh.device_count()));
    }
    return *item.devices;
  }
  return all_devices(mesh);
}

CaseOutcome run_case(const Case& item, const std::shared_ptr<const Source>& beside,
                     const RunOptions& options) {
  using Kind = CaseOutcome::Kind;
  auto invalid = [](std::string message) {
    return CaseOutcome{Kind::kInvalid, "", std::move(message), {}};
  };
  if (!item.wrong.empty()) return invalid(item.wrong);
  std::shared_ptr<const Source> source =
      item.module ? Source::from_string(item.name, *item.module) : beside;
  if (!source) return invalid("the case has no module, and there is no module.hlo beside it");
  Diagnostics diagnostics(source);
  std::unique_ptr<Module> module = parse_module(source, diagnostics);
  if (!module) return invalid(diagnostics.to_string());
  auto mesh = run_mesh(*module, &item, 0, 0);
  if (!mesh) return invalid(mesh.error());
  verify(*module, {mesh->replicas, mesh->partitions}, diagnostics);
  if (!diagnostics.ok()) return invalid(diagnostics.to_string());
  if (!item.inputs || !item.outputs) return invalid("the case has no inputs or no outputs");
  auto result = simulate(*module, *mesh, *item.inputs, options);
  if (!result) {
    Stop& stop = result.error();
    return {kind_of(stop.kind),
            std::move(stop.what),
            with_source_lines(stop.message, *module, diagnostics.source()),
            {}};
  }
  const auto devices = devices_of_outputs(item, *mesh);
  if (!devices) return invalid(devices.error());
  OutputDifference difference = compare_outputs(*mesh, output_leaves(*module), *devices,
                                                *item.outputs, result->outputs, item.rule);
  return {difference.text.empty() ? Kind::kPassed : Kind::kFailed, "", std::move(difference.text),
          result->stats};
}

}  // namespace minihlo
