// The domain of terms: what the walker makes of a module where values are terms over the inputs.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

#include "ir/semantics/mesh.h"
#include "sim/device_vector.h"
#include "sim/prove/evaluator.h"
#include "sim/prove/pointwise.h"
#include "sim/prove/terms.h"
#include "sim/walker.h"

namespace minihlo::prove {

/// How loops become terms.
enum class LoopMode : uint8_t {
  kTerms,       // by induction: the body is run once, on placeholders; see loop.cc
  kTermsByUse,  // the same, whatever the order of the state's components
  kWalked,      // trip by trip, which needs tests that are known
};

class TermDomain {
 public:
  using Array = DeviceVector<Handle>;
  using Val = Value<Array>;
  using Leaves = tl::expected<std::vector<Array>, Stop>;

  TermDomain(const Mesh& mesh, Terms& terms, Evaluator& evaluator, Rules& rules, LoopMode mode)
      : mesh_(mesh), terms_(terms), evaluator_(evaluator), rules_(rules), mode_(mode) {}

  // What the walker asks for (sim/walker.h).
  static bool is_set(const Array& array) { return array.is_set(); }
  static int64_t cluster_elements() { return Plans::kNoClusters; }
  static bool is_watched() { return false; }
  static std::optional<Stop> observe(const Instruction&, const Val&, std::span<const int>) {
    return std::nullopt;
  }
  static Array select(const Array& array, std::span<const int> positions) {
    return array.select(positions);
  }
  static Array join(std::span<const Array* const> parts,
                    std::span<const std::vector<int>> positions, int count) {
    return Array::join(parts, positions, count);
  }
  Leaves apply(const Instruction& instruction, std::span<Operand<Array>> operands,
               std::span<const int> devices);
  Leaves collective(const Instruction& instruction, std::span<const Array> operands,
                    const Gathering& gathering);
  std::optional<std::vector<int64_t>> known(const Array& array) const;
  std::optional<tl::expected<Val, Stop>> loop(Walker<TermDomain>& walker, const Instruction& loop,
                                              Val& state, std::span<const int> devices);
  tl::expected<Val, Stop> conditional(Walker<TermDomain>& walker, const Instruction& instruction,
                                      const Array& test, std::vector<Val> arguments,
                                      std::span<const int> devices);

  /// Whether some loop became a term: walking it could tell more.
  bool has_loop_terms() const { return has_loop_terms_; }
  /// What has to be so for the terms to be what the module gives.
  const std::set<std::string>& assumptions() const { return assumptions_; }
  void set_walker(Walker<TermDomain>& walker) { walker_ = &walker; }

 private:
  using Handles = tl::expected<std::vector<Handle>, Stop>;
  using OnDevice = std::function<Handles(std::span<const Handle> operands)>;

  // apply.cc
  Leaves on_each_device(std::span<Operand<Array>> operands, size_t device_count,
                        const OnDevice& function);
  Handles apply_once(const Instruction& instruction, std::span<const Handle> operands);
  tl::expected<Array, Stop> ids(const Instruction& instruction, std::span<const int> devices);
  tl::expected<Array, Stop> random_states(const Instruction& instruction,
                                          std::span<const int> devices);
  std::vector<Handle> constant(const Literal& literal);
  Handle iota(const Instruction& instruction);
  /// The result of movement; nothing where it depends on values that are not known.
  std::optional<Handle> moved(const Instruction& instruction, std::span<const Handle> operands);
  std::optional<Handle> move(const Movement& movement, std::span<const Handle> operands,
                             ElementType type);
  tl::expected<std::optional<Handle>, Stop> pointwise(const Instruction& instruction,
                                                      std::span<const Handle> operands);
  /// The function of an elementwise instruction, whatever its dimensions; nothing where it can't be
  /// computed.
  tl::expected<std::optional<PointFunction>, Stop> point_function(const Instruction& instruction);
  std::optional<Handle> bit_cast(const Instruction& instruction, std::span<const Handle> operands);
  Handles opaque(const Instruction& instruction, std::span<const Handle> operands);

  // collective.cc
  Leaves moved_between(const Instruction& instruction, std::span<const Array> operands,
                       const Gathering& gathering);
  std::string wrong_rows(const Instruction& instruction, std::span<const Array> operands,
                         const Gathering& gathering, std::span<const int64_t> members);
  Leaves opaque_between(const Instruction& instruction, std::span<const Array> operands,
                        const Gathering& gathering);
  Leaves reduced_between(const Instruction& instruction, std::span<const Array> operands,
                         const Gathering& gathering);
  tl::expected<PointFunction, Stop> reducer(const Instruction& instruction, ElementType type,
                                            size_t members);
  /// What takes in one member after the other, where that is one elementwise opcode.
  tl::expected<std::optional<PointFunction>, Stop> reducer_step(const Instruction& instruction,
                                                                ElementType type);
  /// What the members of a group bring, reduced in their order; `function` is reducer()'s.
  tl::expected<Handle, Stop> members_reduced(const Instruction& instruction,
                                             const PointFunction& function,
                                             std::span<const Handle> members, const Shape* shape);

  // exact_sums.cc
  /// The opcode by which a reducer takes in elements of a type in any order, if that is all it
  /// does.
  std::optional<Opcode> exact_reducer(const Computation& computation, ElementType type);
  /// A reduce or dot whose elements may be taken in any order as a fold of them; nothing for
  /// others, and where they are too many.
  std::optional<Handle> exact_sum(const Instruction& instruction, std::span<const Handle> operands);
  std::optional<Handle> exact_reduce(const Instruction& reduce, Opcode opcode,
                                     std::span<const Handle> operands);
  std::optional<Handle> exact_dot(const Instruction& dot, std::span<const Handle> operands);

  // signature.cc
  /// What identifies the function that an instruction computes, given its arguments.
  tl::expected<uint32_t, Stop> signature(const Instruction& instruction);
  tl::expected<std::string, Stop> region_key(const Computation& computation);

  // loop.cc
  class LoopInduction;

  /// Levels of placeholders that no loop has: the parameters of regions, and random states.
  static constexpr int64_t kRegionLevel = UINT32_MAX, kRandomLevel = UINT32_MAX - 1;

  const Mesh& mesh_;
  Terms& terms_;
  Evaluator& evaluator_;
  Rules& rules_;
  const LoopMode mode_;
  Walker<TermDomain>* walker_ = nullptr;
  int64_t level_ = 0;         // loops around that are being made terms
  int64_t region_depth_ = 0;  // called computations around that are being made keys
  int64_t collectives_ = 0;   // how many were met so far
  bool has_loop_terms_ = false;
  int64_t random_states_taken_ = 0;
  std::vector<std::pair<uint64_t, uint64_t>> random_states_;  // by device: added so far; low, high
  std::set<std::string> assumptions_;
  std::unordered_map<const Instruction*, uint32_t> signatures_;
  std::unordered_map<const Computation*, std::string> region_keys_;
};

}  // namespace minihlo::prove
