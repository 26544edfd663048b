#include "sim/run/kernels/sort_keys.h"

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstring>
#include <map>
#include <type_traits>
#include <utility>

#include "ir/numbers.h"
#include "sim/run/kernels/order_key.h"

namespace minihlo {
namespace {

constexpr int64_t kBlock = 512;  // elements; the values of a block stay in the nearest cache
constexpr int kMaxVisits = 256;  // instructions of a comparator that is looked into

template <class T>
constexpr bool kIsComplex =
    std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

// The number of one key in ascending order of compare with type=TOTALORDER.
template <class Number, class T>
Number number_of(T value) {
  if constexpr (IsMiniFloat<T>::value) {
    // compare puts the one NaN of such a type below all.
    if (T::kKind == FloatKind::kFnuz && static_cast<float>(value) != static_cast<float>(value)) {
      return 0;
    }
  }
  return order_number<Number>(value);
}

template <class Number, class T>
void write_numbers(const T* keys, int64_t count, bool descending, bool is_total_order,
                   Number* numbers) {
  constexpr Number kAll = static_cast<Number>(~Number{0});
  const Number turn = descending ? kAll : 0;
  for (int64_t i = 0; i < count; ++i) {
    T key = keys[i];
    if constexpr (is_float(element_type_of<T>)) {
      using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
      if (!is_total_order) {
        const auto wide = static_cast<Wide>(key);
        if (wide != wide) {
          numbers[i] = kAll;
          continue;
        }
        if (wide == 0) key = T(Wide{0});
      }
    }
    numbers[i] = number_of<Number>(key) ^ turn;
  }
}

}  // namespace

void SortKey::number(std::span<const std::byte* const> operands, int64_t begin, int64_t end,
                     std::byte* numbers) const {
  // Offsets in blocks of memory are multiples of kBlock bytes, so all are aligned.
  size_t bytes = 0;
  for (const Value& value : values_) {
    if (value.op) bytes += static_cast<size_t>(kBlock * info(value.type).bytes);
  }
  std::vector<std::max_align_t> memory(bytes / sizeof(std::max_align_t) + 1);
  std::vector<const std::byte*> places(values_.size());
  for (int64_t at = begin; at < end; at += kBlock) {
    const int64_t count = std::min(kBlock, end - at);
    auto* next = reinterpret_cast<std::byte*>(memory.data());
    for (size_t i = 0; i < values_.size(); ++i) {
      const Value& value = values_[i];
      const int64_t width = info(value.type).bytes;
      if (value.operand >= 0) {
        places[i] = operands[static_cast<size_t>(value.operand)] + at * width;
      } else if (value.constant) {
        places[i] = value.constant->bytes;
      } else if (!value.op) {
        places[i] = places[static_cast<size_t>(value.inputs[0])];
      } else {
        const std::byte* inputs[ElementwiseOp::kMaxOperands] = {};
        int64_t steps[ElementwiseOp::kMaxOperands] = {};
        for (int k = 0; k < value.op->operand_count(); ++k) {
          const auto input = static_cast<size_t>(value.inputs[static_cast<size_t>(k)]);
          inputs[k] = places[input];
          steps[k] = values_[input].is_single ? 0 : 1;
        }
        (*value.op)(count, inputs, steps, next);
        places[i] = next;
        next += kBlock * width;
      }
    }
    dispatch(type_, [&]<class T>(std::type_identity<T>) {
      if constexpr (!kIsComplex<T>) {
        using Number = OrderNumber<T>;
        write_numbers(reinterpret_cast<const T*>(places.back()), count, descending_,
                      is_total_order_, reinterpret_cast<Number*>(numbers) + at);
      }
    });
  }
}

// Follows the comparator's instructions from its root. The two sides of a function of elements are
// one node: what tells them apart is noted beside it.
class ComparatorReader {
 public:
  std::optional<SortKeys> read(const Computation& comparator) {
    Frame frame;
    for (size_t i = 0; i < comparator.parameters().size(); ++i) {
      const Instruction* parameter = comparator.parameters()[i];
      if (!parameter || !parameter->shape()->is_scalar()) return {};
      Node node{Opcode::kParameter, {}, {}};
      node.value.operand = static_cast<int>(i / 2);
      node.value.type = parameter->shape()->element_type();
      frame.arguments.push_back({intern(std::move(node)), i % 2 == 0 ? kFirst : kSecond});
    }
    const Found root = visit(*comparator.root(), frame);
    const Order* order = order_of(root, Order::Kind::kBefore);
    if (!order) return {};
    SortKeys keys;
    for (const Question& question : order->questions) keys.keys.push_back(key(question));
    keys.is_strict = order->is_strict;
    if (keys.keys.size() > 1 && std::ranges::any_of(keys.keys, &SortKey::may_be_unordered)) {
      return {};
    }
    return keys;
  }

 private:
  // Sets of sides.
  static constexpr int kFirst = 1, kSecond = 2, kBoth = 3;

