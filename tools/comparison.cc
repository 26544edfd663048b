#include "tools/comparison.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/row_major.h"
#include "sim/walk.h"

namespace minihlo {
namespace {

// The bits of an element, highest first: "0x7fc00001".
std::string bits_text(const HostTensor& tensor, int64_t index) {
  const int64_t width = info(tensor.type).bytes;
  std::string text = "0x";
  for (int64_t i = width; i-- > 0;) {
    text += fmt::format("{:02x}", static_cast<uint8_t>(tensor.data.get()[index * width + i]));
  }
  return text;
}

void set_values(const HostTensor& expected, const HostTensor& actual, int64_t index,
                std::string& expected_text, std::string& actual_text) {
  expected_text = element_text(expected, index);
  actual_text = element_text(actual, index);
  if (expected_text != actual_text) return;
  expected_text += fmt::format(" ({})", bits_text(expected, index));
  actual_text += fmt::format(" ({})", bits_text(actual, index));
}

std::string distance_text(const OutputDifference& difference) {
  if (difference.ulps == 0) return fmt::format("{:.6g}", difference.distance);
  return fmt::format("{:.6g}, {:.0f} ulp", difference.distance, difference.ulps);
}

std::string text_of(const Mesh& mesh, const OutputDifference& found) {
  std::string text = fmt::format(
      "{}, output {}, element [{}]: expected {}, got {} ({} of {} differ",
      device_name(mesh, found.device), std::string_view(found.output).substr(1),
      fmt::join(found.index, ","), found.expected, found.actual, found.count, found.elements);
  if (found.count > 1) {
    text += fmt::format("; most at [{}]: expected {}, got {}", fmt::join(found.worst, ","),
                        found.worst_expected, found.worst_actual);
  }
  text += fmt::format(", by {})", distance_text(found));
  if (found.outputs > 1) text += fmt::format("; {} outputs differ in all", found.outputs);
  return text;
}

Json numbers(const std::vector<int64_t>& values) {
  Json list = Json::array();
  for (const int64_t value : values) list.push(value);
  return list;
}

}  // namespace

OutputDifference compare_outputs(const Mesh& mesh, std::span<const LeafName> leaves,
                                 std::span<const int> devices,
                                 const std::vector<std::vector<HostTensor>>& expected,
                                 const std::vector<std::vector<HostTensor>>& actual,
                                 const CompareRule& rule) {
  OutputDifference found;
  if (expected.size() != devices.size()) {
    found.text =
        fmt::format("expected outputs of {} devices, got {}", expected.size(), devices.size());
    return found;
  }
  for (size_t position = 0; position < devices.size(); ++position) {
    const int device = devices[position];
    const std::vector<HostTensor>& wanted = expected[position];
    const std::vector<HostTensor>& outputs = actual[static_cast<size_t>(device)];
    if (wanted.size() != outputs.size()) {
      if (found.outputs > 0) continue;
      found.text = fmt::format("{}: expected {} outputs, got {}", device_name(mesh, device),
                               wanted.size(), outputs.size());
      return found;
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Difference difference = compare(wanted[i], outputs[i], rule);
      if (!difference.what.empty() && found.outputs == 0) {
        found.text = fmt::format("{}, output {}: {}", device_name(mesh, device),
                                 std::string_view(leaves[i].name).substr(1), difference.what);
        return found;
      }
      if (difference.count == 0 || found.outputs++ > 0) continue;
      found.device = device;
      found.output = leaves[i].name;
      found.index = multi_index(difference.index, wanted[i].dims);
      set_values(wanted[i], outputs[i], difference.index, found.expected, found.actual);
      found.count = difference.count;
      found.elements = wanted[i].element_count();
      found.worst = multi_index(difference.worst, wanted[i].dims);
      set_values(wanted[i], outputs[i], difference.worst, found.worst_expected, found.worst_actual);
      found.distance = difference.distance;
      found.ulps = difference.ulps;
    }
  }
  if (found.outputs > 0) found.text = text_of(mesh, found);
  return found;
}

Json difference_json(const OutputDifference& difference) {
  Json object = Json::object();
  object.set("device", difference.device);
  object.set("output", difference.output);
  object.set("index", numbers(difference.index));
  object.set("expected", difference.expected);
  object.set("actual", difference.actual);
  object.set("count", difference.count);
  object.set("elements", difference.elements);
  Json worst = Json::object();
  worst.set("index", numbers(difference.worst));
  worst.set("expected", difference.worst_expected);
  worst.set("actual", difference.worst_actual);
  worst.set("distance", difference.distance);
  worst.set("ulps", difference.ulps);
  object.set("worst", std::move(worst));
  object.set("outputs", difference.outputs);
  return object;
}

std::string parse_tolerance(std::string_view text, CompareRule& rule) {
  rule.kind = CompareRule::Kind::kTolerance;
  rule.relative = rule.absolute = 0;
  std::string_view rest = text;
  do {
    const std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(item.size() + 1, rest.size()));
    const bool is_relative = item.starts_with("rel=");
    double& value = is_relative ? rule.relative : rule.absolute;
    const auto [end, error] = std::from_chars(item.data() + std::min<size_t>(4, item.size()),
                                              item.data() + item.size(), value);
    if ((!is_relative && !item.starts_with("abs=")) || error != std::errc() ||
        end != item.data() + item.size()) {
      return fmt::format("--tolerance: '{}': expected rel=X, abs=Y or both with a comma", text);
    }
  } while (!rest.empty());
  std::string problem = problem_of(rule);
  return problem.empty() ? "" : fmt::format("--tolerance: {}", problem);
}

}  // namespace minihlo
