// stream-ids: says which collectives may run at the same time, by a stream for each.
//
//   %a = f32[4] all-reduce(%x), ...        frontend_attributes={stream_id="0"}
//   %b = f32[4] all-reduce(%y), ...        frontend_attributes={stream_id="1"}
//   %c = f32[4] all-gather(%a), ...        frontend_attributes={stream_id="0"}
//
// A stream runs its collectives one after another in the order of the list. Each goes, in that
// order, to a stream whose last one it depends on anyway, the latest of them; else to the stream
// with the fewest bytes so far. So no two that depend on each other change places, which is checked
// in the end, and independent ones share a stream only where there are too few. Computations are
// counted each by itself. What starts asynchronously is put on a stream by its start. The spelling
// of the attribute is this tool's own.
#include <algorithm>

#include <fmt/format.h>

#include "ir/rewriter.h"
#include "passes/computations.h"
#include "passes/effects.h"
#include "passes/pass.h"
#include "passes/report.h"

namespace minihlo {
namespace {

constexpr std::string_view kName = "stream-ids";
constexpr std::string_view kAttribute = "stream_id";
constexpr int64_t kMaxStreams = 64;  // what is kept an instruction grows with them

// Whether an instruction exchanges data itself, or by what it starts.
bool has_stream(const Instruction& instruction) {
  if (instruction.opcode() != Opcode::kAsyncStart) return is_exchange(instruction);
  return std::ranges::any_of(instruction.called_computations(), [](const Computation* called) {
    return is_exchange(*called->root());
  });
}

class StreamIds : public Pass {
 public:
  explicit StreamIds(int64_t streams) : streams_(static_cast<size_t>(streams)) {}

  tl::expected<void, std::string> run(Module& module, PassContext& context) const override {
    if (static_cast<int64_t>(streams_) > kMaxStreams) {
      return tl::unexpected(fmt::format("there may be at most {} streams", kMaxStreams));
    }
    // What asynchronous computations do is on the stream of what starts them.
    const std::vector<bool> is_asynchronous = asynchronous_computations(module);
    for (Computation* computation : module.computations()) {
      if (is_asynchronous[computation->number()]) continue;
      std::vector<int64_t> stream_of = assign(*computation);
      std::string wrong = check(*computation, stream_of);
      if (!wrong.empty()) return tl::unexpected(std::move(wrong));
      for (Instruction* instruction : computation->instructions()) {
        const int64_t stream = stream_of[instruction->number()];
        if (stream < 0) continue;
        set_stream(module, *instruction, stream);
        Reporter(context, kName).rewritten(*instruction, *instruction);
      }
    }
    return {};
  }

 private:
  // What has to be done before an instruction: its operands and control predecessors.
  template <class Visit>
  static void each_before(const Instruction& instruction, const Visit& visit) {
    for (const Instruction* operand : instruction.operands()) visit(*operand);
    for (const Instruction* before : instruction.get(attr::control_predecessors)) visit(*before);
  }

  // By number; -1 for what is no collective.
  std::vector<int64_t> assign(const Computation& computation) const {
    std::vector<int64_t> stream_of(computation.size(), -1);
    // By number and stream: how many of the stream's collectives it depends on, which are the first
    // ones, as those of a stream wait for each other.
    std::vector<int64_t> reached(computation.size() * streams_);
    std::vector<int64_t> length(streams_), bytes(streams_), last(streams_, -1);
    for (const Instruction* instruction : computation.instructions()) {
      int64_t* own = &reached[instruction->number() * streams_];
      each_before(*instruction, [&](const Instruction& before) {
        const int64_t* its = &reached[before.number() * streams_];
        for (size_t s = 0; s < streams_; ++s) own[s] = std::max(own[s], its[s]);
      });
      if (!has_stream(*instruction)) continue;
      size_t chosen = SIZE_MAX;
      for (size_t s = 0; s < streams_; ++s) {
        if (length[s] == 0 || own[s] != length[s]) continue;
        if (chosen == SIZE_MAX || last[s] > last[chosen]) chosen = s;
      }
      if (chosen == SIZE_MAX) {
        chosen = static_cast<size_t>(std::ranges::min_element(bytes) - bytes.begin());
      }
      stream_of[instruction->number()] = static_cast<int64_t>(chosen);
      own[chosen] = ++length[chosen];
      last[chosen] = instruction->number();
      for (const Instruction* operand : instruction->operands()) {
        bytes[chosen] += std::max<int64_t>(operand->shape()->byte_count(), 1);
      }
    }
    return stream_of;
  }

  // Whether each stream's order and what instructions wait for allow some order of all; in words
  // what does not, or nothing.
  static std::string check(const Computation& computation, const std::vector<int64_t>& stream_of) {
    for (const Instruction* instruction : computation.instructions()) {
      std::string wrong;
      each_before(*instruction, [&](const Instruction& before) {
        const bool is_one_stream = stream_of[before.number()] >= 0 &&
                                   stream_of[before.number()] == stream_of[instruction->number()];
        if (is_one_stream && before.number() >= instruction->number()) {
          wrong = fmt::format("%{} depends on %{}, which comes later on its stream",
                              instruction->name(), before.name());
        }
      });
      if (!wrong.empty()) return wrong;
    }
    return "";
  }

  static void set_stream(Module& module, Instruction& instruction, int64_t stream) {
    std::vector<NamedString> list;
    for (const NamedString& one : instruction.get(attr::frontend_attributes)) {
      if (one.name != kAttribute) list.push_back(one);
    }
    const NamedString own{kAttribute, module.keep_name(fmt::to_string(stream)), false};
    // XLA prints them by name.
    auto place = std::ranges::upper_bound(list, own.name, {}, &NamedString::name);
    list.insert(place, own);
    instruction.set(attr::frontend_attributes, module.arena().copy(list));
  }

  size_t streams_;
};

constexpr OptionInfo kOptions[] = {
    {"streams", "2", "", 1, "how many streams there are, at most 64"},
};

}  // namespace

const PassInfo kStreamIds = {
    .name = kName,
    .summary = "put independent collectives on different streams, in frontend attributes",
    .options = kOptions,
    .make = [](const PassOptions& options) -> std::unique_ptr<Pass> {
      return std::make_unique<StreamIds>(*options.number("streams"));
    },
};

}  // namespace minihlo
