#include "sim/prove/terms.h"

#include <algorithm>
#include <cstring>

namespace minihlo::prove {
namespace {

size_t hash_of(const Node& node) {
  size_t hash = mix(static_cast<size_t>(node.kind), static_cast<size_t>(node.type));
  hash = mix(mix(hash, node.signature), static_cast<size_t>(node.number));
  hash = mix(hash, static_cast<size_t>(node.count));
  for (Handle argument : node.arguments) hash = mix(hash, argument);
  return mix(hash, node.bytes);
}

size_t hash_of(const Tensor& tensor) {
  size_t hash = static_cast<size_t>(tensor.count);
  for (int64_t size : tensor.frame) hash = mix(hash, static_cast<size_t>(size));
  for (const Piece& piece : tensor.pieces) {
    hash = mix(mix(hash, piece.source), static_cast<size_t>(piece.offset));
    for (const Range& range : piece.ranges) {
      hash = mix(mix(hash, static_cast<size_t>(range.start)), static_cast<size_t>(range.stride));
    }
  }
  return hash;
}

bool equal(const Node& a, const Node& b) {
  return a.kind == b.kind && a.type == b.type && a.signature == b.signature &&
         a.number == b.number && a.count == b.count &&
         std::ranges::equal(a.arguments, b.arguments) && std::ranges::equal(a.bytes, b.bytes);
}

int64_t corner(const Tensor& tensor, const Piece& piece) {
  int64_t index = 0;
  for (size_t axis = 0; axis < tensor.frame.size(); ++axis) {
    index = index * tensor.frame[axis] + piece.ranges[axis].start;
  }
  return index;
}

// The device of the first element that has one: the same however the tensor is cut.
int32_t anchor_of(const Tensor& tensor) {
  int32_t device = Handle::kNoDevice;
  int64_t first = INT64_MAX;
  for (const Piece& piece : tensor.pieces) {
    if (piece.source.device < 0) continue;
    int64_t at = corner(tensor, piece);
    if (at < first) {
      first = at;
      device = piece.source.device;
    }
  }
  return device;
}

}  // namespace

Handle Terms::intern(Node node, int32_t device, size_t hash) {
  auto [begin, end] = by_hash_.equal_range(hash);
  for (auto found = begin; found != end; ++found) {
    if (equal(nodes_[found->second], node)) return {found->second, device};
  }
  node.arguments = arena_.copy(node.arguments);
  // Aligned as elements of any type are to be (ir/semantics/elementwise.h).
  void* place = arena_.allocate(node.bytes.size(), 16);
  if (!node.bytes.empty()) std::memcpy(place, node.bytes.data(), node.bytes.size());
  node.bytes = {static_cast<const std::byte*>(place), node.bytes.size()};
  auto number = static_cast<uint32_t>(nodes_.size());
  nodes_.push_back(node);
  by_hash_.emplace(hash, number);
  return {number, device};
}

Handle Terms::parameter(int64_t number, int32_t device, ElementType type, int64_t count) {
  if (count == 0) return literal(type, 0, {});
  Node node{NodeKind::kParameter, type};
  node.number = number;
  node.count = count;
  return intern(node, device, hash_of(node));
}

Handle Terms::placeholder(int64_t level, int64_t number, int32_t device, ElementType type,
                          int64_t count) {
  if (count == 0) return literal(type, 0, {});
  Node node{NodeKind::kPlaceholder, type};
  node.signature = static_cast<uint32_t>(level);
  node.number = number;
  node.count = count;
  return intern(node, device, hash_of(node));
}

Handle Terms::literal(ElementType type, int64_t count, std::span<const std::byte> bytes) {
  size_t width = static_cast<size_t>(info(type).bytes);
  bool alike = count > 1;
  for (int64_t i = 1; alike && i < count; ++i) {
    alike = std::memcmp(bytes.data(), bytes.data() + static_cast<size_t>(i) * width, width) == 0;
  }
  Node node{NodeKind::kLiteral, type};
  node.count = alike ? 1 : count;
  node.bytes = alike ? bytes.first(width) : bytes;
  Handle made = intern(node, Handle::kNoDevice, hash_of(node));
  return alike ? splat(made, count) : made;
}

Handle Terms::zero(ElementType type) {
  const std::byte bytes[16] = {};
  return literal(type, 1, std::span(bytes, static_cast<size_t>(info(type).bytes)));
}

Handle Terms::elided(const Literal* literal, ElementType type, int64_t count) {
  Node node{NodeKind::kElided, type};
  node.number = static_cast<int64_t>(reinterpret_cast<intptr_t>(literal));
  node.count = count;
  return intern(node, Handle::kNoDevice, hash_of(node));
}

Handle Terms::splat(Handle scalar, int64_t count) {
  Piece from = tensor(scalar).pieces[0];
  Tensor repeated = splat_tensor(from.source, count);
  for (Piece& piece : repeated.pieces) piece.offset = from.offset;
  return assembled(node(scalar).type, std::move(repeated));
}

Handle Terms::apply(uint32_t signature, int64_t output, ElementType type, int64_t count,
                    std::span<const Handle> arguments) {
  if (count == 0) return literal(type, 0, {});
  Node made{NodeKind::kApply, type};
  made.signature = signature;
  made.number = output;
  made.count = count;
  int32_t anchor = Handle::kNoDevice;
  for (Handle argument : arguments) {
    if (anchor < 0) anchor = argument.device;
    made.names_devices = made.names_devices || node(argument).names_devices ||
                         (argument.device >= 0 && argument.device != anchor);
  }
  std::vector<Handle> relative(arguments.begin(), arguments.end());
  for (Handle& argument : relative) {
    if (argument.device >= 0 && argument.device == anchor) argument.device = Handle::kSame;
  }
  made.arguments = relative;
  return intern(made, anchor, hash_of(made));
}

Handle Terms::assembled(ElementType type, Tensor tensor) {
  if (tensor.count == 0) return literal(type, 0, {});
  // A constant piece of a literal is a piece of the scalar with that value.
  bool changed = false;
  bool all_known = tensor.count <= kMaxKnown;
  for (Piece& piece : tensor.pieces) {
    const Node& source = node(piece.source);
    all_known = all_known && source.kind == NodeKind::kLiteral;
    if (source.kind != NodeKind::kLiteral || source.count == 1 || !piece.is_constant()) continue;
    std::span<const std::byte> value = bytes_of(source, piece.offset);
    piece.source = literal(type, 1, std::vector<std::byte>(value.begin(), value.end()));
    piece.offset = 0;
    changed = true;
  }
  if (changed) normalize(tensor);

  if (tensor.pieces.size() == 1) {
    const Piece& piece = tensor.pieces[0];
    bool whole = piece.offset == 0 && node(piece.source).count == tensor.count &&
                 (tensor.count == 1 || (piece.ranges.size() == 1 && piece.ranges[0].stride == 1));
    if (whole) return piece.source;
  }
  bool splat = tensor.pieces.size() == 1 && tensor.pieces[0].is_constant();
  if (all_known && !splat) {
    size_t width = static_cast<size_t>(info(type).bytes);
    std::vector<std::byte> bytes(static_cast<size_t>(tensor.count) * width);
    for (const Piece& piece : tensor.pieces) {
      StridedCopy copy{corner(tensor, piece), piece.offset, {}};
      int64_t stride = 1;
      for (size_t axis = tensor.frame.size(); axis-- > 0;) {
        copy.axes.insert(copy.axes.begin(),
                         {piece.ranges[axis].size, stride, piece.ranges[axis].stride});
        stride *= tensor.frame[axis];
      }
      copy_strided(copy, node(piece.source).bytes.data(), bytes.data(),
                   static_cast<int64_t>(width));
    }
    return literal(type, tensor.count, bytes);
  }

  int32_t anchor = anchor_of(tensor);
  Node made{NodeKind::kAssembled, type};
  made.count = tensor.count;
  for (Piece& piece : tensor.pieces) {
    made.names_devices = made.names_devices || node(piece.source).names_devices ||
                         (piece.source.device >= 0 && piece.source.device != anchor);
    if (piece.source.device >= 0 && piece.source.device == anchor) {
      piece.source.device = Handle::kSame;
    }
  }
  size_t hash = mix(hash_of(tensor), static_cast<size_t>(type));
  std::vector<std::pair<Tensor, uint32_t>>& aliases = tensor_aliases_[hash];
  for (const auto& [known_tensor, number] : aliases) {
    if (nodes_[number].type == type && known_tensor == tensor) return {number, anchor};
  }
  size_t print = mix(fingerprint(tensor), static_cast<size_t>(type));
  auto [begin, end] = by_fingerprint_.equal_range(print);
  for (auto found = begin; found != end; ++found) {
    const Node& other = nodes_[found->second];
    if (other.type != type || other.count != tensor.count) continue;
    if (!same_elements(*other.tensor, tensor)) continue;
    aliases.emplace_back(std::move(tensor), found->second);
    return {found->second, anchor};
  }
  auto number = static_cast<uint32_t>(nodes_.size());
  tensors_.push_back(tensor);
  made.tensor = &tensors_.back();
  nodes_.push_back(made);
  by_fingerprint_.emplace(print, number);
  aliases.emplace_back(std::move(tensor), number);
  return {number, anchor};
}

uint32_t Terms::signature(Signature signature) {
  if (auto found = signature_numbers_.find(signature.key); found != signature_numbers_.end()) {
    return found->second;
  }
  auto number = static_cast<uint32_t>(signatures_.size());
  signatures_.push_back(std::move(signature));
  signature_numbers_.emplace(signatures_.back().key, number);
  return number;
}

std::vector<Handle> Terms::arguments(Handle handle) const {
  std::vector<Handle> result;
  for (Handle argument : node(handle).arguments) result.push_back(resolve(argument, handle.device));
  return result;
}

Element Terms::source_of(const Element& element) const {
  const Node& own = node(element.tensor);
  if (!own.tensor) return element;
  Place place = place_of(*own.tensor, element.index);
  return {resolve(own.tensor->pieces[place.piece].source, element.tensor.device),
          place.source_index};
}

Tensor Terms::relative_tensor(uint32_t number) const {
  const Node& node = nodes_[number];
  if (node.tensor) return *node.tensor;
  bool free = node.kind == NodeKind::kLiteral || node.kind == NodeKind::kElided;
  return whole_tensor({number, free ? Handle::kNoDevice : Handle::kSame}, node.count);
}

Tensor Terms::tensor(Handle handle) const {
  Tensor result = relative_tensor(handle.node);
  for (Piece& piece : result.pieces) piece.source = resolve(piece.source, handle.device);
  return result;
}

const View* Terms::view(Handle handle, std::span<const int64_t> dims) {
  std::deque<CachedView>& cached = views_[handle.node];
  for (const CachedView& entry : cached) {
    if (std::ranges::equal(entry.dims, dims)) return entry.view.get();
  }
  CachedView& made = cached.emplace_back();
  made.dims.assign(dims.begin(), dims.end());
  if (std::optional<View> seen = prove::view(relative_tensor(handle.node), dims)) {
    made.view = std::make_unique<View>(*std::move(seen));
  }
  return made.view.get();
}

std::span<const std::byte> Terms::bytes_of(const Node& literal, int64_t index) const {
  size_t width = static_cast<size_t>(info(literal.type).bytes);
  return literal.bytes.subspan(static_cast<size_t>(index) * width, width);
}

std::optional<std::vector<std::byte>> Terms::known(Handle handle) const {
  const Node& own = node(handle);
  if (own.kind == NodeKind::kLiteral) return std::vector(own.bytes.begin(), own.bytes.end());
  if (own.count > kMaxKnown) return std::nullopt;
  // Other known tensors are literals by now.
  std::optional<std::span<const std::byte>> value = known_splat(handle);
  if (!value) return std::nullopt;
  std::vector<std::byte> bytes;
  bytes.reserve(value->size() * static_cast<size_t>(own.count));
  for (int64_t i = 0; i < own.count; ++i) bytes.insert(bytes.end(), value->begin(), value->end());
  return bytes;
}

std::optional<std::span<const std::byte>> Terms::known_splat(Handle handle) const {
  const Node& own = node(handle);
  if (own.kind == NodeKind::kLiteral && own.count == 1) return own.bytes;
  if (own.kind != NodeKind::kAssembled || own.tensor->pieces.size() != 1) return std::nullopt;
  const Piece& piece = own.tensor->pieces[0];
  const Node& source = node(piece.source);
  if (source.kind != NodeKind::kLiteral || !piece.is_constant()) return std::nullopt;
  return bytes_of(source, piece.offset);
}

bool Terms::same_elements(Handle a, Handle b) const {
  if (a == b) return true;
  if (node(a).count != node(b).count || node(a).type != node(b).type) return false;
  return same_elements(tensor(a), tensor(b));
}

bool Terms::same_elements(const Tensor& a, const Tensor& b) const {
  std::vector<int64_t> frame;
  std::optional<std::vector<Overlay>> boxes = overlay({a, b}, frame);
  if (!boxes) return false;
  int64_t compared = 0;
  for (const Overlay& box : *boxes) {
    const Piece& left = box[0];
    const Piece& right = box[1];
    if (left.source == right.source && left.offset == right.offset && left.ranges == right.ranges) {
      continue;
    }
    const Node& left_node = node(left.source);
    const Node& right_node = node(right.source);
    if (left_node.kind != NodeKind::kLiteral || right_node.kind != NodeKind::kLiteral) return false;
    compared += left.element_count();
    if (compared > kMaxKnown) return false;
    // Literals on both sides: by value.
    std::vector<int64_t> index(left.ranges.size(), 0);
    int64_t at_left = left.offset, at_right = right.offset;
    for (;;) {
      if (!std::ranges::equal(bytes_of(left_node, at_left), bytes_of(right_node, at_right))) {
        return false;
      }
      size_t axis = index.size();
      while (axis-- > 0) {
        at_left += left.ranges[axis].stride;
        at_right += right.ranges[axis].stride;
        if (++index[axis] < left.ranges[axis].size) break;
        at_left -= left.ranges[axis].stride * index[axis];
        at_right -= right.ranges[axis].stride * index[axis];
        index[axis] = 0;
      }
      if (axis == SIZE_MAX) break;
    }
  }
  return true;
}

size_t Terms::source_hash(Handle source, int64_t index) const {
  const Node& from = node(source);
  if (from.kind == NodeKind::kLiteral) return mix(size_t{0}, bytes_of(from, index));
  return mix(mix(size_t{1}, source), static_cast<size_t>(index));
}

size_t Terms::fingerprint(const Tensor& tensor) const {
  size_t hash = static_cast<size_t>(tensor.count);
  constexpr int64_t kSamples = 8;
  for (int64_t i = 0; i < kSamples; ++i) {
    int64_t last = tensor.count - 1, gaps = kSamples - 1;
    int64_t index = last / gaps * i + last % gaps * i / gaps;
    Place place = place_of(tensor, index);
    hash = mix(hash, source_hash(tensor.pieces[place.piece].source, place.source_index));
  }
  return hash;
}

}  // namespace minihlo::prove
