// Assembled tensors against copies: random chains of movement, run both ways on the same boxes.
#include "sim/prove/tensor.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "ir/module.h"

namespace minihlo::prove {
namespace {

// A tensor both as elements (source node * 1000000 + source index) and assembled.
struct Both {
  Instruction* instruction;
  std::vector<int64_t> elements;
  Tensor tensor;
};

constexpr int64_t kNode = 1000000;

class Chain {
 public:
  explicit Chain(uint32_t seed) : module_("m"), random_(seed) {
    computation_ = module_.add_computation("e");
  }

  int64_t pick(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }

  const Shape* shape(const std::vector<int64_t>& dims) {
    return module_.shapes().array(ElementType::S64, dims);
  }

  Both source(const std::vector<int64_t>& dims) {
    Both made{add(Opcode::kParameter, shape(dims), {}, {}), {}, {}};
    auto node = static_cast<uint32_t>(++nodes_);
    made.elements.resize(static_cast<size_t>(made.instruction->shape()->element_count()));
    std::iota(made.elements.begin(), made.elements.end(), node * kNode);
    made.tensor =
        whole_tensor({node, Handle::kNoDevice}, made.instruction->shape()->element_count());
    return made;
  }

  Instruction* add(Opcode opcode, const Shape* shape, std::vector<Instruction*> operands,
                   std::vector<Attribute> attributes) {
    return computation_->append(opcode, module_.unique_instruction_name("i"), shape, operands,
                                attributes);
  }

  template <class T>
  std::span<const T> keep(const std::vector<T>& values) {
    return module_.arena().copy(values);
  }

  // A random movement of `from`, done both ways.
  Both step(const Both& from) {
    std::vector<int64_t> dims(from.instruction->shape()->dims().begin(),
                              from.instruction->shape()->dims().end());
    auto rank = static_cast<int64_t>(dims.size());
    MovementFacts facts;
    std::vector<const Both*> operands{&from};
    Both other;
    Instruction* made = nullptr;
    switch (pick(0, 8)) {
      case 0: {
        std::vector<int64_t> order(dims.size());
        std::iota(order.begin(), order.end(), 0);
        std::shuffle(order.begin(), order.end(), random_);
        std::vector<int64_t> result;
        for (int64_t i : order) result.push_back(dims[static_cast<size_t>(i)]);
        made = add(Opcode::kTranspose, shape(result), {from.instruction},
                   {make_attribute(attr::dimensions, keep(order))});
        break;
      }
      case 1: {
        made = add(Opcode::kReshape, shape(random_dims(from.instruction->shape()->element_count())),
                   {from.instruction}, {});
        break;
      }
      case 2: {
        std::vector<SliceDimension> slices;
        std::vector<int64_t> result;
        for (int64_t dim : dims) {
          int64_t start = pick(0, 1) ? 0 : pick(0, dim - 1);
          int64_t limit = pick(0, 1) ? dim : pick(start + 1, dim);
          int64_t stride = pick(0, 3) ? 1 : pick(1, 3);
          slices.push_back({start, limit, stride});
          result.push_back((limit - start + stride - 1) / stride);
        }
        made = add(Opcode::kSlice, shape(result), {from.instruction},
                   {make_attribute(attr::slice, keep(slices))});
        break;
      }
      case 3: {
        std::vector<int64_t> axes;
        for (int64_t i = 0; i < rank; ++i) {
          if (pick(0, 1)) axes.push_back(i);
        }
        made = add(Opcode::kReverse, shape(dims), {from.instruction},
                   {make_attribute(attr::dimensions, keep(axes))});
        break;
      }
      case 4: {
        if (from.instruction->shape()->element_count() > 200) return from;
        std::vector<int64_t> result = dims, map(dims.size());
        std::iota(map.begin(), map.end(), 0);
        int64_t at = pick(0, rank);
        result.insert(result.begin() + at, pick(1, 3));
        for (int64_t& axis : map) axis += axis >= at;
        made = add(Opcode::kBroadcast, shape(result), {from.instruction},
                   {make_attribute(attr::dimensions, keep(map))});
        break;
      }
      case 5: {
        if (rank == 0) return from;
        int64_t axis = pick(0, rank - 1);
        std::vector<int64_t> other_dims = dims;
        other_dims[static_cast<size_t>(axis)] = pick(1, 4);
        other = source(other_dims);
        if (pick(0, 1)) other = from;
        std::vector<int64_t> result = dims;
        result[static_cast<size_t>(axis)] += other.instruction->shape()->dim(axis);
        operands.push_back(&other);
        if (pick(0, 1)) std::swap(operands[0], operands[1]);
        made = add(Opcode::kConcatenate, shape(result),
                   {operands[0]->instruction, operands[1]->instruction},
                   {make_attribute(attr::dimensions, keep<int64_t>({axis}))});
        break;
      }
      case 6: {
        std::vector<PaddingDimension> padding;
        std::vector<int64_t> result;
        for (int64_t dim : dims) {
          PaddingDimension own{pick(-1, 2), pick(-1, 2), pick(0, 3) ? 0 : pick(0, 2)};
          int64_t size = own.low + own.high + dim + std::max<int64_t>(dim - 1, 0) * own.interior;
          if (size <= 0) {
            own = {0, 0, 0};
            size = dim;
          }
          padding.push_back(own);
          result.push_back(size);
        }
        other = source({});
        operands.push_back(&other);
        made = add(Opcode::kPad, shape(result), {from.instruction, other.instruction},
                   {make_attribute(attr::padding, keep(padding))});
        break;
      }
      case 7: {
        std::vector<int64_t> result;
        for (int64_t dim : dims) {
          result.push_back(pick(0, 1) ? dim : pick(1, dim));
          facts.starts.push_back(pick(-2, dim + 1));
        }
        made = add(Opcode::kDynamicSlice, shape(result), {from.instruction},
                   {make_attribute(attr::dynamic_slice_sizes, keep(result))});
        break;
      }
      default: {
        std::vector<int64_t> update;
        for (int64_t dim : dims) {
          update.push_back(pick(0, 1) ? dim : pick(1, dim));
          facts.starts.push_back(pick(-2, dim + 1));
        }
        other = source(update);
        operands.push_back(&other);
        made = add(Opcode::kDynamicUpdateSlice, shape(dims), {from.instruction, other.instruction},
                   {});
        break;
      }
    }
    return apply(made, operands, facts);
  }

