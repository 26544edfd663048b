// Buffers, b(f32[8]): where they may stand, and that each is written at most once
// (VerifyBuffers of xla/service/hlo_verifier.cc).
#include <algorithm>
#include <map>

#include <tsl/robin_map.h>

#include "ir/verify/verification.h"

namespace minihlo::verifier {
namespace {

bool is_about_buffers(const Instruction* instruction) {
  if (instruction->opcode() != Opcode::kCustomCall) return false;
  const std::string_view target = instruction->get(attr::custom_call_target);
  return target == "Pin" || target == "Unpin" || target == "CreateBuffer";
}

// Which shapes hold buffers; each is looked at once.
class BufferShapes {
 public:
  bool holds(const Shape* shape) {
    if (shape->is_array()) return false;
    if (shape->kind() == Shape::Kind::kBuffer) return true;
    if (!shape->is_tuple()) return false;
    if (auto known = known_.find(shape); known != known_.end()) return known->second;
    bool any = false;
    for (const Shape* element : shape->elements()) any = any || holds(element);
    known_.emplace(shape, any);
    return any;
  }

 private:
  tsl::robin_map<const Shape*, bool> known_;
};

using Index = std::vector<int64_t>;

Index index_of(std::span<const int64_t> index) { return {index.begin(), index.end()}; }

std::string text(const Index& index) { return fmt::format("{{{}}}", fmt::join(index, ",")); }

class Buffers {
 public:
  Buffers(Verification& v, BufferShapes& shapes) : v_(v), shapes_(shapes) {}

  void check(const Computation* computation, bool is_async, bool is_loop_body) {
    if (is_async) {
      // The rest is held to what the start says.
      if (computation->root()->opcode() == Opcode::kCustomCall) {
        find_users(computation);
        is_loop_body_ = false;
        check_custom_call(computation->root());
      }
      return;
    }
    find_users(computation);
    is_loop_body_ = is_loop_body;
    for (const Instruction* instruction : computation->instructions()) check(instruction);
  }

 private:
  // What uses a value, but for what takes an element of it.
  struct User {
    const Instruction* instruction;
    int64_t operand;  // the first where the value stands
  };
  struct Users {
    std::vector<User> all;
    std::vector<std::pair<int64_t, const Instruction*>> elements;  // by index
  };

  void find_users(const Computation* computation) {
    users_.assign(computation->size(), {});
    for (const Instruction* instruction : computation->instructions()) {
      if (instruction->opcode() == Opcode::kGetTupleElement) {
        users_[instruction->operand(0)->number()].elements.emplace_back(
            instruction->get(attr::index), instruction);
        continue;
      }
      for (size_t i = 0; i < instruction->operand_count(); ++i) {
        std::vector<User>& users = users_[instruction->operand(i)->number()].all;
        if (users.empty() || users.back().instruction != instruction) {
          users.push_back({instruction, static_cast<int64_t>(i)});
        }
      }
    }
    for (Users& users : users_) {
      std::ranges::stable_sort(users.elements, {}, [](const auto& one) { return one.first; });
    }
  }

  // A few lines can make tuples of many thousand buffers, and hand all of them on. False when this
  // has been asked too often for the module, which is then said once.
  bool may_go_on(const Instruction* instruction) {
    if (steps_ > 0) return --steps_ > 0 || warn_of_steps(instruction);
    return false;
  }
  bool warn_of_steps(const Instruction* instruction) {
    v_.warning("buffer", instruction,
               "from here on it is not checked that each buffer has one writer: there are too many "
               "ways that they are handed on");
    return false;
  }

