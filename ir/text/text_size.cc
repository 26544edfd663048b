#include "ir/text/text_size.h"

#include <tsl/robin_map.h>

namespace minihlo {
namespace {

class ShapeSizes {
 public:
  int64_t of(const Shape* shape) {
    constexpr int64_t kArray = 5;  // f32[]
    if (!shape->is_tuple()) return kArray;
    auto found = known_.find(shape);
    if (found != known_.end()) return found->second;
    int64_t size = 2;
    for (const Shape* element : shape->elements()) size = sum(size, of(element));
    known_.emplace(shape, size);
    return size;
  }

  static int64_t sum(int64_t a, int64_t b) { return a > INT64_MAX - b ? INT64_MAX : a + b; }

 private:
  tsl::robin_map<const Shape*, int64_t> known_;
};

}  // namespace

int64_t shape_characters(const Module& module) {
  ShapeSizes sizes;
  int64_t total = 0;
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      total = ShapeSizes::sum(total, sizes.of(instruction->shape()));
    }
  }
  return total;
}

}  // namespace minihlo