  struct Node {
    Opcode opcode;
    std::array<int, 2> attributes;  // what the operation depends on beside opcode and types
    SortKey::Value value;
  };
  // How the keys of the first and the second element compare.
  struct Question {
    int node;
    bool is_total_order;
    bool descending = false;
  };
  struct Order {
    enum class Kind { kBefore, kSame, kSameThenBefore };
    Kind kind;
    std::vector<Question> questions;
    bool is_strict = true;
  };
  // A value: a node's, of some sides, or an order's, or neither.
  struct Found {
    int node = -1;
    int sides = 0;
    int order = -1;
  };
  struct Frame {
    std::vector<Found> arguments;
    std::map<const Instruction*, Found> found;
  };

  Found visit(const Instruction& instruction, Frame& frame) {
    if (auto known = frame.found.find(&instruction); known != frame.found.end()) {
      return known->second;
    }
    if (++visits_ > kMaxVisits || !instruction.shape()->is_array() ||
        !instruction.shape()->is_scalar()) {
      return {};
    }
    const Found found = look_at(instruction, frame);
    frame.found.emplace(&instruction, found);
    return found;
  }

  Found look_at(const Instruction& instruction, Frame& frame) {
    if (instruction.opcode() == Opcode::kParameter) {
      const auto number = static_cast<size_t>(instruction.get(attr::parameter_number));
      return number < frame.arguments.size() ? frame.arguments[number] : Found{};
    }
    if (instruction.opcode() == Opcode::kConstant) return constant(instruction);
    std::vector<Found> operands;
    for (const Instruction* operand : instruction.operands()) {
      operands.push_back(visit(*operand, frame));
    }
    switch (instruction.opcode()) {
      case Opcode::kCall:
      case Opcode::kFusion: {
        Frame inner{std::move(operands), {}};
        return visit(*instruction.called_computations()[0]->root(), inner);
      }
      case Opcode::kBitcast:
      case Opcode::kBitcastConvert:
      case Opcode::kBroadcast:
      case Opcode::kCopy:
      case Opcode::kReshape:
      case Opcode::kTranspose:
        return same_bits(instruction, operands[0]);
      default:
        break;
    }
    if (info(instruction.opcode()).family != Family::kElementwise) return {};
    if (instruction.opcode() == Opcode::kCompare) {
      const Found order = compare(instruction, operands[0], operands[1]);
      if (order.order >= 0) return order;
    }
    if (std::ranges::any_of(operands, [](const Found& found) { return found.order >= 0; })) {
      return combine(instruction.opcode(), operands);
    }
    return elementwise(instruction, operands);
  }

  Found constant(const Instruction& instruction) {
    const Literal* literal = instruction.get(attr::literal_value);
    if (!literal->is_known()) return {};
    Node node{Opcode::kConstant, {}, {}};
    node.value.type = instruction.shape()->element_type();
    node.value.is_single = true;
    SortKey::Constant& value = node.value.constant.emplace();
    std::memcpy(value.bytes, literal->bytes.data(), literal->bytes.size());
    return {intern(std::move(node))};
  }

  Found same_bits(const Instruction& instruction, const Found& operand) {
    const ElementType to = instruction.shape()->element_type();
    if (operand.node < 0) return operand.order >= 0 && to == ElementType::PRED ? operand : Found{};
    const SortKey::Value& from = nodes_[static_cast<size_t>(operand.node)].value;
    if (from.type == to) return operand;
    if (info(from.type).bits != info(to).bits || info(to).bits % 8 != 0) return {};
    Node node{Opcode::kBitcastConvert, {}, {}};
    node.value.type = to;
    node.value.inputs[0] = operand.node;
    node.value.is_single = from.is_single;
    return {intern(std::move(node)), operand.sides};
  }

