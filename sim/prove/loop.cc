// Loops as terms, by induction.
//
// The body is run once on placeholders for the state. A component that the body gives back
// unchanged is what it was at the start; one that starts alike on all devices and stays alike,
// given that the others do, is one placeholder for all. Both are assumed of every component and
// given up where the body does not bear them out, until nothing has to be given up: what is left
// holds before the first trip and is kept by every further one.
//
// The result is a term of the test, the components that it depends on, what the body makes of those
// and what they start as. Two loops are equal if these are.
#include <algorithm>

#include <fmt/format.h>

#include "sim/prove/rename.h"
#include "sim/prove/term_domain.h"

namespace minihlo::prove {

class TermDomain::LoopInduction {
 public:
  LoopInduction(TermDomain& domain, Walker<TermDomain>& walker, const Instruction& loop,
                std::span<const int> devices)
      : domain_(domain), terms_(domain.terms_), walker_(walker), loop_(loop), devices_(devices) {}

  /// Whether the test holds after every trip.
  bool is_endless() const { return endless_; }

  // The loop's result; nothing where it is no term.
  std::optional<Val> run(const Val& state) {
    append_leaves(state, start_);
    shapes_ = leaf_shapes(loop_.shape());
    kinds_.assign(start_.size(), Kind::kConstant);
    int64_t collectives = domain_.collectives_;
    ++domain_.level_;
    bool done = induct();
    --domain_.level_;
    if (!done) return std::nullopt;
    if (std::optional<std::vector<int64_t>> known = domain_.known(test_)) {
      endless_ = std::ranges::any_of(*known, [](int64_t again) { return again != 0; });
      if (endless_) return std::nullopt;
      return state;  // no trip at all
    }
    // Devices that leave the loop after different trips do not meet any more.
    if (domain_.collectives_ != collectives && !test_.is_uniform()) return std::nullopt;
    std::vector<Array> results;
    for (size_t i = 0; i < start_.size(); ++i) results.push_back(result(i));
    Array* next = results.data();
    return value_from_leaves<Array>(loop_.shape(), next);
  }

 private:
  enum class Kind { kConstant, kUniform, kVarying };

  bool induct() {
    for (;;) {
      placeholders_.clear();
      for (size_t i = 0; i < start_.size(); ++i) placeholders_.push_back(placeholder(i));
      auto test = call(*loop_.get(attr::condition));
      if (!test || !test->array.is_set()) return false;
      test_ = test->array;
      auto body = call(*loop_.get(attr::body));
      if (!body) return false;
      after_.clear();
      append_leaves(*body, after_);
      bool changed = false;
      for (size_t i = 0; i < start_.size(); ++i) changed = give_up(i) || changed;
      if (!changed) return true;
    }
  }

  Array placeholder(size_t i) {
    if (kinds_[i] == Kind::kConstant) return start_[i];
    const Shape* shape = shapes_[i];
    auto on = [&](int32_t device) {
      return terms_.placeholder(domain_.level_, static_cast<int64_t>(i), device,
                                shape->element_type(), shape->element_count());
    };
    if (kinds_[i] == Kind::kUniform) return Array(on(Handle::kNoDevice));
    std::vector<Handle> handles;
    for (int device : devices_) handles.push_back(on(device));
    return Array(std::move(handles));
  }

  std::optional<Val> call(const Computation& computation) {
    std::vector<Array> leaves = placeholders_;
    Array* next = leaves.data();
    std::vector<Val> arguments{value_from_leaves<Array>(loop_.shape(), next)};
    auto result = walker_.run(computation, std::move(arguments), devices_);
    if (!result) return std::nullopt;
    return *std::move(result);
  }

  // Gives up what was assumed of component i if the body does not keep it.
  bool give_up(size_t i) {
    switch (kinds_[i]) {
      case Kind::kConstant:
        if (same(after_[i], start_[i])) return false;
        kinds_[i] = start_[i].is_uniform() ? Kind::kUniform : Kind::kVarying;
        return true;
      case Kind::kUniform:
        if (after_[i].is_uniform()) return false;
        kinds_[i] = Kind::kVarying;
        return true;
      case Kind::kVarying:
        return false;
    }
    return false;
  }

  bool same(const Array& a, const Array& b) const {
    if (!a.is_set() || !b.is_set()) return !a.is_set() && !b.is_set();
    for (size_t i = 0; i < devices_.size(); ++i) {
      if (!(a[i] == b[i])) return false;
    }
    return true;
  }

