// What a pass is, and the table of all passes.
//
// A pass rewrites a module in place. It keeps metadata, control dependencies, sharding and frontend
// attributes or says in its file why it can't, gives fresh unique names and channel ids, and leaves
// a module that the verifier accepts. It never runs devices.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "ir/module.h"

namespace minihlo {

/// An option of a pass, as pipelines write it: name=value.
struct OptionInfo {
  std::string_view name;
  std::string_view default_value;  // empty: nothing is set
  /// What it takes: one of these blank-separated words, or an integer from `minimum` on. Any text
  /// where there is neither.
  std::string_view words;
  std::optional<int64_t> minimum;
  std::string_view help;  // one line, no full stop
};

/// The values of a pass's options: what the pipeline gives, else the defaults. All are checked.
class PassOptions {
 public:
  explicit PassOptions(std::span<const OptionInfo> infos) : infos_(infos), values_(infos.size()) {}

  /// Requires an option of that name; so do all below.
  void set(std::string_view name, std::string value);
  bool given(std::string_view name) const { return values_[index(name)].has_value(); }
  std::string_view text(std::string_view name) const;
  /// The value as an integer; nothing when it is a word.
  std::optional<int64_t> number(std::string_view name) const;
  /// "{gate=always fill=zero}", only what was given; empty when nothing was.
  std::string to_string() const;

 private:
  size_t index(std::string_view name) const;

  std::span<const OptionInfo> infos_;
  std::vector<std::optional<std::string>> values_;
};

/// What became of one instruction that a pass is for.
struct PassEntry {
  std::string_view pass;
  std::string computation;
  std::string instruction;
  Opcode opcode = Opcode::kParameter;
  bool rewritten = false;
  std::string result;  // the name of what took its place, where it was rewritten
  std::string reason;  // why it was left alone, where it was not; of inject-errors, what was done
};

/// What a pass is run with, and what it says.
class PassContext {
 public:
  /// The mesh, where it is not the header's; 0: the header's.
  int64_t replicas = 0;
  int64_t partitions = 0;
  /// Takes lines without their ends, where the user wants to follow the pass.
  std::function<void(std::string_view)> log;
  std::vector<PassEntry> entries;

  int64_t replica_count(const Module& module) const {
    return replicas > 0 ? replicas : module.replica_count();
  }
  int64_t num_partitions(const Module& module) const {
    return partitions > 0 ? partitions : module.num_partitions();
  }
  /// Keeps the entry and logs it.
  void report(PassEntry entry);
};

class Pass {
 public:
  virtual ~Pass() = default;
  /// Rewrites the module. Errors leave it as it was.
  virtual tl::expected<void, std::string> run(Module& module, PassContext& context) const = 0;
};

/// What a pass keeps of every output of every device.
enum class Keeps : uint8_t {
  kBits,
  kRounding,  // floats only up to rounding: sums are taken in another order
  kNothing,   // it breaks the module on purpose
};
/// "bits", "values up to rounding", "nothing".
std::string_view to_string(Keeps keeps);

struct PassInfo {
  std::string_view name;
  std::string_view summary;  // one line, no full stop
  Keeps keeps = Keeps::kBits;
  std::span<const OptionInfo> options;
  std::unique_ptr<Pass> (*make)(const PassOptions& options);
  bool takes_invalid = false;  // runs on modules that the verifier refuses; the others may not
};

/// All passes, by name.
std::span<const PassInfo* const> passes();
/// The pass of that name, or null.
const PassInfo* find_pass(std::string_view name);

// Each is defined in the file of its name.
#define PASS(info) extern const PassInfo info;
#include "passes/passes.def"
#undef PASS

}  // namespace minihlo
