// The domain of buffers: values are bytes in memory, and instructions are computed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <tl/expected.hpp>

#include "ir/semantics/mesh.h"
#include "sim/device_vector.h"
#include "sim/run/cluster_program.h"
#include "sim/run/dynamic_shapes.h"
#include "sim/run/feeds.h"
#include "sim/run/kernel.h"
#include "sim/run/random_numbers.h"
#include "sim/walker.h"

namespace minihlo {

/// What the walker asks for (see sim/walker.h), for arrays that are buffers. What comes from the
/// same operands is computed once, whatever the number of devices; values that are equal are shared
/// where that follows from the operation alone.
class BufferDomain {
 public:
  using Array = DeviceVector<Buffer>;
  using Leaves = tl::expected<std::vector<Array>, Stop>;

  BufferDomain(const Mesh& mesh, RunContext& context) : mesh_(mesh), context_(context) {}

  /// Where infeed and outfeed go; without this they are refused.
  void set_feeds(Feeds& feeds) { feeds_ = &feeds; }

  static bool is_set(const Array& array) { return array.is_set(); }
  static Array select(const Array& array, std::span<const int> positions) {
    return array.select(positions);
  }
  static Array join(std::span<const Array* const> parts,
                    std::span<const std::vector<int>> positions, int count) {
    return Array::join(parts, positions, count);
  }

  Leaves apply(const Instruction& instruction, std::span<Operand<Array>> operands,
               std::span<const int> devices);
  int64_t cluster_elements() const {
    return is_watched() ? Plans::kNoClusters : context_.cluster_elements;
  }
  bool is_watched() const { return context_.observer != nullptr; }
  std::optional<Stop> observe(const Instruction& instruction, const Value<Array>& value,
                              std::span<const int> devices);
  Leaves apply_cluster(const Cluster& cluster, std::span<Operand<Array>> inputs,
                       std::span<const int> devices);
  Leaves collective(const Instruction& instruction, std::span<const Array> operands,
                    const Gathering& gathering);

  static std::optional<std::vector<int64_t>> known(const Array& array);

  /// Loops are walked.
  static std::optional<tl::expected<Value<Array>, Stop>> loop(Walker<BufferDomain>&,
                                                              const Instruction&, Value<Array>&,
                                                              std::span<const int>) {
    return std::nullopt;
  }
  /// Never asked: all tests are known.
  static tl::expected<Value<Array>, Stop> conditional(Walker<BufferDomain>&,
                                                      const Instruction& instruction, const Array&,
                                                      std::vector<Value<Array>>,
                                                      std::span<const int>) {
    return tl::unexpected(Stop::unsupported(
        "conditional", fmt::format("the test of %{} is not known", instruction.name())));
  }

 private:
  tl::expected<Array, Stop> device_ids(const Instruction& instruction,
                                       std::span<const int> devices);

  // Instructions with a dynamic shape.
  Leaves apply_dynamic(const Instruction& instruction, std::span<Operand<Array>> operands,
                       std::span<const int> devices);
  Leaves dynamic_collective(const Instruction& instruction, std::span<const Array> operands,
                            const Gathering& gathering);
  KernelResult run_sized_group(const Instruction& instruction, std::span<const Array> operands,
                               const Gathering& gathering, int64_t group,
                               std::vector<std::vector<Buffer>>& results);
  // Nothing, unless a value of dynamic size stands where a static shape is.
  std::optional<Stop> misfit(const Instruction& instruction, std::span<const Shape* const> shapes,
                             std::span<const Array* const> arrays) const;

  tl::expected<Array, Stop> next_random_states(const Instruction& instruction,
                                               std::span<const int> devices);

  __extension__ using Wide = unsigned __int128;

  const Mesh& mesh_;
  RunContext& context_;
  ClusterPrograms cluster_programs_;
  std::vector<Wide> random_states_;  // by device; empty before the first question
  RandomNumbers random_numbers_;
  DynamicShapes dynamic_shapes_;
  Feeds* feeds_ = nullptr;
};

}  // namespace minihlo