  // The components that output i depends on, itself and the test's among them.
  std::vector<size_t> reached(size_t output) {
    std::vector<bool> seen(start_.size(), false);
    std::vector<size_t> pending{output};
    auto look = [&](const Array& array) {
      for (Handle handle : array.kept()) find_placeholders(handle.node, pending);
    };
    look(test_);
    while (!pending.empty()) {
      size_t i = pending.back();
      pending.pop_back();
      if (seen[i]) continue;
      seen[i] = true;
      if (kinds_[i] != Kind::kConstant) look(after_[i]);
    }
    std::vector<size_t> result;
    for (size_t i = 0; i < seen.size(); ++i) {
      if (seen[i] && kinds_[i] != Kind::kConstant) result.push_back(i);
    }
    return result;
  }

  // Appends the components of this loop's state that a term names.
  void find_placeholders(uint32_t root, std::vector<size_t>& found) {
    auto [cached, fresh] = named_.try_emplace(root);
    if (fresh) {
      std::vector<bool> seen(terms_.node_count(), false);
      std::vector<uint32_t> pending{root};
      while (!pending.empty()) {
        uint32_t number = pending.back();
        pending.pop_back();
        if (seen[number]) continue;
        seen[number] = true;
        const Node& node = terms_.node({number, Handle::kNoDevice});
        if (node.kind == NodeKind::kPlaceholder && node.signature == domain_.level_ + 1) {
          cached->second.push_back(static_cast<size_t>(node.number));
        }
        // A loop that is done: its placeholders are its own.
        if (node.kind == NodeKind::kApply &&
            terms_.signature(node.signature).level == domain_.level_ + 1) {
          continue;
        }
        for (Handle argument : node.arguments) pending.push_back(argument.node);
        if (!node.tensor) continue;
        for (const Piece& piece : node.tensor->pieces) pending.push_back(piece.source.node);
      }
    }
    found.insert(found.end(), cached->second.begin(), cached->second.end());
  }

  // Whether a term says the same of every device, naming none by number.
  bool is_local(const Array& array) const {
    for (size_t i = 0; i < devices_.size(); ++i) {
      Handle handle = array[i];
      if (terms_.node(handle).names_devices) return false;
      if (handle.device >= 0 && handle.device != devices_[i]) return false;
    }
    return true;
  }

  // The loop as the term of one of its outputs.
  struct Named {
    std::string name;
    std::vector<size_t> components;  // that it depends on
    Array test;
    std::vector<Array> after, start;  // of these
  };

  // Components by their positions in the state: they must be the same in both modules.
  Named by_position(size_t output) {
    Named named{fmt::format("loop of level {} result {} of", domain_.level_, output),
                reached(output),
                test_,
                {},
                {}};
    for (size_t i : named.components) {
      named.name += fmt::format(" {}:{}", i, kind_name(i));
      named.after.push_back(after_[i]);
      named.start.push_back(start_[i]);
    }
    return named;
  }

  // Components by the order in which the output and the test come to use them, so that it does not
  // matter where they stand in the state, and what else does.
  Named by_use(size_t output) {
    std::vector<size_t> order{output};
    std::vector<int64_t> numbers(start_.size(), -1);
    numbers[output] = 0;
    auto look = [&](const Array& array) {
      std::vector<size_t> found;
      for (Handle handle : array.kept()) find_placeholders(handle.node, found);
      for (size_t i : found) {
        if (numbers[i] >= 0) continue;
        numbers[i] = static_cast<int64_t>(order.size());
        order.push_back(i);
      }
    };
    look(test_);
    for (size_t next = 0; next < order.size(); ++next) look(after_[order[next]]);
    Renaming rename(terms_, domain_.level_ + 1, std::move(numbers));
    auto renamed = [&](const Array& array) {
      std::vector<Handle> handles;
      for (size_t device = 0; device < devices_.size(); ++device) {
        handles.push_back(rename(array[device]));
      }
      return Array(std::move(handles));
    };
    Named named{
        fmt::format("loop of level {} by use of", domain_.level_), order, renamed(test_), {}, {}};
    for (size_t i : order) {
      named.name += fmt::format(" {}", kind_name(i));
      named.after.push_back(renamed(after_[i]));
      named.start.push_back(start_[i]);
    }
    return named;
  }

  std::string_view kind_name(size_t i) const {
    return kinds_[i] == Kind::kUniform ? "one" : "each";
  }

