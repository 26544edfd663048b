// A module: computations made of instructions, and the storage that all of it lives in.
//
//   Module ─ owns ─ Arena         names, operands, attributes, literals, instructions
//          ─ owns ─ Computation   a list of instructions in dependency order, and a root
//          ─ shares ShapePool     with every module made from it or compared with it
//          ─ keeps                source text and the storage of modules it was cloned from, since
//                                 clones share immutable values instead of copying them
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/arena.h"
#include "ir/instruction.h"
#include "ir/shape.h"

namespace minihlo {

class Module;
class UniqueNames;

class Computation {
 public:
  std::string_view name() const { return name_; }
  /// `name` must be unique among the module's computations and live in its storage.
  void set_name(std::string_view name) { name_ = name; }
  Module* module() const { return module_; }
  /// The position in the module's list.
  uint32_t number() const { return number_; }
  Location location() const { return location_; }
  /// execution_thread="..."; "main" where nothing is said.
  std::string_view execution_thread() const { return execution_thread_; }
  void set_execution_thread(std::string_view thread) { execution_thread_ = thread; }

  /// Operands and control predecessors stand before those that use them.
  std::span<Instruction* const> instructions() const { return instructions_; }
  size_t size() const { return instructions_.size(); }
  Instruction* root() const { return root_; }
  void set_root(Instruction* root) { root_ = root; }
  /// The parameters by number. Null where a number is missing (the verifier refuses that).
  std::span<Instruction* const> parameters() const { return parameters_; }
  /// Whether no number of a parameter is missing.
  bool has_all_parameters() const { return placed_parameters_ == parameters_.size(); }

  /// Makes an instruction at the end of the list. `name` must be unique in the module; both it and
  /// the attributes' values must live in the module's storage (see Module::keep_name).
  Instruction* append(Opcode opcode, std::string_view name, const Shape* shape,
                      std::span<Instruction* const> operands,
                      std::span<const Attribute> attributes = {}, Location location = {});

  /// Forgets parameters of numbers far beyond what size() instructions can fill up to, which the
  /// verifier refuses. To be called where a computation was read to its end: a line could else cost
  /// half a megabyte for good.
  void drop_far_parameters();

  /// Replaces the list by `instructions`, all of this computation, in dependency order; numbers
  /// them anew and finds the parameters again. What is left out is gone.
  void set_instructions(std::vector<Instruction*> instructions);

 private:
  friend class Module;
  // Notes it in parameters_; of several of one number the first counts.
  void place_parameter(Instruction* parameter);

  Module* module_ = nullptr;
  std::string_view name_;
  std::string_view execution_thread_ = "main";
  uint32_t number_ = 0;
  Location location_;
  std::vector<Instruction*> instructions_;
  std::vector<Instruction*> parameters_;
  size_t placed_parameters_ = 0;  // those that are not null
  Instruction* root_ = nullptr;
};

/// The tables between header and first computation (xla/hlo/ir/stack_frames.cc). Ids count from 1.
struct StackFrames {
  struct FileLocation {
    int64_t file_name_id, function_name_id, line, end_line, column, end_column;
  };
  struct Frame {
    int64_t file_location_id, parent_frame_id;
  };
  std::vector<std::string_view> file_names;
  std::vector<std::string_view> function_names;
  std::vector<FileLocation> file_locations;
  std::vector<Frame> frames;

  bool empty() const {
    return file_names.empty() && function_names.empty() && file_locations.empty() && frames.empty();
  }
};

class Module {
 public:
  explicit Module(std::string_view name, std::shared_ptr<ShapePool> shapes = nullptr);
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// A copy with instructions and computations of its own. Everything immutable is shared.
  std::unique_ptr<Module> clone() const;

  std::string_view name() const { return name_; }
  void set_name(std::string_view name) { name_ = keep_name(name); }

  Arena& arena() { return *arena_; }
  ShapePool& shapes() { return *shapes_; }
  const std::shared_ptr<ShapePool>& shape_pool() const { return shapes_; }
  /// Copies a name into the module's storage.
  std::string_view keep_name(std::string_view name) { return arena_->copy_string(name); }
  /// Keeps something alive that views point into, such as source text.
  void keep(std::shared_ptr<const void> storage) { kept_.push_back(std::move(storage)); }

  // Computations: callees before callers.
  std::span<Computation* const> computations() const { return computations_; }
  Computation* entry() const { return entry_; }
  void set_entry(Computation* entry) { entry_ = entry; }
  Computation* add_computation(std::string_view name, Location location = {});
  /// Keeps only the computations that `keep` accepts. Nothing may call the others.
  void retain_computations(const std::function<bool(const Computation&)>& keep);
  /// Puts the computations, all of them, in this order: callees before callers.
  void order_computations(std::span<Computation* const> order);
  size_t instruction_count() const;

  // Attributes of the header.
  std::span<const Attribute> attributes() const { return attributes_; }
  template <class T>
  T get(AttributeKey<T> key) const {
    return minihlo::get(attributes(), key);
  }
  template <class T>
  std::optional<T> find(AttributeKey<T> key) const {
    return minihlo::find(attributes(), key);
  }
  void set(const Attribute& attribute);
  void erase(AttributeId id);
  /// As the header says; 1 where it says nothing.
  int64_t replica_count() const { return get(attr::replica_count); }
  int64_t num_partitions() const { return get(attr::num_partitions); }

  StackFrames& stack_frames() { return stack_frames_; }
  const StackFrames& stack_frames() const { return stack_frames_; }

  /// A name that clashes with none that the module's instructions had at the first question or that
  /// was given since: `base`, or else its stem with a free number (UniqueNames).
  std::string_view unique_instruction_name(std::string_view base);
  /// One above the largest channel id in use.
  int64_t next_channel_id() const;

 private:
  std::string_view name_;
  std::shared_ptr<ShapePool> shapes_;
  std::shared_ptr<Arena> arena_;
  std::vector<std::shared_ptr<const void>> kept_;
  std::vector<std::unique_ptr<Computation>> owned_;
  std::vector<Computation*> computations_;
  Computation* entry_ = nullptr;
  std::vector<Attribute> attributes_;
  StackFrames stack_frames_;
  std::unique_ptr<UniqueNames> names_;  // of instructions, from the first question on
};

}  // namespace minihlo
