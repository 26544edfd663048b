// What is done with the inputs of fuzzing. Each target takes any bytes and returns what is wrong
// with the way they were treated, or an empty string; a crash, a hang or a sanitizer's report is
// the other way to fail. entry.cc makes a libFuzzer program of each, and regression_test.cc runs
// them on the inputs in data/fuzz.
#pragma once

#include <string>
#include <string_view>

#include "ir/module.h"

namespace minihlo::fuzz {

/// HLO text, good or bad. What parses must print as text that parses and prints alike.
std::string text(std::string_view input);
/// The JSON form, good or bad. What is read must be written and read again alike.
std::string json(std::string_view input);
/// Protobuf's wire format, good or bad: read without harm, and refused with a message.
std::string proto(std::string_view input);
/// A file of tensors, good or bad. What is read must be written and read again alike.
std::string tensors(std::string_view input);
/// The decisions of the generator of modules: what it makes must be valid, and kept by all forms.
std::string structure(std::string_view input);
/// A module (modules.h), run within small limits: in parts or together, on any number of threads,
/// it must end alike.
std::string run(std::string_view input);
/// A module against its clone, against what passes make of it, and against one that other decisions
/// make: no clone and no rewritten module is refuted, and what is proved runs alike.
std::string equiv(std::string_view input);

/// What a form loses of a valid module when it is written and read again, or a clone when it is
/// made; empty when nothing.
std::string kept_by_all_forms(const Module& module);

struct Target {
  std::string_view name;
  std::string (*run)(std::string_view input);
};
inline constexpr Target kTargets[] = {
    {"text", text},           {"json", json}, {"proto", proto}, {"tensors", tensors},
    {"structure", structure}, {"run", run},   {"equiv", equiv},
};

}  // namespace minihlo::fuzz
