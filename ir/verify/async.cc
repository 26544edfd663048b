#include <algorithm>
#include <map>

#include <tsl/robin_map.h>

#include "ir/async_pairs.h"
#include "ir/async_state.h"
#include "ir/hash.h"
#include "ir/verify/verification.h"

namespace minihlo::verifier {
namespace {

// What is under way may be carried through some: into a loop, out of a branch, in a tuple.
bool carries(Opcode opcode) { return info(opcode).traits.carries; }

bool is_control_dependency(const Instruction* user) {
  return user->opcode() == Opcode::kCustomCall &&
         user->get(attr::custom_call_target) == "control_dep";
}

// Whether what asynchronous work has been given is what its computation takes. Many links of a
// chain are given the same, so each answer is kept.
class Bindings {
 public:
  bool fits(const Computation* called, const Shape* given) {
    auto [known, added] = known_.try_emplace({called, given}, false);
    if (added) known->second = is_fit(called->parameters(), given);
    return known->second;
  }

 private:
  static bool is_fit(std::span<Instruction* const> parameters, const Shape* given) {
    return given->is_tuple() &&
           std::ranges::equal(parameters, given->elements(),
                              [](const Instruction* parameter, const Shape* shape) {
                                return !parameter || !parameter->shape() ||
                                       compatible_but_for_dynamic(parameter->shape(), shape);
                              });
  }

  std::map<std::pair<const Computation*, const Shape*>, bool> known_;
};

// The users of the starts of one computation.
class Pairing {
 public:
  Pairing(Verification& v, Bindings& bindings, const Computation* computation)
      : v_(v), bindings_(bindings) {
    bool any = false;
    for (const Instruction* instruction : computation->instructions()) {
      any |= done_of(instruction->opcode()).has_value() || is_done(instruction->opcode());
    }
    if (!any) return;
    users_.resize(computation->size());
    starts_.resize(computation->size(), nullptr);
    for (const Instruction* instruction : computation->instructions()) {
      if (!v.is_sound(instruction)) return;
      if (instruction->opcode() == Opcode::kAsyncStart) {
        starts_[instruction->number()] = instruction;
      } else if (instruction->opcode() == Opcode::kAsyncUpdate) {
        starts_[instruction->number()] = starts_[instruction->operand(0)->number()];
      }
      const Instruction* last = nullptr;
      for (const Instruction* operand : instruction->operands()) {
        if (!done_of(operand->opcode()) || operand == last) continue;
        last = operand;
        users_[operand->number()].push_back(instruction);
      }
    }
    find_what_ends(computation);
    for (const Instruction* instruction : computation->instructions()) {
      if (std::optional<Opcode> done = done_of(instruction->opcode())) {
        check_start(instruction, *done);
      }
      if (is_done(instruction->opcode()) || instruction->opcode() == Opcode::kAsyncUpdate) {
        check_done(instruction);
      }
    }
  }

 private:
  // Marks the values in which what is under way comes to an end: a done takes them out of a tuple,
  // or it ends elsewhere, as they go into a loop, a call or a branch, or out of this computation.
  void find_what_ends(const Computation* computation) {
    ends_.resize(computation->size(), false);
    const Instruction* root = computation->root();
    if (root && computation != v_.module().entry()) ends_[root->number()] = true;
    const std::span<Instruction* const> instructions = computation->instructions();
    for (size_t i = instructions.size(); i-- > 0;) {
      const Instruction* user = instructions[i];
      const Opcode opcode = user->opcode();
      const bool ends = is_done(opcode) || info(opcode).family == Family::kControl;
      const bool hands_on = carries(opcode) || opcode == Opcode::kAsyncUpdate;
      if (!ends && !(hands_on && ends_[user->number()])) continue;
      for (const Instruction* operand : user->operands()) ends_[operand->number()] = true;
    }
  }

  // A send or receive that is wrapped has its done outside.
  bool is_wrapped(const Instruction* start) const {
    return start == start->parent()->root() && start->parent() != v_.module().entry() &&
           (start->opcode() == Opcode::kSend || start->opcode() == Opcode::kRecv);
  }

  void check_start(const Instruction* start, Opcode done) {
    const Opcode opcode = start->opcode();
    const bool generic = opcode == Opcode::kAsyncStart || opcode == Opcode::kAsyncUpdate;
    int64_t users = 0, ends = 0;
    for (const Instruction* user : users_[start->number()]) {
      if (is_control_dependency(user)) continue;
      ++users;
      if (user->opcode() == done || (generic && user->opcode() == Opcode::kAsyncUpdate)) {
        ++ends;
        if (user->operand(0) != start) {
          v_.error("async-pair", user, "%{} must be operand 0 of {}, which ends it", start->name(),
                   to_string(user->opcode()));
        }
      } else if (carries(user->opcode())) {
        continue;
      } else if (is_done(user->opcode())) {
        return;  // the wrong one, which check_done reports
      } else {
        v_.error("async-pair", user, "{} uses %{}, which {} must end first",
                 to_string(user->opcode()), start->name(), to_string(done));
        return;
      }
    }
    if (ends > 1) {
      v_.error("async-pair", start, "%{} has {} users that end it, and must have one",
               start->name(), ends);
    } else if (users > 1 && !generic) {
      v_.error("async-pair", start, "%{} has {} users, and must have one", start->name(), users);
    } else if (generic ? !ends_[start->number()] : users == 0 && !is_wrapped(start)) {
      v_.error("async-pair", start, "%{} has no {}", start->name(), to_string(done));
    }
  }

