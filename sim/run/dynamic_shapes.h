// Instructions on arrays whose sizes only run time knows.
//
// Such an array is held as what it is at the time: a block with the elements within its runtime
// sizes and nothing else, row by row, and the sizes beside it (Buffer::sizes). An instruction is
// run as the static one that the sizes at hand make of it, its twin: what lies beyond them never
// exists and so counts nowhere.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

#include "ir/module.h"
#include "sim/run/kernel.h"

namespace minihlo {

/// What a twin is made of: an opcode, and the static shapes of its operands and result.
struct DynamicTwin {
  Opcode opcode;
  std::vector<const Shape*> operands;
  const Shape* written = nullptr;
  std::vector<SliceDimension> slices;  // in place of the attribute of a slice
  std::vector<int64_t> sizes;          // in place of the sizes that a gather or the like takes
};

class DynamicShapes {
 public:
  /// Runs an instruction that has a dynamic shape on one set of operands, to the end. The leaves of
  /// the result.
  tl::expected<std::vector<Buffer>, Stop> run(const Instruction& instruction, RunContext& context,
                                              std::vector<Buffer> operands);

  /// The static collective that the operands of one member make of a dynamic one for a group of
  /// `members` devices, whose operands have the same sizes.
  tl::expected<Instruction*, Stop> collective_twin(const Instruction& instruction,
                                                   RunContext& context,
                                                   std::vector<Buffer> operands, int64_t members);

 private:
  // The twin for these sizes, made once; or why there is none.
  tl::expected<Instruction*, std::string> twin_of(const DynamicTwin& twin,
                                                  const Instruction& instruction);
  tl::expected<Instruction*, std::string> make_twin(const DynamicTwin& twin,
                                                    const Instruction& instruction);

  std::unique_ptr<Module> twins_;
  std::map<std::pair<const Instruction*, std::vector<int64_t>>, Instruction*> by_sizes_;
};

/// The shape of a value of an array shape: static, with the sizes that the buffer has.
const Shape* runtime_shape(ShapePool& shapes, const Shape* shape, const Buffer& buffer);

/// The elements of a buffer as those of an array of these sizes: the same block, but where others
/// see it with other sizes.
tl::expected<Buffer, Stop> with_sizes(const Instruction& instruction, RunContext& context,
                                      Buffer buffer, std::span<const int64_t> sizes);

}  // namespace minihlo
