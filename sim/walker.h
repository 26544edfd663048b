// The walker: runs a computation on many devices at once, whatever values are.
//
// A strand is a set of devices that stand at the same instruction; a run starts as one strand with
// all of them. An instruction's value is a vector over the strand's devices, which the domain
// represents and computes (buffers in the simulator, terms in the prover, sizes, tags). The walker
// owns what is the same in all domains: frames, calls, tuples, loops, branches, and who meets whom
// at a collective.
//
//   conditional, loop   a test that differs between devices splits the strand; the parts are joined
//                       again behind it
//   collective          a plain function of the vector where its groups lie inside the strand; else
//                       the strand parks until the others arrive
//   nothing can move    a deadlock, reported with all that wait
//
// There is no clock and no thread here: the same run gives the same result every time.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <tl/expected.hpp>

#include "sim/rendezvous.h"
#include "sim/walk_run.h"

namespace minihlo {

// What a domain offers:
//
//   using Array = ...;                          a device vector; default-constructed: a token's
//   bool is_set(const Array&)                   whether it is a vector, not a token or moved out
//   Array select(const Array&, std::span<const int> positions)
//   Array join(std::span<const Array* const> parts, std::span<const std::vector<int>> positions,
//              int count)                       part i gives the elements at positions[i]
//   expected<std::vector<Array>, Stop> apply(const Instruction&, std::span<Operand<Array>>,
//                                            std::span<const int> devices)
//       the leaves of the result; operands are the leaves of the instruction's operands
//   int64_t cluster_elements()                  see Plans; with kNoClusters there is no
//   expected<std::vector<Array>, Stop> apply_cluster(const Cluster&, std::span<Operand<Array>>,
//                                                    std::span<const int> devices)
//       what a cluster's outputs are, from its inputs
//   expected<std::vector<Array>, Stop> collective(const Instruction&, std::span<const Array>,
//                                                 const Gathering&)
//   bool is_watched()                           whether values are to be shown when they are made
//   std::optional<Stop> observe(const Instruction&, const Value<Array>&,
//                               std::span<const int> devices)
//   std::optional<std::vector<int64_t>> known(const Array&)
//       the integer or truth value on each device, or one for all; nothing: not known
//   std::optional<expected<Value<Array>, Stop>> loop(Walker&, const Instruction& loop,
//                                                    Value<Array>& state, std::span<const int>)
//       the result of a loop that the domain deals with itself; nothing: the walker walks it
//   expected<Value<Array>, Stop> conditional(Walker&, const Instruction&, const Array& test,
//                                            std::vector<Value<Array>> arguments,
//                                            std::span<const int>)
//       the result of a conditional whose test is not known

template <class Domain>
class Walker {
 public:
  using Array = typename Domain::Array;
  using Val = Value<Array>;

  Walker(const Mesh& mesh, Domain& domain, const WalkLimits& limits = {})
      : mesh_(mesh),
        domain_(domain),
        counter_(limits),
        plans_(domain.cluster_elements()),
        meetings_(mesh_) {}

  /// Runs a computation on `devices` (sorted), with one argument a parameter. May be called from
  /// within the domain's own hooks; collectives then only meet devices of this run.
  tl::expected<Val, Stop> run(const Computation& computation, std::vector<Val> arguments,
                              std::span<const int> devices) {
    if (depth_ >= kMaxDepth) {
      return tl::unexpected(Stop::unsupported(
          "deep nesting", fmt::format("loops and conditionals are nested {} deep", kMaxDepth)));
    }
    ++depth_;
    WalkRun<Domain> run(*this, {devices.begin(), devices.end()});
    tl::expected<Val, Stop> result = run.execute(computation, std::move(arguments));
    --depth_;
    if (!result && depth_ > 0 && result.error().is_of_devices()) {
      // Those that are missing, or do not fit, may stand outside of this run.
      return tl::unexpected(Stop::unsupported(
          "collective",
          "a collective under a test that is not known waits for devices that are "
          "not under the same test"));
    }
    return result;
  }

  const Mesh& mesh() const { return mesh_; }
  Domain& domain() { return domain_; }
  int64_t steps() const { return counter_.steps(); }

 private:
  friend class WalkRun<Domain>;
  static constexpr int kMaxDepth = 100;

  const Mesh mesh_;
  Domain& domain_;
  StepCounter counter_;
  Plans plans_;
  Meetings meetings_;
  int depth_ = 0;
};

}  // namespace minihlo