  Both apply(Instruction* instruction, const std::vector<const Both*>& operands,
             const MovementFacts& facts) {
    auto steps = movement(*instruction, facts);
    REQUIRE(steps.has_value());
    REQUIRE(steps->size() == 1);
    const Movement& moved = (*steps)[0];
    Both result{instruction, {}, {}};
    result.elements.assign(static_cast<size_t>(instruction->shape()->element_count()), -1);
    std::vector<PlacedTensor> parts;
    for (const Box& box : moved.boxes) {
      if (box.is_empty()) continue;
      const Both& operand = *operands[static_cast<size_t>(box.operand)];
      copy_strided(strided_copy(box, moved.result_dims, moved.dims_of(box)),
                   reinterpret_cast<const std::byte*>(operand.elements.data()),
                   reinterpret_cast<std::byte*>(result.elements.data()), 8);
      auto seen = view(operand.tensor, moved.dims_of(box));
      REQUIRE(seen.has_value());
      auto part = extract(*seen, box);
      REQUIRE(part.has_value());
      parts.push_back(*std::move(part));
    }
    auto tensor = assemble(moved.result_dims, std::move(parts));
    REQUIRE(tensor.has_value());
    result.tensor = *std::move(tensor);
    return result;
  }

  std::vector<int64_t> random_dims(int64_t count) {
    std::vector<int64_t> dims;
    while (count > 1 && dims.size() < 4) {
      std::vector<int64_t> divisors;
      for (int64_t d = 2; d <= count; ++d) {
        if (count % d == 0) divisors.push_back(d);
      }
      int64_t d = divisors[static_cast<size_t>(pick(0, static_cast<int64_t>(divisors.size()) - 1))];
      dims.push_back(d);
      count /= d;
    }
    if (count > 1) dims.push_back(count);
    if (pick(0, 3) == 0) dims.insert(dims.begin() + pick(0, static_cast<int64_t>(dims.size())), 1);
    return dims;
  }

  std::vector<int64_t> small_dims() {
    std::vector<int64_t> dims;
    for (int64_t rank = pick(0, 3); rank > 0; --rank) dims.push_back(pick(1, 6));
    return dims;
  }

