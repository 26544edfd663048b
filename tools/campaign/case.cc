#include "tools/campaign/case.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/diagnostics.h"
#include "ir/text/parser.h"

namespace minihlo::campaign {
namespace {

constexpr Form kForms[] = {
    {"plain", "one permute", 1, 1, R"(
ENTRY main {
  x = $T parameter(0)
  ROOT permute = $T collective-permute(x)$P
}
)"},
    {"async", "a start and its done", 1, 1, R"(
ENTRY main {
  x = $T parameter(0)
  start = ($T, $T) collective-permute-start(x)$P
  ROOT done = $T collective-permute-done(start)
}
)"},
    {"tuple", "one permute of two operands", 2, 1, R"(
ENTRY main {
  x = $T parameter(0)
  y = $T parameter(1)
  ROOT permute = ($T, $T) collective-permute(x, y)$P
}
)"},
    {"chain", "a permute of a permute", 1, 2, R"(
ENTRY main {
  x = $T parameter(0)
  first = $T collective-permute(x)$P
  ROOT second = $T collective-permute(first)$P
}
)"},
    {"call", "in a computation that is called", 1, 1, R"(
callee {
  inner = $T parameter(0)
  ROOT permute = $T collective-permute(inner)$P
}

ENTRY main {
  x = $T parameter(0)
  ROOT result = $T call(x), to_apply=callee
}
)"},
    {"loop", "in a loop of three trips", 1, 3, R"(
body {
  state = (s32[], $T) parameter(0)
  trip = s32[] get-tuple-element(state), index=0
  one = s32[] constant(1)
  next = s32[] add(trip, one)
  value = $T get-tuple-element(state), index=1
  permute = $T collective-permute(value)$P
  ROOT after = (s32[], $T) tuple(next, permute)
}

condition {
  state.1 = (s32[], $T) parameter(0)
  trip.1 = s32[] get-tuple-element(state.1), index=0
  trips = s32[] constant(3)
  ROOT goes_on = pred[] compare(trip.1, trips), direction=LT
}

ENTRY main {
  x = $T parameter(0)
  zero = s32[] constant(0)
  start = (s32[], $T) tuple(zero, x)
  loop = (s32[], $T) while(start), condition=condition, body=body
  ROOT result = $T get-tuple-element(loop), index=1
}
)"},
};

}  // namespace

std::span<const Form> forms() { return kForms; }

std::string module_text(const CampaignCase& one) {
  const Mesh mesh = one.mesh();
  std::string text = "HloModule campaign";
  if (mesh.replicas > 1) text += fmt::format(", replica_count={}", mesh.replicas);
  if (mesh.partitions > 1) text += fmt::format(", num_partitions={}", mesh.partitions);
  text += '\n';
  const std::string shape =
      fmt::format("{}[{}]", minihlo::to_string(one.type), fmt::join(one.dims, ","));
  const std::string pairs = fmt::format(
      ", {}source_target_pairs={}", one.mode == GroupMode::kCrossPartition ? "channel_id=1, " : "",
      to_string(one.pairs));
  std::string_view left = kForms[one.form].text;
  for (size_t at = left.find('$'); at != left.npos; at = left.find('$')) {
    text += left.substr(0, at);
    text += left[at + 1] == 'T' ? shape : pairs;
    left.remove_prefix(at + 2);
  }
  text += left;
  return text;
}

std::unique_ptr<Module> make_module(const CampaignCase& one) {
  std::shared_ptr<const Source> source = Source::from_string("campaign.hlo", module_text(one));
  Diagnostics diagnostics(source);
  return parse_text(source, diagnostics);
}

}  // namespace minihlo::campaign
