#include "passes/loops/trip_count.h"

#include <algorithm>
#include <set>
#include <vector>

#include "ir/semantics/evaluate.h"

namespace minihlo {
namespace {

constexpr int64_t kMaxBytes = 1 << 12;           // of one value
constexpr int64_t kMaxSteps = int64_t{1} << 22;  // instructions looked at, for one loop
constexpr int kMaxDepth = 16;                    // of calls within calls

using Bytes = std::optional<ElementBytesList>;  // nothing: not known
// A value by its parts: the elements of a tuple, or the one array.
using Parts = std::vector<Bytes>;

class Counter {
 public:
  Counter(const Instruction& loop, KnownValues& values)
      : loop_(loop),
        test_(*loop.get(attr::condition)),
        body_(*loop.get(attr::body)),
        state_(start(values)) {}

  std::optional<int64_t> count(int64_t max_trips) {
    if (!find_needed()) return std::nullopt;
    for (int64_t trips = 0; trips <= max_trips; ++trips) {
      Parts again = run(test_, {state_}, {0}, 0);
      if (steps_ > kMaxSteps || again.empty() || !again[0]) return std::nullopt;
      if ((*again[0])[0] == std::byte{0}) return trips;
      Parts next = run(body_, {state_}, needed_, 0);
      if (next.empty()) return std::nullopt;
      for (size_t i : needed_) state_[i] = std::move(next[i]);
    }
    return std::nullopt;
  }

 private:
  static size_t part_count(const Shape* shape) {
    return shape->is_tuple() ? shape->elements().size() : 1;
  }

  // The part that `root` has at `index`, where one instruction stands for it.
  static const Instruction* part_of(const Instruction* root, size_t index) {
    if (!root->shape()->is_tuple()) return root;
    return root->opcode() == Opcode::kTuple ? root->operand(index) : nullptr;
  }

  Parts start(KnownValues& values) const {
    Parts result(part_count(loop_.shape()));
    for (size_t i = 0; i < result.size(); ++i) {
      const Instruction* part = part_of(loop_.operand(0), i);
      if (!part || !part->shape()->is_array() || part->shape()->byte_count() > kMaxBytes ||
          !values.is_uniform(*part)) {
        continue;
      }
      std::span<const std::byte> bytes = *values.bytes(*part, 0);
      result[i].emplace(bytes.begin(), bytes.end());
    }
    return result;
  }

  static bool is_part_of_parameter(const Instruction* at) {
    return at->opcode() == Opcode::kGetTupleElement &&
           at->operand(0)->opcode() == Opcode::kParameter;
  }

  // Which instructions the parts `wanted` of the root depend on.
  static std::vector<bool> slice(const Computation& computation, const std::set<size_t>& wanted) {
    std::vector<bool> in(computation.size());
    for (size_t i : wanted) {
      const Instruction* part = part_of(computation.root(), i);
      in[(part ? part : computation.root())->number()] = true;
    }
    std::span<Instruction* const> list = computation.instructions();
    for (size_t i = list.size(); i-- > 0;) {
      if (!in[i]) continue;
      const Instruction* at = list[i];
      // One element of a tuple that is made here, or of a parameter, needs nothing of the others.
      if (at->opcode() == Opcode::kGetTupleElement && at->operand(0)->opcode() == Opcode::kTuple) {
        in[at->operand(0)->operand(static_cast<size_t>(at->get(attr::index)))->number()] = true;
        continue;
      }
      if (is_part_of_parameter(at)) continue;
      for (const Instruction* operand : at->operands()) in[operand->number()] = true;
    }
    return in;
  }