  // By its end, asynchronous work has been given all that its computation takes.
  void check_bound(const Instruction* done) {
    const Instruction* start = starts_[done->operand(0)->number()];
    const Shape* state = done->operand(0)->shape();
    if (!start || state->elements().size() < 2) return;
    const Computation* called = start->get(attr::calls);
    const Shape* given = state->element(0);
    // Where the start leaves the result open, an update or the done says what it is.
    const Shape* result = called->root() ? called->root()->shape() : nullptr;
    const Shape* bound = is_result_open(state) ? done->shape() : state->element(1);
    if (result && is_result_open(start->shape()) && !compatible_but_for_dynamic(bound, result)) {
      v_.error("async-pair", done, "%{} gives {}, but until %{} its result is {}", called->name(),
               to_string(result, false), done->name(), to_string(bound, false));
    }
    const size_t parameters = called->parameters().size();
    // What a start itself is given too much is told of the start.
    if (bindings_.fits(called, given) ||
        (start == done->operand(0) && given->elements().size() >= parameters)) {
      return;
    }
    v_.error("async-pair", done, "%{} is given {} until %{}, but %{} takes {} parameter{}",
             start->name(), to_string(given, false), done->name(), called->name(), parameters,
             parameters == 1 ? "" : "s");
  }

  void check_done(const Instruction* done) {
    const Instruction* start = done->operand(0);
    const bool matches =
        done->opcode() == Opcode::kAsyncUpdate
            ? start->opcode() == Opcode::kAsyncStart || start->opcode() == Opcode::kAsyncUpdate
            : done_of(start->opcode()) == done->opcode();
    if (!matches) {
      // Nothing is under way yet where the entry begins.
      const bool enters =
          start->opcode() == Opcode::kParameter && start->parent() == v_.module().entry();
      if (!carries(start->opcode()) || enters) {
        v_.error("async-pair", done, "{} ends %{}, which is {}", to_string(done->opcode()),
                 start->name(), to_string(start->opcode()));
      }
      return;
    }
    if (start->opcode() == Opcode::kSend || start->opcode() == Opcode::kRecv) {
      if (start->find(attr::channel_id) != done->find(attr::channel_id)) {
        v_.error("channel-id", done, "%{} and %{} must have the same channel_id", start->name(),
                 done->name());
      }
      if (start->get(attr::is_host_transfer) != done->get(attr::is_host_transfer)) {
        v_.error("host-transfer", done, "%{} and %{} must have the same is_host_transfer",
                 start->name(), done->name());
      }
    }
    if (done->opcode() == Opcode::kAsyncDone) check_bound(done);
    // An update or done may repeat what it continues.
    Computation* of_start = start->get(attr::calls);
    Computation* of_done = done->get(attr::calls);
    if (of_start && of_done && of_start != of_done) {
      v_.error("async-pair", done, "%{} calls %{}, but %{}, which it continues, calls %{}",
               done->name(), of_done->name(), start->name(), of_start->name());
    }
  }

  Verification& v_;
  Bindings& bindings_;
  std::vector<std::vector<const Instruction*>> users_;
  std::vector<const Instruction*> starts_;  // of starts and updates: where the chain begins
  std::vector<bool> ends_;                  // by value: what is under way in it comes to an end
};

// Sends and receives of one channel with the host are the same but for their operands.
class HostTransfers {
 public:
  explicit HostTransfers(Verification& v) : v_(v) {}

  void check(const Instruction* instruction) {
    const std::optional<int64_t> channel = instruction->find(attr::channel_id);
    if (!channel || !instruction->get(attr::is_host_transfer)) return;
    const Instruction*& first = first_[*channel];
    if (!first) {
      first = instruction;
    } else if (first->opcode() != instruction->opcode() ||
               !compatible(first->shape(), instruction->shape()) ||
               frontend_attributes(first) != frontend_attributes(instruction)) {
      v_.error("host-transfer", instruction,
               "%{} and %{} are host transfers on channel {}, so they must be alike", first->name(),
               instruction->name(), *channel);
    }
  }

 private:
  static std::map<std::string_view, std::string_view> frontend_attributes(
      const Instruction* instruction) {
    std::map<std::string_view, std::string_view> all;
    for (const NamedString& one : instruction->get(attr::frontend_attributes)) {
      all[one.name] = one.value;
    }
    return all;
  }

  Verification& v_;
  tsl::robin_map<int64_t, const Instruction*, IntegerHash> first_;
};

}  // namespace

void check_async(Verification& v) {
  // Send and receive have effects.
  if (!v.uses(Family::kAsync) && !v.uses(Family::kEffect)) return;
  HostTransfers transfers(v);
  for (const Computation* computation : v.module().computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      if (instruction->opcode() != Opcode::kSend && instruction->opcode() != Opcode::kRecv)
        continue;
      if (v.is_sound(instruction)) transfers.check(instruction);
    }
  }
  Bindings bindings;
  for (const Computation* computation : v.module().computations()) {
    Pairing(v, bindings, computation);
  }
}

}  // namespace minihlo::verifier
