// What runs one instruction on one set of operand buffers.
//
// A kernel takes memory for the results and says what work fills them; the domain runs the work of
// all devices together, spread over threads. Nothing here depends on how that is done: units of one
// work write different elements, and works of one stage do not read each other's results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

#include "ir/instruction.h"
#include "ir/semantics/movement.h"
#include "sim/run/buffer.h"
#include "sim/run/observer.h"
#include "sim/run/scalar_program.h"
#include "sim/run/workers.h"
#include "sim/stop.h"

namespace minihlo {

/// What constants without a value (`constant({...})`) are taken for.
enum class ElidedConstants : uint8_t { kRefuse, kZero, kSeed };

/// What a custom-call gives whose meaning is not known.
struct CustomCallRule {
  enum class Action : uint8_t {
    kFail,      // the run ends as unsupported
    kIdentity,  // its operands, where the shapes fit; those that it may overwrite in their place
    kZero,
  };
  std::string target;  // `*`: every one
  Action action = Action::kFail;
};

/// What all kernels of a run share.
struct RunContext {
  std::shared_ptr<BufferPool> pool;
  Workers workers;
  ScalarPrograms programs;
  ElidedConstants elided = ElidedConstants::kRefuse;
  uint64_t seed = 0;
  int64_t cluster_elements = 0;  // see Plans
  std::span<const CustomCallRule> custom_calls = {};
  bool pure = false;             // see RunOptions
  bool has_dynamic = false;      // whether there are values whose sizes only run time knows
  Observer* observer = nullptr;
};

using KernelResult = tl::expected<void, Stop>;

/// Memory for what an instruction makes; errors say where the instruction stands.
tl::expected<Buffer, Stop> allocate_for(const Instruction& instruction, RunContext& context,
                                        int64_t bytes);

struct KernelCall {
  const Instruction& instruction;
  RunContext& context;
  std::vector<Buffer> operands;  // of the array leaves of the operands
  std::vector<bool> writable;    // nobody needs operand i afterwards: its block may be taken over
  std::vector<Buffer> results;   // of the array leaves of the result
  std::vector<std::vector<Work>> stages;  // each runs when the one before is done

  const Shape* operand_shape(size_t i) const { return instruction.operand(i)->shape(); }

  /// Memory for a value of an array shape.
  tl::expected<Buffer, Stop> allocate(const Shape* shape) { return allocate(shape->byte_count()); }
  tl::expected<Buffer, Stop> allocate(int64_t bytes);
  /// Memory for the elements of `shape`: that of operand i where it may be taken over and fits.
  tl::expected<Buffer, Stop> allocate_over(const Shape* shape, std::span<const size_t> candidates);
  /// Operand i with every element in place.
  tl::expected<Buffer, Stop> dense(size_t i) { return dense(operands[i], operand_shape(i)); }
  tl::expected<Buffer, Stop> dense(const Buffer& buffer, const Shape* shape);

  /// Adds work to the stage at hand; `cost` of one unit in bytes or operations.
  void add(int64_t count, int64_t cost, std::function<void(int64_t, int64_t)> body);
  /// What is added from here on runs when all before it is done.
  void next_stage() { stages.emplace_back(); }
};

using Kernel = KernelResult (*)(KernelCall&);

/// The kernel of an instruction, or null where there is none.
Kernel kernel_of(const Instruction& instruction);

// Kernels, by file in sim/run/kernels/.
KernelResult constant_kernel(KernelCall&);              // constant.cc
KernelResult iota_kernel(KernelCall&);                  //
KernelResult get_dimension_size_kernel(KernelCall&);    //
KernelResult elementwise_kernel(KernelCall&);           // elementwise.cc
KernelResult map_kernel(KernelCall&);                   //
KernelResult movement_kernel(KernelCall&);              // movement.cc
KernelResult bitcast_kernel(KernelCall&);               // bitcast.cc
KernelResult bitcast_convert_kernel(KernelCall&);       //
KernelResult reduce_kernel(KernelCall&);                // reduce.cc
KernelResult reduce_window_kernel(KernelCall&);         // reduce_window.cc
KernelResult select_and_scatter_kernel(KernelCall&);    // select_and_scatter.cc
KernelResult dot_kernel(KernelCall&);                   // dot.cc
KernelResult convolution_kernel(KernelCall&);           // convolution.cc
KernelResult gather_kernel(KernelCall&);                // gather.cc
KernelResult scatter_kernel(KernelCall&);               // scatter.cc
KernelResult sort_kernel(KernelCall&);                  // sort.cc
KernelResult topk_kernel(KernelCall&);                  // topk.cc
KernelResult rng_bit_generator_kernel(KernelCall&);     // random.cc
KernelResult scan_kernel(KernelCall&);                  // scan.cc
KernelResult fft_kernel(KernelCall&);                   // fft.cc
KernelResult cholesky_kernel(KernelCall&);              // linear_algebra.cc
KernelResult triangular_solve_kernel(KernelCall&);      //
KernelResult batch_norm_training_kernel(KernelCall&);   // batch_norm.cc
KernelResult batch_norm_inference_kernel(KernelCall&);  //
KernelResult batch_norm_grad_kernel(KernelCall&);       //
KernelResult ragged_dot_kernel(KernelCall&);            // ragged_dot.cc
KernelResult custom_call_kernel(KernelCall&);           // custom_call.cc

/// A copy between buffers.
struct CopyTask {
  StridedCopy copy;
  Buffer from;
};
/// Adds work that does the copies into `result`, whose elements have `width` bytes.
void add_copies(KernelCall& call, std::vector<CopyTask> copies, const Buffer& result,
                int64_t width);
/// Adds work that makes the result of a movement in `result`. `source(box)` is the buffer that a
/// box takes its elements from.
template <class Source>
void add_movement(KernelCall& call, const Movement& movement, const Buffer& result, int64_t width,
                  const Buffer& zero, const Source& source) {
  std::vector<CopyTask> copies;
  for (const Box& box : movement.boxes) {
    if (box.is_empty()) continue;
    bool fill = box.operand == Box::kZero;
    StridedCopy copy = strided_copy(box, movement.result_dims,
                                    fill ? movement.result_dims : movement.dims_of(box));
    copies.push_back({std::move(copy), fill ? zero : source(box)});
  }
  add_copies(call, std::move(copies), result, width);
}

/// The integer at element i of a buffer of an integer or pred type; of unsigned 64-bit values
/// those that do not fit are the largest that does.
int64_t integer_at(const Buffer& buffer, ElementType type, int64_t i = 0);

}  // namespace minihlo
