// Errors in which elements are taken, and in their values.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "ir/float_format.h"
#include "ir/numbers.h"
#include "ir/semantics/evaluate.h"
#include "ir/semantics/movement.h"
#include "passes/errors/kinds.h"

namespace minihlo::errors {
namespace {

constexpr int64_t kMaxConstantBytes = int64_t{1} << 20;

// Lists of dimensions that an instruction may have.
constexpr AttributeKey<std::span<const int64_t>> kDimensionLists[] = {
    attr::dimensions,
    attr::lhs_contracting_dims,
    attr::rhs_contracting_dims,
    attr::lhs_batch_dims,
    attr::rhs_batch_dims,
    attr::offset_dims,
    attr::collapsed_slice_dims,
    attr::start_index_map,
    attr::update_window_dims,
    attr::inserted_window_dims,
    attr::scatter_dims_to_operand_dims,
};
constexpr AttributeKey<int64_t> kDimensions[] = {attr::iota_dimension, attr::feature_index};

// Whatever may be numbered: dimensions of the result or an operand.
int64_t highest_rank(const Instruction& at) {
  int64_t rank = at.shape()->is_array() ? at.shape()->rank() : 0;
  for (const Instruction* operand : at.operands()) {
    if (operand->shape()->is_array()) rank = std::max(rank, operand->shape()->rank());
  }
  return rank;
}

// The type that a value of `type` is narrowed to; nothing where there is none.
std::optional<ElementType> narrower(ElementType type) {
  switch (type) {
    case ElementType::F64:
      return ElementType::F32;
    case ElementType::F32:
      return ElementType::BF16;
    case ElementType::BF16:
    case ElementType::F16:
      return ElementType::F8E5M2;
    case ElementType::C128:
      return ElementType::C64;
    case ElementType::S64:
      return ElementType::S32;
    case ElementType::U64:
      return ElementType::U32;
    case ElementType::S32:
      return ElementType::S8;
    case ElementType::U32:
      return ElementType::U8;
    default:
      return std::nullopt;
  }
}

// Another value of the type in the place of one.
void change(ElementType type, std::byte* element) {
  const auto width = static_cast<size_t>(info(type).bytes);
  if (is_float(type)) {
    const double value = decode_float(type, element);
    std::vector<std::byte> before(element, element + width);
    encode_float(type, value + 1, element);
    // What is too large to be changed so, or no number.
    if (std::memcmp(before.data(), element, width) == 0) encode_float(type, 1, element);
    if (std::memcmp(before.data(), element, width) == 0) encode_float(type, 2, element);
    return;
  }
  // Signed narrow values stay sign-extended.
  const int bits = type == ElementType::PRED ? 1 : info(type).bits;
  element[0] ^= std::byte{1};
  if (bits == 1 && is_signed(type))
    element[0] = element[0] == std::byte{1} ? std::byte{0xff} : std::byte{0};
}

}  // namespace

std::string axis(Site& site) {
  const int64_t rank = highest_rank(*site.at);
  if (rank < 2) return "";
  std::vector<AttributeKey<std::span<const int64_t>>> lists;
  for (AttributeKey<std::span<const int64_t>> key : kDimensionLists) {
    if (!site.at->get(key).empty()) lists.push_back(key);
  }
  if (!lists.empty()) {
    const AttributeKey<std::span<const int64_t>> key = site.random.pick(lists);
    std::vector<int64_t> dims(site.at->get(key).begin(), site.at->get(key).end());
    const auto size = static_cast<int64_t>(dims.size());
    const auto i = static_cast<size_t>(site.random.below(size));
    if (size > 1 && site.random.below(2) == 0) {
      const auto j =
          static_cast<size_t>((static_cast<int64_t>(i) + 1 + site.random.below(size - 1)) % size);
      std::swap(dims[i], dims[j]);
    } else {
      dims[i] = (dims[i] + 1 + site.random.below(rank - 1)) % rank;
    }
    site.at->set(key, keep_ints(site.emit.module(), dims));
    return fmt::format("{}={{{}}}", info(key.id).text, fmt::join(dims, ","));
  }
  for (AttributeKey<int64_t> key : kDimensions) {
    auto before = site.at->find(key);
    if (!before) continue;
    const int64_t now = (*before + 1 + site.random.below(rank - 1)) % rank;
    site.at->set(key, now);
    return fmt::format("{}={} in place of {}", info(key.id).text, now, *before);
  }
  return "";
}

std::string slice_bounds(Site& site) {
  if (site.at->opcode() != Opcode::kSlice) return "";
  std::span<const SliceDimension> before = site.at->get(attr::slice);
  std::vector<SliceDimension> ranges(before.begin(), before.end());
  std::vector<int64_t> dims;  // those with room to move in
  for (size_t i = 0; i < ranges.size(); ++i) {
    const auto dim = static_cast<int64_t>(i);
    if (ranges[i].start > 0 || ranges[i].limit < site.at->operand(0)->shape()->dim(dim)) {
      dims.push_back(dim);
    }
  }
  if (dims.empty()) return "";
  const int64_t dim = site.random.pick(dims);
  SliceDimension& range = ranges[static_cast<size_t>(dim)];
  const int64_t size = site.at->operand(0)->shape()->dim(dim);
  const bool down = range.limit >= size || (range.start > 0 && site.random.below(2) == 0);
  range.start += down ? -1 : 1;
  range.limit += down ? -1 : 1;
  site.at->set(attr::slice, site.emit.rewriter().arena().copy(ranges));
  return fmt::format("dimension {} from {} to {}", dim, range.start, range.limit);
}

std::string padding(Site& site) {
  std::span<const PaddingDimension> before = site.at->get(attr::padding);
  if (site.at->opcode() != Opcode::kPad || before.empty()) return "";
  std::vector<PaddingDimension> dims(before.begin(), before.end());
  const auto dim = site.random.below(static_cast<int64_t>(dims.size()));
  PaddingDimension& one = dims[static_cast<size_t>(dim)];
  const int64_t step = one.high > 0 ? 1 : -1;
  one.low += step;
  one.high -= step;
  site.at->set(attr::padding, site.emit.rewriter().arena().copy(dims));
  return fmt::format("dimension {} has {} before it and {} behind it", dim, one.low, one.high);
}

std::string window(Site& site) {
  std::span<const WindowDimension> before = site.at->get(attr::window);
  if (before.empty()) return "";
  std::vector<WindowDimension> dims(before.begin(), before.end());
  const auto dim = site.random.below(static_cast<int64_t>(dims.size()));
  WindowDimension& one = dims[static_cast<size_t>(dim)];
  const int64_t step = one.padding_high > 0 ? 1 : -1;
  one.padding_low += step;
  one.padding_high -= step;
  site.at->set(attr::window, site.emit.rewriter().arena().copy(dims));
  return fmt::format("dimension {} has {} before it and {} behind it", dim, one.padding_low,
                     one.padding_high);
}

std::string index_off_by_one(Site& site) {
  Instruction* at = site.at;
  size_t first = 0, end = 0;
  switch (at->opcode()) {
    case Opcode::kDynamicSlice:
    case Opcode::kDynamicUpdateSlice:
      first = moved_operand_count(*at);
      end = at->operand_count();
      break;
    case Opcode::kGather:
      first = 1;
      end = 2;
      break;
    case Opcode::kScatter:
      first = at->operand_count() / 2;
      end = first + 1;
      break;
    default:
      return "";
  }
  if (first >= end) return "";
  const size_t place =
      first + static_cast<size_t>(site.random.below(static_cast<int64_t>(end - first)));
  Instruction* index = at->operand(place);
  if (!index->shape()->is_array() || index->has_dynamic_shape()) return "";
  Instruction* one = site.emit.scalar(index->shape()->element_type(), 1);
  if (!index->shape()->is_scalar()) one = site.emit.broadcast(one, index->shape());
  at->set_operand(place, site.emit.make(Opcode::kAdd, {index, one}, {}, index->shape()));
  return fmt::format("1 is added to operand {}", place);
}

std::string constant(Site& site) {
  const Literal* literal = site.at->get(attr::literal_value);
  if (site.at->opcode() != Opcode::kConstant || !literal) return "";
  auto bytes = literal_bytes(*literal, kMaxConstantBytes);
  const int64_t count = literal->shape->is_array() ? literal->shape->element_count() : 0;
  const ElementType type = count > 0 ? literal->shape->element_type() : ElementType::PRED;
  if (!bytes || count == 0) return "";
  const int64_t index = site.random.below(count);
  const auto place = static_cast<size_t>(index * info(type).bytes);
  const std::vector<std::byte> before = *bytes;
  // Of a complex number the real part.
  change(part_of(type), bytes->data() + place);
  if (before == *bytes) return "";
  site.emit.rewriter().replace(site.at, site.emit.rewriter().constant(site.at->shape(), *bytes));
  return fmt::format("element {} has another value", index);
}

std::string tuple_index(Site& site) {
  if (site.at->opcode() != Opcode::kGetTupleElement) return "";
  const int64_t before = site.at->get(attr::index);
  std::vector<int64_t> others;
  const Shape* tuple = site.at->operand(0)->shape();
  for (size_t i = 0; i < tuple->elements().size(); ++i) {
    const auto index = static_cast<int64_t>(i);
    if (index != before && tuple->element(index) == site.at->shape()) others.push_back(index);
  }
  if (others.empty()) return "";
  const int64_t now = site.random.pick(others);
  site.at->set(attr::index, now);
  return fmt::format("index={} in place of {}", now, before);
}

std::string narrowed(Site& site) {
  std::vector<size_t> places;
  for (size_t i = 0; i < site.at->operand_count(); ++i) {
    const Shape* shape = site.at->operand(i)->shape();
    if (shape->is_array() && !shape->is_dynamic() && narrower(shape->element_type())) {
      places.push_back(i);
    }
  }
  if (places.empty()) return "";
  const size_t place = site.random.pick(places);
  Instruction* operand = site.at->operand(place);
  const ElementType type = operand->shape()->element_type();
  const ElementType narrow = *narrower(type);
  Instruction* less = site.emit.convert(operand, narrow);
  site.at->set_operand(place, site.emit.make(Opcode::kConvert, {less}, {}, operand->shape()));
  return fmt::format("operand {} goes through {}", place, to_string(narrow));
}

}  // namespace minihlo::errors