 private:
  Module module_;
  Computation* computation_;
  std::mt19937 random_;
  int64_t nodes_ = 0;
};

void check_same(const Both& both) {
  REQUIRE(both.tensor.count == static_cast<int64_t>(both.elements.size()));
  int64_t covered = 0;
  for (const Piece& piece : both.tensor.pieces) covered += piece.element_count();
  REQUIRE(covered == both.tensor.count);
  for (int64_t i = 0; i < both.tensor.count; ++i) {
    Place place = place_of(both.tensor, i);
    int64_t element = both.tensor.pieces[place.piece].source.node * kNode + place.source_index;
    REQUIRE(element == both.elements[static_cast<size_t>(i)]);
  }
}

TEST_CASE("random chains of movement: tensors name the elements that copies bring") {
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    CAPTURE(seed);
    Chain chain(seed);
    Both both = chain.source(chain.small_dims());
    for (int step = 0; step < 6; ++step) {
      both = chain.step(both);
      if (both.elements.size() > 3000) break;
      check_same(both);
    }
  }
}

TEST_CASE("normal form: a transposition and its inverse are nothing") {
  Chain chain(1);
  Both from = chain.source({4, 6, 5});
  std::vector<int64_t> order{2, 0, 1}, back{1, 2, 0};
  Instruction* there = chain.add(Opcode::kTranspose, chain.shape({5, 4, 6}), {from.instruction},
                                 {make_attribute(attr::dimensions, chain.keep(order))});
  Both moved = chain.apply(there, {&from}, {});
  CHECK(moved.tensor.pieces.size() == 1);
  CHECK(moved.tensor.frame == std::vector<int64_t>{5, 24});
  Instruction* here = chain.add(Opcode::kTranspose, chain.shape({4, 6, 5}), {there},
                                {make_attribute(attr::dimensions, chain.keep(back))});
  CHECK(chain.apply(here, {&moved}, {}).tensor == from.tensor);
}

TEST_CASE("normal form: pieces that continue each other are one") {
  Chain chain(2);
  Both from = chain.source({8, 3});
  auto slice = [&](int64_t start, int64_t limit) {
    std::vector<SliceDimension> ranges{{start, limit, 1}, {0, 3, 1}};
    return chain.add(Opcode::kSlice, chain.shape({limit - start, 3}), {from.instruction},
                     {make_attribute(attr::slice, chain.keep(ranges))});
  };
  Both low = chain.apply(slice(0, 5), {&from}, {});
  Both high = chain.apply(slice(5, 8), {&from}, {});
  Instruction* both =
      chain.add(Opcode::kConcatenate, chain.shape({8, 3}), {low.instruction, high.instruction},
                {make_attribute(attr::dimensions, chain.keep<int64_t>({0}))});
  CHECK(chain.apply(both, {&low, &high}, {}).tensor == from.tensor);
}

TEST_CASE("overlay: the common refinement of two tensors covers all and names both sides") {
  for (uint32_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    Chain chain(seed);
    std::vector<int64_t> dims = chain.small_dims();
    Both a = chain.source(dims), b = chain.source(dims);
    for (int step = 0; step < 4; ++step) {
      Both next = chain.step(a);
      if (next.elements.size() < 500) a = next;
    }
    auto count = static_cast<int64_t>(a.elements.size());
    b = chain.source(chain.random_dims(count));
    for (int step = 0; step < 4; ++step) {
      Both next = chain.step(b);
      if (static_cast<int64_t>(next.elements.size()) == count) b = next;
    }
    std::vector<int64_t> frame;
    auto boxes = overlay({a.tensor, b.tensor}, frame);
    REQUIRE(boxes.has_value());
    int64_t covered = 0;
    for (const Overlay& box : *boxes) {
      covered += box[0].element_count();
      int64_t index = 0;
      for (size_t axis = 0; axis < frame.size(); ++axis) {
        index = index * frame[axis] + box[0].ranges[axis].start;
      }
      CHECK(box[0].source.node * kNode + box[0].offset == a.elements[static_cast<size_t>(index)]);
      CHECK(box[1].source.node * kNode + box[1].offset == b.elements[static_cast<size_t>(index)]);
    }
    CHECK(covered == count);
  }
}

}  // namespace
}  // namespace minihlo::prove