  // Parts of the state that the test depends on, and what those step by. False where one of them is
  // the whole state, or starts unknown.
  bool find_needed() {
    std::vector<size_t> open;
    auto need = [&](const Computation& computation, const std::set<size_t>& wanted) {
      const std::vector<bool> in = slice(computation, wanted);
      for (const Instruction* at : computation.instructions()) {
        if (!in[at->number()]) continue;
        if (at->opcode() == Opcode::kParameter) {
          if (at->shape()->is_tuple()) return false;
          if (needed_.insert(0).second) open.push_back(0);
        } else if (is_part_of_parameter(at)) {
          const auto index = static_cast<size_t>(at->get(attr::index));
          if (needed_.insert(index).second) open.push_back(index);
        }
      }
      return true;
    };
    if (!need(test_, {0})) return false;
    while (!open.empty()) {
      const size_t index = open.back();
      open.pop_back();
      if (!state_[index] || !need(body_, {index})) return false;
    }
    return true;
  }

  // The parts `wanted` of the result of a computation; empty where it takes too long.
  Parts run(const Computation& computation, const std::vector<Parts>& arguments,
            const std::set<size_t>& wanted, int depth) {
    const std::vector<bool> in = slice(computation, wanted);
    std::vector<Parts> values(computation.size());
    steps_ += static_cast<int64_t>(computation.size()) / 16;
    for (const Instruction* at : computation.instructions()) {
      if (!in[at->number()]) continue;
      if (++steps_ > kMaxSteps) return {};
      values[at->number()] = value(*at, values, arguments, depth);
    }
    const Instruction* root = computation.root();
    Parts result(part_count(root->shape()));
    for (size_t i : wanted) {
      const Instruction* part = part_of(root, i);
      const Parts& from = values[(part ? part : root)->number()];
      const size_t place = part && part != root ? 0 : i;
      if (place < from.size() && (!part || !part->shape()->is_tuple() || part == root)) {
        result[i] = from[place];
      }
    }
    return result;
  }

  Parts value(const Instruction& at, const std::vector<Parts>& values,
              const std::vector<Parts>& arguments, int depth) {
    Parts unknown(part_count(at.shape()));
    switch (at.opcode()) {
      case Opcode::kParameter: {
        const auto number = static_cast<size_t>(at.get(attr::parameter_number));
        return arguments[number].size() == unknown.size() ? arguments[number] : unknown;
      }
      case Opcode::kGetTupleElement: {
        if (!at.shape()->is_array()) return unknown;
        const auto index = static_cast<size_t>(at.get(attr::index));
        const Instruction* from = at.operand(0);
        if (from->opcode() == Opcode::kTuple) return values[from->operand(index)->number()];
        const Parts& parts = from->opcode() == Opcode::kParameter
                                 ? arguments[static_cast<size_t>(from->get(attr::parameter_number))]
                                 : values[from->number()];
        return index < parts.size() ? Parts{parts[index]} : unknown;
      }
      case Opcode::kCall:
      case Opcode::kFusion: {
        if (depth >= kMaxDepth) return unknown;
        std::vector<Parts> own;
        for (const Instruction* operand : at.operands()) own.push_back(values[operand->number()]);
        std::set<size_t> all;
        for (size_t i = 0; i < unknown.size(); ++i) all.insert(i);
        const Computation* called =
            at.opcode() == Opcode::kCall ? at.get(attr::to_apply) : at.get(attr::calls);
        Parts result = run(*called, own, all, depth + 1);
        return result.size() == unknown.size() ? result : unknown;
      }
      default:
        break;
    }
    if (!can_evaluate(at)) return unknown;
    std::vector<std::span<const std::byte>> spans;
    for (const Instruction* operand : at.operands()) {
      const Parts& parts = values[operand->number()];
      if (parts.size() != 1 || !parts[0]) return unknown;
      spans.push_back(*parts[0]);
    }
    return {evaluate(at, spans, kMaxBytes)};
  }

  const Instruction& loop_;
  const Computation& test_;
  const Computation& body_;
  Parts state_;
  std::set<size_t> needed_;
  int64_t steps_ = 0;
};

}  // namespace

std::optional<int64_t> trip_count(const Instruction& loop, KnownValues& values, int64_t max_trips) {
  return Counter(loop, values).count(max_trips);
}

}  // namespace minihlo
