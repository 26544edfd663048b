#include "sim/prove/element_terms.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/row_major.h"
#include "ir/semantics/elementwise.h"
#include "ir/semantics/reducers.h"
#include "sim/prove/constants.h"
#include "sim/run/kernels/fold.h"

namespace minihlo::prove {
namespace {

// A sum of more elements than this stays one term.
constexpr int64_t kMaxSum = int64_t{1} << 16;
// What is made of more elements than this is not compared by them.
constexpr int64_t kMaxWhole = int64_t{1} << 14;

int64_t size_along(const Shape* shape, std::span<const int64_t> dims) {
  int64_t size = 1;
  for (int64_t dim : dims) size *= shape->dim(dim);
  return size;
}

bool contains(std::span<const int64_t> list, int64_t value) {
  return std::ranges::find(list, value) != list.end();
}

}  // namespace

size_t ElementTerms::KeyHash::operator()(const Key& key) const {
  size_t hash = key.what;
  for (uint32_t argument : key.arguments) hash = mix(hash, argument);
  return hash;
}

ElementTerms::ElementTerms(Terms& terms, Rules& rules)
    : terms_(terms),
      rules_(rules),
      whole_(terms.signature("element of")),
      tensor_(terms.signature("tensor")),
      row_(terms.signature("row")),
      part_(terms.signature("part")) {
  literals_.reserve(kElementTypeCount);
  for (const ElementTypeInfo& type : kElementTypes) {
    literals_.push_back(terms_.signature(fmt::format("element literal {}", type.text)));
  }
}

uint32_t ElementTerms::intern(Key key) {
  auto number = static_cast<uint32_t>(numbers_.size());
  const auto [place, is_new] = numbers_.try_emplace(std::move(key), number);
  if (is_new) {
    keys_.push_back(&place->first);
    argument_count_ += place->first.arguments.size();
  }
  return place->second;
}

std::optional<uint32_t> ElementTerms::element(Handle tensor, int64_t index) {
  // An element is worked out when those that it is made of are; a stack keeps that from being a
  // recursion as deep as the terms are.
  std::vector<Element> pending{{tensor, index}};
  std::vector<Element> elements;
  while (!pending.empty()) {
    if (done_.size() > kMaxTerms || pending.size() > kMaxTerms || argument_count_ > kMaxArguments) {
      return std::nullopt;
    }
    Element wanted = pending.back();
    if (done_.contains(wanted)) {
      pending.pop_back();
      continue;
    }
    elements.clear();
    Key key{0, {}};
    parts(wanted, elements, key);
    size_t before = pending.size();
    for (const Element& part : elements) {
      if (!done_.contains(part)) pending.push_back(part);
    }
    if (pending.size() > before) continue;
    pending.pop_back();
    const Node& node = terms_.node(wanted.tensor);
    if (node.kind == NodeKind::kAssembled) {
      done_.emplace(wanted, done_.at(elements[0]));
      continue;
    }
    for (const Element& part : elements) key.arguments.push_back(done_.at(part));
    done_.emplace(wanted, combined(wanted, std::move(key)));
  }
  return done_.at({tensor, index});
}

void ElementTerms::parts(const Element& wanted, std::vector<Element>& elements, Key& key) {
  const Node& node = terms_.node(wanted.tensor);
  auto index_words = [&] {
    key.arguments.push_back(static_cast<uint32_t>(wanted.index));
    key.arguments.push_back(static_cast<uint32_t>(wanted.index >> 32));
  };
  if (node.kind == NodeKind::kLiteral) {
    key = *keys_[constant(node.type, terms_.bytes_of(node, wanted.index))];
    return;
  }
  if (node.kind == NodeKind::kAssembled) {
    elements.push_back(terms_.source_of(wanted));
    return;
  }
  if (node.kind == NodeKind::kApply) {
    const Signature& signature = terms_.signature(node.signature);
    if (signature.kind == Signature::Kind::kPointwise || signature.kind == Signature::Kind::kFold ||
        signature.kind == Signature::Kind::kChoice) {
      key.what = node.signature;
      for (Handle argument : terms_.arguments(wanted.tensor)) {
        elements.push_back({argument, terms_.node(argument).count == 1 ? 0 : wanted.index});
      }
      return;
    }
    const Instruction* instruction = signature.instruction;
    if (instruction && instruction->opcode() == Opcode::kDot && instruction->operand_count() == 2 &&
        size_along(instruction->operand(0)->shape(),
                   instruction->get(attr::lhs_contracting_dims)) <= kMaxSum) {
      return dot_parts(wanted, *instruction, elements, key);
    }
    if (instruction && instruction->opcode() == Opcode::kReduce &&
        instruction->operand_count() == 2 &&
        size_along(instruction->operand(0)->shape(), instruction->get(attr::dimensions)) <=
            kMaxSum) {
      return reduce_parts(wanted, *instruction, elements, key);
    }
    if (instruction && instruction->opcode() == Opcode::kReduceWindow &&
        window_parts(wanted, *instruction, elements, key)) {
      return;
    }
    if (instruction && instruction->opcode() == Opcode::kConvolution &&
        convolution_parts(wanted, *instruction, elements, key)) {
      return;
    }
    if (instruction && pick_parts(wanted, *instruction, elements, key)) return;
    if (whole_parts(wanted, elements, key)) return;
  }
  key.what = whole_;
  key.arguments = {wanted.tensor.node, static_cast<uint32_t>(wanted.tensor.device)};
  index_words();
}

// All elements of all arguments, where they are not many: what is made of equal elements is equal.
bool ElementTerms::whole_parts(const Element& wanted, std::vector<Element>& elements, Key& key) {
  if (const auto made = made_.find(wanted.tensor); made != made_.end()) {
    key = part_of(made->second, wanted);
    return true;
  }
  int64_t count = 0;
  const std::vector<Handle> arguments = terms_.arguments(wanted.tensor);
  for (Handle argument : arguments) {
    count += terms_.node(argument).count;
    if (count > kMaxWhole) return false;
  }
  if (count == 0) return false;
  for (Handle argument : arguments) {
    for (int64_t i = 0; i < terms_.node(argument).count; ++i) elements.push_back({argument, i});
  }
  key.what = part_;
  return true;
}

ElementTerms::Key ElementTerms::part_of(uint32_t made, const Element& wanted) const {
  return {part_,
          {made, static_cast<uint32_t>(terms_.node(wanted.tensor).number),
           static_cast<uint32_t>(wanted.index), static_cast<uint32_t>(wanted.index >> 32)}};
}

// An element of what is made of rows of elements.
uint32_t ElementTerms::part(const Element& wanted, const Key& all) {
  Key made{terms_.node(wanted.tensor).signature, {}};
  auto next = all.arguments.begin();
  for (Handle argument : terms_.arguments(wanted.tensor)) {
    const auto end = next + terms_.node(argument).count;
    made.arguments.push_back(intern({row_, {next, end}}));
    next = end;
  }
  const uint32_t number = intern(std::move(made));
  made_.emplace(wanted.tensor, number);
  return intern(part_of(number, wanted));
}

// The start value, then the elements in row-major order of the reduced dimensions.
void ElementTerms::reduce_parts(const Element& wanted, const Instruction& reduce,
                                std::vector<Element>& elements, Key& key) {
  std::vector<Handle> arguments = terms_.arguments(wanted.tensor);
  const Shape* from = reduce.operand(0)->shape();
  std::span<const int64_t> reduced = reduce.get(attr::dimensions);
  const std::string& whole = terms_.signature(terms_.node(wanted.tensor).signature).key;
  // Floats along long axes are summed in blocks, whose places depend on all extents but 1.
  std::vector<int64_t> extents;
  for (int64_t axis = 0; axis < from->rank(); ++axis) {
    if (contains(reduced, axis) && from->dim(axis) != 1) extents.push_back(from->dim(axis));
  }
  const bool rounds = is_float(from->element_type()) || is_complex(from->element_type());
  if (!rounds || std::ranges::all_of(extents, [](int64_t n) { return n <= kBlockExtent; })) {
    extents.clear();
  }
  const std::optional<Opcode> step = terms_.signature(terms_.node(wanted.tensor).signature).steps;
  if (step && extents.empty()) {
    key.what = rules_.functions().of(*step, reduce.shape()->element_type());
  } else {
    // The called computation stands in braces at the end of the key.
    key.what = terms_.signature(
        fmt::format("element reduce {} {} {}", to_string(from->element_type()),
                    fmt::join(extents, "x"), std::string_view(whole).substr(whole.rfind('{'))));
  }
  std::vector<int64_t> at = multi_index(wanted.index, reduce.shape()->dims());
  std::vector<int64_t> own(from->dims().size(), 0);
  std::vector<int64_t> sizes, axes;
  int64_t count = 1;
  size_t next = 0;
  for (size_t axis = 0; axis < own.size(); ++axis) {
    if (contains(reduced, static_cast<int64_t>(axis))) {
      sizes.push_back(from->dim(static_cast<int64_t>(axis)));
      axes.push_back(static_cast<int64_t>(axis));
      count *= sizes.back();
    } else {
      own[axis] = at[next++];
    }
  }
  elements.push_back({arguments[1], 0});
  for (int64_t i = 0; i < count; ++i) {
    std::vector<int64_t> summed = multi_index(i, sizes);
    for (size_t k = 0; k < summed.size(); ++k) own[static_cast<size_t>(axes[k])] = summed[k];
    elements.push_back({arguments[0], linear_index(own, from->dims())});
  }
}

uint32_t ElementTerms::combined(const Element& wanted, Key key) {
  const Node& node = terms_.node(wanted.tensor);
  if (node.kind != NodeKind::kApply || key.what == whole_) return intern(std::move(key));
  if (key.what == part_) {
    return made_.contains(wanted.tensor) ? intern(std::move(key)) : part(wanted, key);
  }
  const Signature& signature = terms_.signature(node.signature);
  std::vector<Ref> refs(key.arguments.begin(), key.arguments.end());
  if (signature.kind == Signature::Kind::kChoice) return chosen(node, std::move(refs));
  auto normal = [&](uint32_t function, std::vector<Ref> arguments) {
    return rules_.normal(function, std::move(arguments), *this);
  };
  if (signature.kind == Signature::Kind::kOpaque) {
    if (signature.folds) {
      return static_cast<uint32_t>(
          normal(rules_.functions().exact_fold(*signature.folds, node.type), std::move(refs)));
    }
    if (signature.steps && key.what == rules_.functions().of(*signature.steps, node.type)) {
      return chain(key.what, refs);
    }
    if (!signature.instruction) return intern(std::move(key));
    switch (signature.instruction->opcode()) {
      case Opcode::kConvolution:
      case Opcode::kDot:
        return sum_of_products(*signature.instruction, std::move(key));
      case Opcode::kDynamicSlice:
      case Opcode::kGather:
        return picked(wanted, *signature.instruction, key);
      default:
        return intern(std::move(key));
    }
  }
  return applied(node, std::move(refs));
}

// A function that works element by element.
uint32_t ElementTerms::applied(const Node& node, std::vector<Ref> refs) {
  const Signature& signature = terms_.signature(node.signature);
  if (signature.folds) return chain(rules_.functions().of(*signature.folds, node.type), refs);
  return static_cast<uint32_t>(rules_.normal(node.signature, std::move(refs), *this));
}

// From the first on, as instructions one after the other.
uint32_t ElementTerms::chain(uint32_t step, std::span<const Ref> terms) {
  Ref value = terms[0];
  for (Ref term : terms.subspan(1)) value = rules_.normal(step, {value, term}, *this);
  return static_cast<uint32_t>(value);
}

// The branch that a test chooses: where it is a number that is none of them, the last one.
uint32_t ElementTerms::chosen(const Node& node, std::vector<Ref> refs) {
  const ElementType test = terms_.node(node.arguments[0]).type;
  Functions& functions = rules_.functions();
  const uint32_t select = functions.select(node.type);
  if (test == ElementType::PRED) {
    return static_cast<uint32_t>(rules_.normal(select, std::move(refs), *this));
  }
  Ref value = refs.back();
  for (size_t branch = refs.size() - 2; branch-- > 0;) {
    const Ref number = constant(test, integer_constant(test, branch).span());
    const Ref is_branch = rules_.normal(functions.compare(ComparisonDirection::kEq, false, test),
                                        {refs[0], number}, *this);
    value = rules_.normal(select, {is_branch, refs[1 + branch], value}, *this);
  }
  return static_cast<uint32_t>(value);
}

uint32_t ElementTerms::literal_of(ElementType type) { return literals_[static_cast<size_t>(type)]; }

TermStore::Ref ElementTerms::constant(ElementType type, std::span<const std::byte> value) {
  Key key{literal_of(type), {}};
  for (size_t at = 0; at < value.size(); at += 4) {
    uint32_t part = 0;
    std::memcpy(&part, value.data() + at, std::min<size_t>(4, value.size() - at));
    key.arguments.push_back(part);
  }
  return intern(std::move(key));
}

TermStore::Ref ElementTerms::make(uint32_t function, std::span<const Ref> arguments) {
  Key key{function, {}};
  for (Ref argument : arguments) key.arguments.push_back(static_cast<uint32_t>(argument));
  return intern(std::move(key));
}

std::optional<std::span<const std::byte>> ElementTerms::literal(Ref ref, ElementType type) const {
  const Key& key = *keys_[ref];
  if (key.what != literals_[static_cast<size_t>(type)]) return std::nullopt;
  return std::as_bytes(std::span(key.arguments)).first(static_cast<size_t>(info(type).bytes));
}

std::optional<uint32_t> ElementTerms::function(Ref ref) const {
  const uint32_t what = keys_[ref]->what;
  if (!terms_.signature(what).opcode) return std::nullopt;
  return what;
}

std::vector<TermStore::Ref> ElementTerms::arguments(Ref ref) const {
  const std::vector<uint32_t>& own = keys_[ref]->arguments;
  return {own.begin(), own.end()};
}

}  // namespace minihlo::prove
