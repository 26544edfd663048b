#include "tools/campaign/spec.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/shell.h"

namespace minihlo::campaign {
namespace {

// How an option's value is typed.
std::vector<std::string> texts(const std::string& value) { return {value}; }
std::vector<std::string> texts(int64_t value) { return {fmt::to_string(value)}; }
std::vector<std::string> texts(uint64_t value) { return {fmt::to_string(value)}; }
std::vector<std::string> texts(bool value) { return {value ? "true" : ""}; }
std::vector<std::string> texts(double value) { return {fmt::to_string(value)}; }
std::vector<std::string> texts(const std::vector<std::string>& values) { return values; }

void declare_option(Arguments& arguments, std::string_view name, std::string_view value_name,
                    auto& value, std::string_view help) {
  if constexpr (std::is_same_v<decltype(value), bool&>) {
    arguments.flag(name, value, help);
  } else if constexpr (std::is_same_v<decltype(value), int64_t&>) {
    arguments.option(name, value_name, value, help, 0);
  } else {
    arguments.option(name, value_name, value, help);
  }
}

}  // namespace

template <class Visit>
void CampaignSpec::each_option(Visit&& visit) {
  visit("--exhaustive", "N", exhaustive,
        "all partial permutations of N ids, or of A..B; with every combination of the lists below");
  visit("--random", "COUNT", random, "so many cases, each drawn from the lists below");
  visit("--pairs", "FILE", pairs,
        "the permutations of a file, one a line, {{0,1},{1,2}}; or one as it stands here");
  visit("--devices", "A..B", devices,
        "ids of random permutations (default: 2..16); of --pairs one number, if not the least");
  auto names = [](const auto& named) {
    std::string list;
    for (const auto& one : named) {
      list += fmt::format("{}{}", list.empty() ? "" : ", ", one.name);
    }
    return list;
  };
  visit("--kinds", "KINDS", kinds,
        "kinds of random permutations (default: all): " + names(campaign::kinds()));
  visit("--cycles", "L,L", cycles, "the lengths of the cycles of the kind cycles");
  visit("--modes", "MODES", modes,
        "what pairs name: partition (default), replica; a permute with a channel or without");
  visit("--other", "A..B", other,
        "cells of the mesh's other axis, which the pairs do not name (default: 1)");
  visit("--types", "TYPES", types, "element types, or all (default: f32)");
  visit("--shapes", "SHAPES", shapes, "shapes of the operand: 4,2x3,scalar (default: 4)");
  visit("--forms", "FORMS", forms,
        "what holds the permute (default: plain): " + names(campaign::forms()));
  visit("--passes", "P", passes,
        "a pipeline (default: collective-permute-to-all-gather); each one is a list entry");
  visit("--rewrite-with", "CMD", rewrite_with,
        "instead: a shell command that reads the module at {in} and writes it to {out}");
  visit("--gives-back", "", gives_back,
        "what comes back must be the module that was given, up to names, channel numbers and the "
        "order of pairs, as that of a pass and its inverse is");
  visit("--expect", "OUTCOMES", expect,
        "what is no failure (default: proved): a list of outcomes, or neuron-2.24, what "
        "docs/neuron-preset.md says of the preset");
  visit("--simulate", "N", simulate,
        "one case in N is run by the simulator, too (default: 1000); 0: none");
  visit("--tests", "K", tests, "random runs where there is no proof (default: 20)");
  visit("--case-timeout", "SECONDS", case_timeout,
        "of one case (default: none; 60 with --rewrite-with)");
  visit("--case-memory", "SIZE", case_memory,
        "that an external command may take, in bytes; 0: any (default: 4G)");
  visit("--seed", "S", seed, "of all that is drawn (default: 1)");
  visit("--max-failures", "N", max_failures, "end after so many failures (default: none ends it)");
  visit("--show-failures", "N", show_failures,
        "list so many of them, each with the command that reproduces it (default: 20)");
}

void CampaignSpec::declare(Arguments& arguments) {
  each_option(
      [&](std::string_view name, std::string_view value_name, auto& value, std::string_view help) {
        if (value_name == "SIZE") {
          if constexpr (std::is_same_v<decltype(value), int64_t&>) {
            arguments.size(name, value_name, value, help);
          }
        } else {
          declare_option(arguments, name, value_name, value, help);
        }
      });
}

tl::expected<CampaignSpec, std::string> CampaignSpec::parse(const std::vector<std::string>& words) {
  CampaignSpec spec;
  Arguments arguments;
  spec.declare(arguments);
  int help = 0;
  if (std::string wrong = arguments.parse(words, help); !wrong.empty())
    return tl::unexpected(wrong);
  return spec;
}

std::vector<std::string> CampaignSpec::words() const {
  // The options of a default campaign come in the same order.
  std::vector<std::vector<std::string>> defaults;
  CampaignSpec().each_option([&](std::string_view, std::string_view, auto& value,
                                 std::string_view) { defaults.push_back(texts(value)); });
  std::vector<std::string> words;
  size_t i = 0;
  CampaignSpec copy = *this;
  copy.each_option([&](std::string_view name, std::string_view, auto& value, std::string_view) {
    std::vector<std::string> given = texts(value);
    if (given == defaults[i++]) return;
    for (const std::string& text : given) {
      const bool is_flag = std::is_same_v<decltype(value), bool&>;
      words.push_back(is_flag ? std::string(name) : fmt::format("{}={}", name, text));
    }
  });
  return words;
}

CampaignSpec CampaignSpec::only(const CampaignCase& one, const std::string& rewrite) const {
  CampaignSpec spec = *this;
  const CampaignSpec none;
  spec.exhaustive = none.exhaustive;
  spec.random = none.random;
  spec.kinds = none.kinds;
  spec.cycles = none.cycles;
  spec.max_failures = none.max_failures;
  spec.show_failures = none.show_failures;
  spec.pairs = {to_string(one.pairs)};
  spec.devices = fmt::to_string(one.ids);
  spec.modes = id_noun(one.mode);
  spec.other = fmt::to_string(one.other);
  spec.types = to_string(one.type);
  spec.shapes = one.dims.empty() ? "scalar" : fmt::format("{}", fmt::join(one.dims, "x"));
  spec.forms = campaign::forms()[one.form].name;
  if (rewrite_with.empty()) spec.passes = {rewrite};
  return spec;
}

std::string command_line(const CampaignSpec& spec) {
  std::string line = "minihlo campaign";
  for (const std::string& word : spec.words()) {
    const size_t value = std::min(word.find('='), word.size() - 1) + 1;
    line += ' ' + word.substr(0, value);
    if (value < word.size()) line += shell_quoted(word.substr(value));
  }
  return line;
}

}  // namespace minihlo::campaign
