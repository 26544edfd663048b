// What the rules of all opcodes share: the module that grows, the computation at hand, and values
// to use as operands.
#pragma once

#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/generator/choices.h"
#include "tests/generator/generator.h"

namespace minihlo::generator {

using Types = std::vector<ElementType>;

/// A computation that is being made.
struct Scope {
  Computation* computation = nullptr;
  std::vector<Instruction*> values;  // operands may be chosen from these
  std::vector<Instruction*> open;    // starts that still need a done
  int depth = 0;
  bool takes_parameters = false;  // the entry: new parameters may be added
  bool runs_everywhere = true;    // all devices run it: collectives may stand here
  bool pure = false;              // no effects, tokens or asynchronous work: bodies of fusions
};

class Builder {
 public:
  Builder(Choices& choices, const GenerateOptions& options, Module& module, const Mesh& mesh)
      : choices(choices), options(options), module(module), mesh(mesh) {}

  Choices& choices;
  const GenerateOptions& options;
  Module& module;
  const Mesh mesh;
  std::vector<std::string> mistakes;
  std::vector<Computation*> finished;  // callees before callers
  Scope* scope = nullptr;

  bool runnable() const { return options.use >= Use::kRunnable; }
  bool oracle() const { return options.use == Use::kOracle; }
  /// Whether syntax is wanted that XLA's parser of jaxlib 0.10.2 does not know.
  bool newest() const { return options.use == Use::kAny; }
  ShapePool& shapes() { return module.shapes(); }
  Arena& arena() { return module.arena(); }

  // Instructions (builder.cc).

  /// Makes an instruction with the inferred shape, decorated with common attributes, and offers it
  /// as a value. Null, with a mistake noted, when shape inference refuses.
  Instruction* emit(Opcode opcode, std::span<Instruction* const> operands,
                    std::vector<Attribute> attributes = {}, const Shape* written = nullptr);
  Instruction* emit(Opcode opcode, std::initializer_list<Instruction*> operands,
                    std::vector<Attribute> attributes = {}, const Shape* written = nullptr) {
    return emit(opcode, std::span(operands.begin(), operands.size()), std::move(attributes),
                written);
  }
  /// The same for something that is under way: it is no value, and finish() ends it.
  Instruction* emit_start(Opcode opcode, std::span<Instruction* const> operands,
                          std::vector<Attribute> attributes, const Shape* written = nullptr);
  /// Makes a random instruction that the use, the place and the options allow.
  void emit_any();
  /// Ends one of the starts that are open.
  void finish_one();

  // Values (values.cc): one that is there, or a new one.
  Instruction* any_value();
  Instruction* array(const Types& types, int64_t min_rank = 0, int64_t max_rank = 5,
                     bool dynamic = false);
  /// Of this shape; layouts are free.
  Instruction* value(const Shape* shape);
  Instruction* scalar(ElementType type) { return value(shapes().scalar(type)); }
  Instruction* token() { return value(shapes().token()); }
  /// A scalar, mostly between 0 and `bound`.
  Instruction* index(ElementType type, int64_t bound);
  Instruction* constant(const Shape* shape);
  /// An array of an integer type or pred.
  Instruction* constant(ElementType type, std::vector<int64_t> dims, std::vector<int64_t> values);
  Instruction* parameter(const Shape* shape);

  // Shapes (shapes.cc).
  const Types& types();
  const Types& integer_types();
  /// Element types of `kind` that are in use.
  Types types_of(std::initializer_list<ElementKind> kinds);
  /// Types that the opcode takes as all of its operands, by shape inference.
  Types types_of(Opcode opcode, size_t operand_count);
  const Shape* array_shape(const Types& types, int64_t min_rank = 0, int64_t max_rank = 5);
  const Shape* any_shape();
  const Shape* with_layout(const Shape* shape);
  int64_t dimension();
  const Shape* tuple(std::vector<const Shape*> elements) { return shapes().tuple(elements); }
  const Shape* with_type(const Shape* shape, ElementType type) {
    return shapes().with_element_type(shape, type);
  }

  // Literals (literals.cc).
  const Literal* literal(const Shape* shape);
  const Literal* literal(const Shape* shape, const std::vector<int64_t>& values);

  // Computations (functions.cc).
  /// Opens a computation with these parameters; `body` makes it and returns the root.
  template <class Body>
  Computation* computation(std::string_view base, std::span<const Shape* const> parameters,
                           Scope place, Body body) {
    Scope* outer = scope;
    open(base, parameters, place);
    Instruction* root = body();
    close(root);
    scope = outer;
    return place.computation;
  }
  /// A few random instructions of a nested computation.
  void fill(int64_t most);
  /// The scope of a computation that an instruction of this one calls.
  Scope nested() const;
  /// Combines two scalars: (accumulators..., elements...) to accumulators. With `arithmetic` by
  /// nothing but add and multiply, of integers minimum and maximum too.
  Computation* reducer(const Types& types, bool arithmetic = false);
  /// Returns pred from two scalars of each type.
  Computation* comparator(const Types& types);
  /// From scalars to a scalar of `result`.
  Computation* scalar_function(const Types& parameters, ElementType result);

  // Attributes (decoration.cc, sharding.cc).
  std::string_view word();
  /// Any text at all, quotes and control characters among it.
  std::string_view hostile_text();
  std::string_view json_text();
  std::span<const Attribute> metadata();
  std::span<const NamedString> string_map();
  const Sharding* sharding(const Shape* shape);
  /// Devices of a sharding: the partitions, or any number where there is one, which is no number.
  int64_t sharding_devices() const { return mesh.partitions > 1 ? mesh.partitions : mesh.replicas; }
  void decorate(Opcode opcode, const Shape* shape, std::vector<Attribute>& attributes);
  std::string_view name(std::string_view base);

  std::span<const int64_t> ints(const std::vector<int64_t>& values) { return arena().copy(values); }
  std::span<const bool> bools(int64_t count);

 private:
  void open(std::string_view base, std::span<const Shape* const> parameters, Scope& place);
  void close(Instruction* root);
  Instruction* append(Opcode opcode, const Shape* shape, std::span<Instruction* const> operands,
                      std::vector<Attribute>& attributes);
  Instruction* leaf(const Shape* shape);

  int64_t named_ = 0;
  std::set<std::string, std::less<>> plain_names_;

 public:
  int64_t next_channel = 1;
  bool constrain_layout = false;  // of all all-reduces
  int64_t frame_count = 0;        // of the stack frames
};

}  // namespace minihlo::generator