  Found elementwise(const Instruction& instruction, const std::vector<Found>& operands) {
    Found found;
    auto op = elementwise_op(instruction);
    if (!op) return {};
    Node node{instruction.opcode(), {}, {}};
    for (size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].node < 0) return {};
      node.value.inputs[i] = operands[i].node;
      found.sides |= operands[i].sides;
    }
    if (found.sides == kBoth) return {};
    if (instruction.opcode() == Opcode::kCompare) {
      node.attributes = {static_cast<int>(instruction.get(attr::direction)),
                         instruction.comparison_type() == ComparisonType::kTotalOrder};
    } else if (instruction.opcode() == Opcode::kReducePrecision) {
      node.attributes = {static_cast<int>(instruction.get(attr::exponent_bits)),
                         static_cast<int>(instruction.get(attr::mantissa_bits))};
    }
    node.value.type = instruction.shape()->element_type();
    node.value.op = *std::move(op);
    found.node = intern(std::move(node));
    return found;
  }

  Found compare(const Instruction& instruction, const Found& left, const Found& right) {
    if (left.node < 0 || left.node != right.node || left.sides + right.sides != kBoth ||
        left.sides == 0 || right.sides == 0 ||
        is_complex(instruction.operand(0)->shape()->element_type())) {
      return {};
    }
    Question question{left.node, instruction.comparison_type() == ComparisonType::kTotalOrder};
    const ComparisonDirection direction = instruction.get(attr::direction);
    using enum ComparisonDirection;
    if (direction == kNe) return {};
    if (direction == kEq) return add({Order::Kind::kSame, {question}});
    const bool is_less = direction == kLt || direction == kLe;
    question.descending = is_less != (left.sides == kFirst);
    return add({Order::Kind::kBefore, {question}, direction == kLt || direction == kGt});
  }

  Found combine(Opcode opcode, const std::vector<Found>& operands) {
    if (opcode == Opcode::kAnd) {
      const Found either[] = {both(operands[0], operands[1]), both(operands[1], operands[0])};
      return either[either[0].order < 0];
    }
    if (opcode == Opcode::kOr) {
      const Found either[] = {joined(operands[0], operands[1]), joined(operands[1], operands[0])};
      return either[either[0].order < 0];
    }
    if (opcode == Opcode::kSelect) return joined(operands[2], both(operands[0], operands[1]));
    return {};
  }

  // Whether the keys are the same, and the rest is before.
  Found both(const Found& same, const Found& rest) {
    const Order* key = order_of(same, Order::Kind::kSame);
    const Order* next = order_of(rest, Order::Kind::kBefore);
    if (!key || !next) return {};
    Order order{Order::Kind::kSameThenBefore, key->questions, next->is_strict};
    order.questions.insert(order.questions.end(), next->questions.begin(), next->questions.end());
    return add(std::move(order));
  }

  // Whether the key is before, or is the same and the rest before.
  Found joined(const Found& before, const Found& otherwise) {
    const Order* key = order_of(before, Order::Kind::kBefore);
    const Order* next = order_of(otherwise, Order::Kind::kSameThenBefore);
    if (!key || !next || key->questions.size() != 1 || !key->is_strict ||
        key->questions[0].node != next->questions[0].node ||
        key->questions[0].is_total_order != next->questions[0].is_total_order) {
      return {};
    }
    Order order{Order::Kind::kBefore, next->questions, next->is_strict};
    order.questions[0] = key->questions[0];
    return add(std::move(order));
  }

  const Order* order_of(const Found& found, Order::Kind kind) const {
    if (found.order < 0) return nullptr;
    const Order& order = orders_[static_cast<size_t>(found.order)];
    return order.kind == kind ? &order : nullptr;
  }
  Found add(Order order) {
    orders_.push_back(std::move(order));
    return {-1, 0, static_cast<int>(orders_.size()) - 1};
  }

  // The number of the node that is the same function of the same values.
  int intern(Node node) {
    auto is_same = [&](const Node& other) {
      const SortKey::Value &a = node.value, &b = other.value;
      return node.opcode == other.opcode && node.attributes == other.attributes &&
             a.type == b.type && a.operand == b.operand && a.inputs == b.inputs &&
             (!a.constant || std::ranges::equal(a.constant->bytes, b.constant->bytes));
    };
    const auto place = std::ranges::find_if(nodes_, is_same);
    const auto number = static_cast<int>(place - nodes_.begin());
    if (place == nodes_.end()) nodes_.push_back(std::move(node));
    return number;
  }

  SortKey key(const Question& question) const {
    std::vector<int> places(nodes_.size(), -1);  // among the key's values; -2: it is one
    const auto last = static_cast<size_t>(question.node);
    places[last] = -2;
    for (size_t i = last + 1; i-- > 0;) {
      if (places[i] != -2) continue;
      for (size_t k = 0; k < input_count(nodes_[i]); ++k) {
        places[static_cast<size_t>(nodes_[i].value.inputs[k])] = -2;
      }
    }
    SortKey key;
    for (size_t i = 0; i <= last; ++i) {
      if (places[i] != -2) continue;
      places[i] = static_cast<int>(key.values_.size());
      SortKey::Value value = nodes_[i].value;
      for (size_t k = 0; k < input_count(nodes_[i]); ++k) {
        value.inputs[k] = places[static_cast<size_t>(value.inputs[k])];
      }
      key.values_.push_back(std::move(value));
    }
    key.type_ = nodes_[last].value.type;
    key.descending_ = question.descending;
    key.is_total_order_ = question.is_total_order;
    return key;
  }
  static size_t input_count(const Node& node) {
    if (node.value.op) return static_cast<size_t>(node.value.op->operand_count());
    return node.value.operand < 0 && !node.value.constant ? 1 : 0;
  }

  int visits_ = 0;
  std::vector<Node> nodes_;
  std::vector<Order> orders_;
};

std::optional<SortKeys> sort_keys(const Computation& comparator) {
  return ComparatorReader().read(comparator);
}

}  // namespace minihlo
