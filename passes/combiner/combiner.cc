#include "passes/combiner/combiner.h"

#include <algorithm>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "ir/rewriter.h"
#include "ir/semantics/groups.h"
#include "ir/text/printer.h"
#include "passes/channels.h"
#include "passes/computations.h"
#include "passes/emitter.h"
#include "passes/keep_attributes.h"
#include "passes/report.h"

namespace minihlo {
namespace {

constexpr OptionInfo kOptions[] = {
    {"bytes", "31457280", "", 0, "what the operands of a merged collective may take in all"},
    {"count", "256", "", 1, "how many operands a merged collective may have"},
};

class Combining {
 public:
  Combining(Module& module, PassContext& context, const CombinerOptions& options)
      : module_(module),
        context_(context),
        options_(options),
        shared_(module),
        reporter_(context, options.pass) {}

  tl::expected<void, std::string> run() {
    auto mesh = make_mesh(context_.replica_count(module_), context_.num_partitions(module_));
    if (!mesh) return tl::unexpected(mesh.error());
    mesh_ = *mesh;
    for (Computation* computation : module_.computations()) combine(*computation);
    return {};
  }

 private:
  struct Candidate {
    Instruction* collective;
    int64_t depth;
    std::string key;
  };

  // Why it can't be merged with any, or nothing.
  std::string obstacle(const Instruction& collective) const {
    if (collective.operand_count() == 0) return "it has no operand";
    if (collective.operand_count() > 1 && !collective.shape()->is_tuple()) {
      return "its shape is not that of its operands";
    }
    if (shared_.is_shared(collective)) return "devices in another branch may meet it";
    if (collective.has_dynamic_shape()) return "its shape is dynamic";
    if (collective.has(attr::backend_config)) return "it has a backend_config of its own";
    for (const Instruction* operand : collective.operands()) {
      if (!operand->shape()->is_array()) return "its operand is no array";
      // The first operand tells how many are gathered, but not where it has no extent.
      if (collective.opcode() == Opcode::kAllGather &&
          operand->shape()->dim(collective.get(attr::dimensions)[0]) == 0) {
        return "the dimension that it gathers has no extent";
      }
    }
    if (const Computation* reducer = collective.get(attr::to_apply)) {
      if (!reducer_opcode(*reducer)) return "its reducer is more than one operation";
    }
    return "";
  }

  // What two that are merged have to agree in.
  std::string key_of(const Instruction& collective) const {
    std::string key;
    for (const AttributeUse& use : info(collective.opcode()).attributes) {
      const Attribute* attribute = find_attribute(collective.attributes(), use.id);
      if (!attribute) continue;
      switch (use.id) {
        case AttributeId::channel_id:
          key += "channel;";
          break;
        case AttributeId::replica_groups:
          break;
        case AttributeId::to_apply:
          key +=
              fmt::format("{} of {};", to_string(*reducer_opcode(*collective.get(attr::to_apply))),
                          to_string(collective.operand(0)->shape()->element_type()));
          break;
        default:
          key += print_text(*attribute) + ";";
      }
    }
    auto groups = collective_groups(collective, mesh_);
    if (!groups) return "";
    key += fmt::format("{};", static_cast<int>(groups->mode));
    for (int64_t i = 0; i < groups->size(); ++i) {
      key += fmt::format("{{{}}}", fmt::join(groups->group(i), ","));
    }
    return key;
  }

  // Those that may be merged with others, in the order of the list. Of two of one depth neither
  // depends on the other, and merging any of one depth leaves the rest so: a path from a merged one
  // to another leads from one depth to a greater one.
  std::vector<Candidate> candidates(const Computation& computation) {
    std::vector<Candidate> result;
    std::vector<int64_t> depth(computation.size());
    for (Instruction* instruction : computation.instructions()) {
      int64_t& own = depth[instruction->number()];
      auto after = [&](const Instruction* before) { own = std::max(own, depth[before->number()]); };
      for (const Instruction* operand : instruction->operands()) after(operand);
      for (const Instruction* before : instruction->get(attr::control_predecessors)) after(before);
      if (instruction->opcode() != options_.opcode) continue;
      std::string reason = obstacle(*instruction);
      std::string key = reason.empty() ? key_of(*instruction) : "";
      if (reason.empty() && key.empty()) reason = "its groups are not those of the mesh";
      if (!reason.empty()) {
        reporter_.left_alone(*instruction, std::move(reason));
        continue;
      }
      result.push_back({instruction, own, std::move(key)});
      ++own;
    }
    return result;
  }