  // Calls `look` with the index of each buffer in a shape.
  template <class Look>
  void each_buffer(const Instruction* instruction, const Shape* shape, Look look) {
    Index at;
    list_buffers(instruction, shape, at, look);
  }
  template <class Look>
  bool list_buffers(const Instruction* instruction, const Shape* shape, Index& at, Look& look) {
    if (!shapes_.holds(shape)) return true;
    if (!may_go_on(instruction)) return false;
    if (!shape->is_tuple()) {
      look(std::as_const(at));
      return true;
    }
    for (size_t i = 0; i < shape->elements().size(); ++i) {
      at.push_back(static_cast<int64_t>(i));
      if (!list_buffers(instruction, shape->elements()[i], at, look)) return false;
      at.pop_back();
    }
    return true;
  }

  void check(const Instruction* instruction) {
    switch (instruction->opcode()) {
      case Opcode::kAsyncStart:
      case Opcode::kAsyncUpdate:
      case Opcode::kAsyncDone:
      case Opcode::kGetTupleElement:
      case Opcode::kTuple:
        return;
      case Opcode::kCustomCall:
        check_custom_call(instruction);
        return;
      case Opcode::kWhile:
        check_writers(instruction);
        return;
      case Opcode::kDynamicUpdateSlice:
        if (instruction->operand(0)->shape()->kind() != Shape::Kind::kBuffer) {
          check_none(instruction);
        } else {
          check_writers(instruction);  // the other operands are arrays
        }
        return;
      case Opcode::kParameter:
        if (instruction->parent() == v_.module().entry()) {
          check_none(instruction);
        } else {
          check_writers(instruction);
        }
        return;
      case Opcode::kCall:
        if (has_frontend_attribute(instruction, "_xla_stream_annotation")) return;
        [[fallthrough]];
      default:
        check_none(instruction);
    }
  }

  void check_none(const Instruction* instruction) {
    bool any = shapes_.holds(instruction->shape());
    for (const Instruction* operand : instruction->operands()) {
      any = any || shapes_.holds(operand->shape());
    }
    if (!any) return;
    const bool is_entry = instruction->opcode() == Opcode::kParameter;
    v_.error("buffer", instruction, "{} takes or gives no buffers",
             is_entry ? "the entry" : to_string(instruction->opcode()));
  }

  void check_custom_call(const Instruction* call) {
    const std::string_view target = call->get(attr::custom_call_target);
    if (target == "Pin") {
      check_pin(call, true);
      check_writers(call);
    } else if (target == "Unpin") {
      check_pin(call, false);
    } else if (target == "CreateBuffer") {
      if (call->operand_count() > 0 || call->shape()->kind() != Shape::Kind::kBuffer) {
        v_.error("buffer", call, "CreateBuffer takes nothing and gives a buffer");
      } else {
        check_writers(call);
      }
    } else {
      check_aliased(call);
      check_writers(call);
    }
  }

  // Pin turns an array into a buffer of it, Unpin the other way round.
  void check_pin(const Instruction* call, bool pins) {
    const std::string_view target = call->get(attr::custom_call_target);
    const Shape* from = call->operand_count() == 1 ? call->operand(0)->shape() : nullptr;
    const Shape* array = pins ? from : call->shape();
    const Shape* buffer = pins ? call->shape() : from;
    if (!from || !array->is_array() || buffer->kind() != Shape::Kind::kBuffer) {
      v_.error("buffer", call, "{} takes one {} and gives {}", target, pins ? "array" : "buffer",
               pins ? "a buffer" : "an array");
    } else if (!compatible(array, buffer->element(0))) {
      v_.error("buffer", call, "{} turns {} into {}, which is another shape", target,
               to_string(from, false), to_string(call->shape(), false));
    } else if (call->get(attr::output_to_operand_aliasing).size() != 1) {
      v_.error("buffer", call, "{} needs one output_to_operand_aliasing", target);
    }
  }

