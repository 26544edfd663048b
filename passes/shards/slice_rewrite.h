// What passes have in common that rewrite slices of what collectives give.
#pragma once

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/rewriter.h"
#include "passes/channels.h"
#include "passes/report.h"
#include "passes/shards/collective_value.h"
#include "passes/shards/shard_slice.h"
#include "passes/users.h"

namespace minihlo {

/// Looks at each dynamic-slice of what a collective gives, then rewrites those that it has a Plan
/// for. The collective goes when nobody uses it any more.
template <class Plan>
class SliceRewrite {
 public:
  /// `goes`: the opcodes of the collective, of its start and its done, where they may go.
  SliceRewrite(Module& module, PassContext& context, const Mesh& mesh, std::string_view pass,
               Opcode collective, std::vector<Opcode> goes)
      : module_(module),
        mesh_(mesh),
        known_(module, mesh),
        shared_(module),
        report_(context, pass),
        collective_(collective),
        goes_(std::move(goes)) {}
  virtual ~SliceRewrite() = default;

  void run() {
    // What is looked at may be asked about from another computation, so nothing changes before.
    std::vector<std::unordered_map<const Instruction*, Found>> found(module_.computations().size());
    for (const Computation* computation : module_.computations()) {
      begin(*computation);
      for (const Instruction* slice : computation->instructions()) {
        if (slice->opcode() != Opcode::kDynamicSlice) continue;
        auto value = find_collective_value(slice->operand(0), collective_);
        if (!value) continue;
        auto plan = this->plan(*slice, *value);
        if (plan) {
          found[computation->number()].emplace(slice, Found{*std::move(value), *std::move(plan)});
        } else {
          report_.left_alone(*slice, std::move(plan.error()));
        }
      }
    }
    for (Computation* computation : module_.computations()) {
      const auto& slices = found[computation->number()];
      if (slices.empty()) continue;
      Rewriter rewriter(computation);
      std::vector<Instruction*> unused;
      while (Instruction* at = rewriter.next()) {
        auto one = slices.find(at);
        if (one == slices.end()) continue;
        const Instruction* by = replace(rewriter, at, one->second.value, one->second.plan);
        report_.rewritten(*at, *by);
        unused.insert(unused.end(), at->operands().begin(), at->operands().end());
      }
      rewriter.finish();
      remove_unused(computation, std::move(unused), goes_);
    }
  }

 protected:
  using Reason = tl::unexpected<std::string>;

  /// Comes before the slices of a computation are looked at.
  virtual void begin(const Computation&) {}
  /// Error: why the slice is left alone.
  virtual tl::expected<Plan, std::string> plan(const Instruction& slice,
                                               const CollectiveValue& value) = 0;
  /// Puts something in the slice's place and returns it.
  virtual const Instruction* replace(Rewriter& rewriter, Instruction* slice,
                                     const CollectiveValue& value, const Plan& plan) = 0;

  /// The groups of a collective that has static shapes and whose groups are equal parts of the
  /// mesh; else why it is left alone.
  tl::expected<const CollectiveGroups*, std::string> equal_groups(const Instruction& collective) {
    auto [place, is_new] = groups_.try_emplace(&collective);
    if (is_new) place->second = collective_groups(collective, mesh_);
    const auto& groups = place->second;
    const std::string name = "%" + std::string(collective.name());
    if (!groups) return Reason(name + ": " + groups.error());
    if (!groups->is_uniform() || !groups->covers_mesh()) {
      return Reason("the groups of " + name + " are not equal parts of the mesh");
    }
    if (shared_.is_shared(collective)) return Reason("devices in another branch may meet " + name);
    if (collective.has_dynamic_shape()) return Reason(name + " has a dynamic dimension");
    if (collective_ == Opcode::kAllGather && !gathers_one_shard_each(collective, *groups)) {
      return Reason("the result of " + name + " is not one shard from each member");
    }
    return &*groups;
  }

  Module& module_;
  const Mesh mesh_;
  KnownValues known_;

 private:
  struct Found {
    CollectiveValue value;
    Plan plan;
  };

  const SharedChannels shared_;
  Reporter report_;
  const Opcode collective_;
  const std::vector<Opcode> goes_;
  std::unordered_map<const Instruction*, tl::expected<CollectiveGroups, std::string>> groups_;
};

}  // namespace minihlo