  void combine(Computation& computation) {
    // Sets that are merged, each within the thresholds.
    std::vector<std::vector<Instruction*>> sets;
    std::map<std::pair<int64_t, std::string>, size_t> open;
    std::vector<int64_t> bytes, count;
    for (Candidate& candidate : candidates(computation)) {
      int64_t size = 0;
      for (const Instruction* operand : candidate.collective->operands()) {
        if (__builtin_add_overflow(size, operand->shape()->byte_count(), &size)) {
          size = std::numeric_limits<int64_t>::max();
          break;
        }
      }
      const auto operands = static_cast<int64_t>(candidate.collective->operand_count());
      auto [place, is_new] =
          open.emplace(std::pair(candidate.depth, std::move(candidate.key)), sets.size());
      size_t set = place->second;
      if (!is_new &&
          (size > options_.bytes - bytes[set] || operands > options_.count - count[set])) {
        place->second = set = sets.size();
        is_new = true;
      }
      if (is_new) {
        sets.emplace_back();
        bytes.push_back(0);
        count.push_back(0);
      }
      sets[set].push_back(candidate.collective);
      bytes[set] += size;
      count[set] += operands;
    }
    for (const std::vector<Instruction*>& set : sets) {
      if (set.size() == 1) {
        reporter_.left_alone(*set[0],
                             "there is none that it can be merged with within the thresholds");
      }
    }
    std::erase_if(sets, [](const auto& set) { return set.size() < 2; });
    if (!sets.empty()) merge(computation, sets);
  }

  void merge(Computation& computation, const std::vector<std::vector<Instruction*>>& sets) {
    std::vector<const std::vector<Instruction*>*> set_at(computation.size());
    for (const std::vector<Instruction*>& set : sets) set_at[set.back()->number()] = &set;
    Rewriter rewriter(&computation);
    while (Instruction* at = rewriter.next()) {
      if (at->number() < set_at.size() && set_at[at->number()]) {
        merge(rewriter, *set_at[at->number()]);
      }
    }
    rewriter.finish();
    // Users of the first ones may stand before the last one's operands.
    order_operands_first(computation);
  }

  void merge(Rewriter& rewriter, const std::vector<Instruction*>& set) {
    Emitter emit(rewriter);
    std::vector<Instruction*> operands;
    std::vector<const Shape*> shapes;
    for (const Instruction* one : set) {
      operands.insert(operands.end(), one->operands().begin(), one->operands().end());
      std::vector<const Shape*> leaves = leaf_shapes(one->shape());
      shapes.insert(shapes.end(), leaves.begin(), leaves.end());
    }
    std::vector<Attribute> attributes;
    for (const AttributeUse& use : info(options_.opcode).attributes) {
      const Attribute* own = find_attribute(set[0]->attributes(), use.id);
      if (own) attributes.push_back(*own);
    }
    Instruction* merged =
        emit.make(options_.opcode, operands, attributes, rewriter.shapes().tuple(shapes));
    keep_control_predecessors(set, merged);
    int64_t index = 0;
    for (Instruction* one : set) {
      std::vector<Instruction*> elements;
      for (size_t i = 0; i < one->operand_count(); ++i) {
        elements.push_back(emit.element(merged, index++));
      }
      Instruction* result = one->shape()->is_tuple() ? emit.tuple(elements) : elements[0];
      keep_common_attributes(*one, result);
      reporter_.rewritten(*one, *merged);
      rewriter.replace(one, result);
    }
  }

  Module& module_;
  PassContext& context_;
  const CombinerOptions& options_;
  const SharedChannels shared_;
  Reporter reporter_;
  Mesh mesh_;
};

}  // namespace

const std::span<const OptionInfo> kCombinerOptions = kOptions;

CombinerOptions read_combiner_options(std::string_view pass, Opcode opcode,
                                      const PassOptions& options) {
  return {pass, opcode, *options.number("bytes"), *options.number("count")};
}

tl::expected<void, std::string> combine_collectives(Module& module, PassContext& context,
                                                    const CombinerOptions& options) {
  return Combining(module, context, options).run();
}

}  // namespace minihlo