  // Each buffer goes in once and comes out once.
  void check_aliased(const Instruction* call) {
    std::map<std::pair<int64_t, Index>, int64_t> outs;  // by operand and index in it
    std::map<Index, int64_t> ins;                       // by index in the result
    for (const Alias& alias : call->get(attr::output_to_operand_aliasing)) {
      ++outs[{alias.parameter, index_of(alias.parameter_index)}];
      ++ins[index_of(alias.output_index)];
    }
    for (size_t i = 0; i < call->operand_count(); ++i) {
      each_buffer(call, call->operand(i)->shape(), [&](const Index& index) {
        const auto found = outs.find({static_cast<int64_t>(i), index});
        const int64_t count = found == outs.end() ? 0 : found->second;
        if (count == 1) return;
        v_.error("buffer", call, "the buffer {} of operand {}, %{}, comes out {} times, not once",
                 text(index), i, call->operand(i)->name(), count);
      });
    }
    each_buffer(call, call->shape(), [&](const Index& index) {
      const auto found = ins.find(index);
      const int64_t count = found == ins.end() ? 0 : found->second;
      if (count == 1) return;
      v_.error("buffer", call, "the buffer {} of the result goes in {} times, not once",
               text(index), count);
    });
  }

  void check_writers(const Instruction* instruction) {
    each_buffer(instruction, instruction->shape(), [&](const Index& index) {
      if (const int64_t writers = count_writers(instruction, index); writers > 1) {
        v_.error("buffer", instruction, "the buffer {} of %{} has {} writers, and may have one",
                 text(index), instruction->name(), writers);
      }
    });
  }

  // The users that write the buffer at `index` of an instruction's value, which may be handed on in
  // tuples. Each step goes to a later instruction, so the path ends.
  int64_t count_writers(const Instruction* instruction, const Index& index) {
    struct Place {
      const Instruction* instruction;
      Index index;
    };
    std::vector<Place> open = {{instruction, index}};
    int64_t writers = 0;
    for (size_t i = 0; i < open.size(); ++i) {
      const Place place = open[i];
      const Users& users = users_[place.instruction->number()];
      if (!place.index.empty()) {
        const int64_t wanted = place.index[0];
        auto one = std::ranges::lower_bound(users.elements, wanted, {},
                                            [](const auto& element) { return element.first; });
        for (; one != users.elements.end() && one->first == wanted; ++one) {
          if (!may_go_on(instruction)) return writers;
          open.push_back({one->second, Index(place.index.begin() + 1, place.index.end())});
        }
      }
      for (const User& user : users.all) {
        if (!may_go_on(instruction)) return writers;
        if (user.instruction->opcode() != Opcode::kTuple) {
          writers += info(user.instruction->opcode()).traits.writes_buffers;
        } else if (user.instruction == user.instruction->parent()->root()) {
          writers += is_loop_body_;
        } else {
          Index within = place.index;
          within.insert(within.begin(), user.operand);
          open.push_back({user.instruction, std::move(within)});
        }
      }
    }
    return writers;
  }

  Verification& v_;
  BufferShapes& shapes_;
  std::vector<Users> users_;
  bool is_loop_body_ = false;
  int64_t steps_ = int64_t{1} << 19;
};

}  // namespace

void check_buffers(Verification& v) {
  BufferShapes shapes;
  bool any = false;
  std::vector<bool> is_async(v.module().computations().size(), false);
  std::vector<bool> is_body(is_async.size(), false);
  for (const Computation* computation : v.module().computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      // Users are followed over the whole module, so all of it must be sound.
      if (!v.is_sound(instruction)) return;
      any = any || shapes.holds(instruction->shape()) || is_about_buffers(instruction);
      if (instruction->opcode() == Opcode::kAsyncStart) {
        is_async[instruction->get(attr::calls)->number()] = true;
      } else if (instruction->opcode() == Opcode::kWhile) {
        is_body[instruction->get(attr::body)->number()] = true;
      }
    }
  }
  if (!any) return;
  Buffers buffers(v, shapes);
  for (const Computation* computation : v.module().computations()) {
    if (!computation->root()) continue;
    buffers.check(computation, is_async[computation->number()], is_body[computation->number()]);
  }
}

}  // namespace minihlo::verifier
