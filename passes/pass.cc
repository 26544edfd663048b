#include "passes/pass.h"

#include <algorithm>
#include <cassert>
#include <charconv>

#include <fmt/format.h>

namespace minihlo {
namespace {

constexpr const PassInfo* kPasses[] = {
#define PASS(info) &info,
#include "passes/passes.def"
#undef PASS
};

}  // namespace

std::span<const PassInfo* const> passes() { return kPasses; }

std::string_view to_string(Keeps keeps) {
  switch (keeps) {
    case Keeps::kBits:
      return "bits";
    case Keeps::kRounding:
      return "values up to rounding";
    case Keeps::kNothing:
      return "nothing";
  }
  return "";
}

const PassInfo* find_pass(std::string_view name) {
  for (const PassInfo* pass : kPasses) {
    if (pass->name == name) return pass;
  }
  return nullptr;
}

size_t PassOptions::index(std::string_view name) const {
  auto found = std::find_if(infos_.begin(), infos_.end(),
                            [&](const OptionInfo& info) { return info.name == name; });
  assert(found != infos_.end());
  return static_cast<size_t>(found - infos_.begin());
}

void PassOptions::set(std::string_view name, std::string value) {
  values_[index(name)] = std::move(value);
}

std::string_view PassOptions::text(std::string_view name) const {
  size_t i = index(name);
  return values_[i] ? std::string_view(*values_[i]) : infos_[i].default_value;
}

std::optional<int64_t> PassOptions::number(std::string_view name) const {
  std::string_view value = text(name);
  int64_t result = 0;
  auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
  if (error != std::errc() || end != value.data() + value.size()) return std::nullopt;
  return result;
}

std::string PassOptions::to_string() const {
  std::string out;
  for (size_t i = 0; i < infos_.size(); ++i) {
    if (!values_[i]) continue;
    out += fmt::format("{}{}={}", out.empty() ? "" : " ", infos_[i].name, *values_[i]);
  }
  return out.empty() ? out : fmt::format("{{{}}}", out);
}

void PassContext::report(PassEntry entry) {
  if (log) {
    log(fmt::format("{}: %{} in {}: {}", entry.pass, entry.instruction, entry.computation,
                    entry.rewritten ? fmt::format("rewritten to %{}", entry.result)
                                    : "left alone: " + entry.reason));
  }
  entries.push_back(std::move(entry));
}

}  // namespace minihlo
