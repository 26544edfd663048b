// The terms of a proof, hash-consed: two handles are equal exactly when the terms are, up to what
// normal forms and rules see.
//
// A node says what a device computes in words of "the same device" and of devices by number; a
// handle is a node seen from a device. So one node serves all devices that do the same with their
// own data, and what needs no device at all (literals, what is computed from them) has none.
//
//   x = parameter 0           node 1                   on device d: (1, d)
//   add(x, permuted x)        node 2: add(1@same, 1@3) on the device whose neighbour is 3: (2, d)
//
// Values are rows of elements in row-major order; dimensions belong to instructions, not to terms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/arena.h"
#include "ir/element_type.h"
#include "ir/instruction.h"
#include "ir/semantics/elementwise.h"
#include "sim/prove/hash.h"
#include "sim/prove/tensor.h"

namespace minihlo::prove {

enum class NodeKind : uint8_t {
  kParameter,    // leaf `number` of the entry's parameters
  kPlaceholder,  // component `number` of the state of a loop, or parameter of a called computation
  kLiteral,      // `bytes`
  kElided,       // the value behind constant({...}), known by its literal's address
  kApply,        // `signature` applied to `arguments`; `number`: which result
  kAssembled,    // `tensor`
};

struct Node {
  NodeKind kind;
  ElementType type;
  bool names_devices = false;  // it, or a node within it, names a device by number
  uint32_t signature = 0;
  int64_t number = 0;
  int64_t count = 0;  // elements
  std::span<const Handle> arguments{};
  std::span<const std::byte> bytes{};  // as in a dense Literal
  const Tensor* tensor = nullptr;
};

/// What is applied: equal keys mean the same function of the arguments.
struct Signature {
  enum class Kind : uint8_t {
    kOpaque,     // of whole arguments
    kPointwise,  // element by element; arguments of one element stand for all
    kFold,       // element by element, from the first argument on
    kChoice,     // the first argument, of one element, says which of the others it is
    kLoop,       // binds the placeholders of `level`
  };
  std::string key;
  Kind kind = Kind::kOpaque;
  /// An instruction that applies it, where there is one, to compute with.
  const Instruction* instruction = nullptr;
  bool commutative = false;  // of kPointwise and kFold: in any order of arguments, bit for bit
  int64_t level = 0;
  /// The elementwise opcode that it applies, or by which it folds its arguments in any order.
  std::optional<Opcode> opcode{};
  /// The elementwise opcode by which it folds them from the first on, or a reduce its elements in
  /// any order.
  std::optional<Opcode> folds{};
  /// The elementwise opcode by which a reduce takes in one element after the other.
  std::optional<Opcode> steps{};
  std::vector<ElementType> operand_types{};  // of the opcode
  ElementType result_type = ElementType::PRED;
  std::vector<Attribute> attributes{};  // of the opcode, as far as they change what it computes
  std::optional<ElementwiseOp> op{};    // computes the opcode, where elements can be computed
};

/// Element number `index` of a term.
struct Element {
  Handle tensor;
  int64_t index;

  bool operator==(const Element&) const = default;
};
struct ElementHash {
  size_t operator()(const Element& element) const {
    return mix(mix(0, element.tensor), static_cast<size_t>(element.index));
  }
};

class Terms {
 public:
  /// Tensors that are known are computed up to this many elements; above they stay descriptions.
  static constexpr int64_t kMaxKnown = int64_t{1} << 20;

  /// A walk that makes more terms than this is cut short: they take some hundred bytes each.
  static constexpr size_t kMaxTerms = size_t{1} << 22;

  Handle parameter(int64_t number, int32_t device, ElementType type, int64_t count);
  Handle placeholder(int64_t level, int64_t number, int32_t device, ElementType type,
                     int64_t count);
  /// A literal with these elements; one value repeated is a splat.
  Handle literal(ElementType type, int64_t count, std::span<const std::byte> bytes);
  Handle zero(ElementType type);
  Handle elided(const Literal* literal, ElementType type, int64_t count);
  Handle apply(uint32_t signature, int64_t output, ElementType type, int64_t count,
               std::span<const Handle> arguments);
  /// The one element of `scalar`, `count` times.
  Handle splat(Handle scalar, int64_t count);
  /// A tensor in normal form whose sources are handles, not relative.
  Handle assembled(ElementType type, Tensor tensor);

  /// The number of a signature. Requires that its key tells all of it but the instruction.
  uint32_t signature(Signature signature);
  uint32_t signature(std::string key) {
    Signature made;
    made.key = std::move(key);
    return signature(std::move(made));
  }
  const Signature& signature(uint32_t number) const { return signatures_[number]; }

  const Node& node(Handle handle) const { return nodes_[handle.node]; }
  size_t node_count() const { return nodes_.size(); }
  /// The handle that `inner`, within a node seen from `device`, is.
  static Handle resolve(Handle inner, int32_t device) {
    return {inner.node, inner.device == Handle::kSame ? device : inner.device};
  }
  std::vector<Handle> arguments(Handle handle) const;
  /// The element of a base tensor that an element of an assembled one is; of a base tensor, itself.
  Element source_of(const Element& element) const;
  /// The bytes of one element of a literal's node.
  std::span<const std::byte> bytes_of(const Node& literal, int64_t index) const;
  /// The term as a tensor whose sources are base tensors, as handles.
  Tensor tensor(Handle handle) const;
  /// The term as a piece of itself seen through dimensions; sources are relative to the handle.
  /// Null where that needs too many pieces. Stays valid.
  const View* view(Handle handle, std::span<const int64_t> dims);

  /// The elements, if they are known and at most kMaxKnown.
  std::optional<std::vector<std::byte>> known(Handle handle) const;
  /// The one element that all are, if it is known, however many there are.
  std::optional<std::span<const std::byte>> known_splat(Handle handle) const;
  /// Whether two terms have the same elements, compared on their common refinement.
  bool same_elements(Handle a, Handle b) const;

 private:
  Handle intern(Node node, int32_t device, size_t hash);
  Tensor relative_tensor(uint32_t node) const;
  bool same_elements(const Tensor& a, const Tensor& b) const;
  /// A hash of the elements at a few places: the same for equal tensors however they are cut.
  size_t fingerprint(const Tensor& tensor) const;
  size_t source_hash(Handle source, int64_t index) const;

  Arena arena_;
  std::vector<Node> nodes_;
  std::unordered_multimap<size_t, uint32_t> by_hash_;
  std::unordered_multimap<size_t, uint32_t> by_fingerprint_;
  std::unordered_map<size_t, std::vector<std::pair<Tensor, uint32_t>>> tensor_aliases_;
  std::deque<Tensor> tensors_;
  std::deque<Signature> signatures_;
  std::unordered_map<std::string_view, uint32_t> signature_numbers_;
  struct CachedView {
    std::vector<int64_t> dims;
    std::unique_ptr<View> view;
  };
  std::unordered_map<uint32_t, std::deque<CachedView>> views_;
};

}  // namespace minihlo::prove
