// Reads a HloModuleProto into a module:
//
//   module_reading.cc        the module, its header, the order of a schedule
//   computation_reading.cc   computations: ids, names, roots
//   instruction_reading.cc   one instruction: operands, attributes, callees
#pragma once

#include <tsl/robin_map.h>
#include <tsl/robin_set.h>

#include <memory>
#include <string>
#include <vector>

#include "ir/proto/reading.h"

namespace minihlo::proto {

class ModuleReader {
 public:
  /// What is read: the module of a file, or one inside it that recovers an original value. Nothing
  /// is said of the mesh of such a one, and it has no such modules itself.
  enum class Role : uint8_t { kFile, kRecovery };

  ModuleReader(Module& module, Input& input, Role role = Role::kFile)
      : reading_(module), input_(input), role_(role) {}

  /// Reads the module; `config`, where there is one, is the HloModuleConfigProto that came with it.
  bool run(const Message& module, const Message* config);
  /// Attributes of the module that no message of XLA knows.
  bool read_extra(const Message& file);

 private:
  // A computation whose instructions are being read.
  struct Scope {
    Computation* computation;
    // The lower halves of ids: what is above says, in newer versions, which computation it is.
    tsl::robin_map<uint32_t, Instruction*, IntegerHash> instructions;
    std::vector<bool> parameters;  // which numbers are taken
    size_t size;                   // instructions of the computation
  };

  bool read_header(const Message& in, const Message* config);
  bool read_mesh(const Message& in);
  bool read_schedule(const Message& in);
  bool reorder(const Message& sequence, Computation* computation);
  bool find_entry(const Message& in);
  void settle_names();

  bool read_computation(const Message& in);
  bool keep_name(const Message& in, Field field, std::string_view& name);

  bool read_instruction(const Message& in, Scope& scope);
  bool read_opcode(const Message& in, Opcode& opcode, std::vector<Attribute>& attributes);
  bool resolve(const Message& in, Field field, Scope& scope, std::vector<Instruction*>& found);
  bool check_operands(const Message& in, Opcode opcode, size_t count);
  bool read_attributes(const Message& in, Opcode opcode, std::span<Instruction* const> operands,
                       std::vector<Attribute>& attributes);
  bool read_scattered(const Message& in, Opcode opcode, std::span<Instruction* const> operands,
                      std::vector<Attribute>& attributes);
  bool read_extra_attributes(const Message& in, Opcode opcode, std::vector<Attribute>& attributes);
  bool require(const Message& in, Opcode opcode, const Shape* shape,
               std::span<Instruction* const> operands, std::vector<Attribute>& attributes);
  bool read_callees(const Message& in, Opcode opcode, std::span<Instruction* const> operands,
                    std::vector<Attribute>& attributes);
  bool check_async(const Message& in, std::span<Instruction* const> operands,
                   std::span<Computation* const> callees, const Instruction*& start);

  Reading reading_;
  Input& input_;
  Role role_;
  tsl::robin_map<int64_t, Computation*, IntegerHash> computations_;
  std::vector<Scope> scopes_;  // by number of the computation, for the schedule
  // Both are unique in a module.
  using Names =
      tsl::robin_set<std::string_view, TextHash, std::equal_to<std::string_view>,
                     std::allocator<std::string_view>, true>;
  Names instruction_names_, computation_names_;
  bool names_changed_ = false;
  // The start that an update or done belongs to.
  tsl::robin_map<const Instruction*, const Instruction*> async_starts_;
  // Of the instruction at hand; kept for their memory.
  std::vector<Attribute> attributes_;
  std::vector<Instruction*> operands_, predecessors_;
  std::vector<int64_t> ids_;
  std::vector<Computation*> callees_;
};

}  // namespace minihlo::proto