  Array result(size_t output) {
    if (kinds_[output] == Kind::kConstant) return start_[output];
    Named named = domain_.mode_ == LoopMode::kTermsByUse ? by_use(output) : by_position(output);
    bool local = is_local(named.test);
    for (const Array& after : named.after) local = local && is_local(after);
    const Shape* shape = shapes_[output];
    Signature loop{std::move(named.name), Signature::Kind::kLoop};
    loop.level = domain_.level_ + 1;
    auto add = [&](size_t device, std::vector<Handle>& arguments) {
      arguments.push_back(named.test[device]);
      for (size_t i = 0; i < named.components.size(); ++i) {
        arguments.push_back(named.after[i][device]);
        arguments.push_back(named.start[i][device]);
      }
    };
    std::vector<Handle> handles;
    if (local) {
      uint32_t signature = terms_.signature(std::move(loop));
      for (size_t device = 0; device < devices_.size(); ++device) {
        std::vector<Handle> arguments;
        add(device, arguments);
        handles.push_back(
            terms_.apply(signature, 0, shape->element_type(), shape->element_count(), arguments));
      }
      return Array(std::move(handles));
    }
    // Data goes between devices: the loop is one term of all of them, and a device's result what it
    // leaves there.
    loop.key += fmt::format(" on {}", fmt::join(devices_, ","));
    std::vector<Handle> arguments;
    for (size_t device = 0; device < devices_.size(); ++device) add(device, arguments);
    Handle all =
        terms_.apply(terms_.signature(std::move(loop)), 0, ElementType::PRED, 1, arguments);
    for (int device : devices_) {
      handles.push_back(terms_.apply(terms_.signature(fmt::format("on device {}", device)), 0,
                                     shape->element_type(), shape->element_count(),
                                     std::span(&all, 1)));
    }
    return Array(std::move(handles));
  }

  TermDomain& domain_;
  Terms& terms_;
  Walker<TermDomain>& walker_;
  const Instruction& loop_;
  std::span<const int> devices_;
  std::vector<const Shape*> shapes_;
  std::vector<Array> start_, placeholders_, after_;
  std::vector<Kind> kinds_;
  Array test_;
  bool endless_ = false;
  std::unordered_map<uint32_t, std::vector<size_t>> named_;
};

std::optional<tl::expected<TermDomain::Val, Stop>> TermDomain::loop(Walker<TermDomain>& walker,
                                                                    const Instruction& loop,
                                                                    Val& state,
                                                                    std::span<const int> devices) {
  if (mode_ == LoopMode::kWalked) return std::nullopt;
  LoopInduction induction(*this, walker, loop, devices);
  std::optional<Val> result = induction.run(state);
  if (induction.is_endless()) {
    return tl::expected<Val, Stop>(
        tl::unexpect, Stop::unsupported("while", fmt::format("%{} never ends", loop.name())));
  }
  if (!result) return std::nullopt;
  has_loop_terms_ = true;
  rules_.use("loop-induction");
  return tl::expected<Val, Stop>(*std::move(result));
}

tl::expected<TermDomain::Val, Stop> TermDomain::conditional(Walker<TermDomain>& walker,
                                                            const Instruction& instruction,
                                                            const Array& test,
                                                            std::vector<Val> arguments,
                                                            std::span<const int> devices) {
  const int64_t collectives = collectives_, random_states = random_states_taken_;
  std::vector<std::vector<Array>> by_branch;
  std::vector<Computation*> branches = instruction.called_computations();
  for (size_t branch = 0; branch < branches.size(); ++branch) {
    std::vector<Val> own{std::move(arguments[branch])};
    tl::expected<Val, Stop> result = walker.run(*branches[branch], std::move(own), devices);
    if (!result) return result;
    append_leaves(*result, by_branch.emplace_back());
  }
  if (collectives_ != collectives && !test.is_uniform()) {
    return tl::unexpected(Stop::unsupported(
        "conditional",
        fmt::format("a collective in a branch of {}, whose test is not known and not the same on "
                    "all devices",
                    instruction_place(instruction))));
  }
  if (random_states_taken_ != random_states) {
    return tl::unexpected(
        Stop::unsupported("conditional", fmt::format("random states in a branch of {}, whose test "
                                                     "is not known",
                                                     instruction_place(instruction))));
  }
  rules_.use("conditional-term");
  std::vector<const Shape*> shapes = leaf_shapes(instruction.shape());
  bool is_pred = instruction.operand(0)->shape()->element_type() == ElementType::PRED;
  std::vector<Array> leaves;
  for (size_t leaf = 0; leaf < shapes.size(); ++leaf) {
    if (!by_branch[0][leaf].is_set()) {
      leaves.emplace_back();
      continue;
    }
    const uint32_t name = terms_.signature(
        {fmt::format("conditional of {} by {}", branches.size(), is_pred ? "truth" : "number"),
         Signature::Kind::kChoice});
    std::vector<Handle> handles;
    for (size_t device = 0; device < devices.size(); ++device) {
      std::vector<Handle> choice{test[device]};
      bool alike = true;
      for (const std::vector<Array>& of_branch : by_branch) {
        choice.push_back(of_branch[leaf][device]);
        alike = alike && choice.back() == choice[1];
      }
      handles.push_back(alike ? choice[1]
                              : terms_.apply(name, 0, shapes[leaf]->element_type(),
                                             shapes[leaf]->element_count(), choice));
    }
    leaves.emplace_back(std::move(handles));
  }
  Array* next = leaves.data();
  return value_from_leaves<Array>(instruction.shape(), next);
}

}  // namespace minihlo::prove
