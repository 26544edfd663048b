// collective-permute-decompose: makes permutes whose pairs form no cycles.
//
// A cycle of devices that all wait for one another can deadlock where sends wait for their recvs.
// Of each cycle the pair whose target is the smallest id goes into a second permute, so that what
// is left are chains; each device then selects the permute that it is a target of. A device that
// sends to itself keeps what it has.
//
//   %p = f32[2] collective-permute(%x), channel_id=1, source_target_pairs={{0,1},{1,2},{2,0}}
//
// becomes
//
//   %chains = f32[2] collective-permute(%x), channel_id=2, source_target_pairs={{0,1},{1,2}}
//   %back = f32[2] collective-permute(%x), channel_id=3, source_target_pairs={{2,0}}
//   %closes = pred[] the entry of {1,0,0} at partition-id
//   %p = f32[2] select(%closes, %back, %chains)
//
// form=send-recv writes each of these permutes as send, recv and their dones, with the pairs in the
// frontend attribute by which XLA knows them; permutes without cycles too.
//
//   %t = token[] after-all()
//   %r = (f32[2], u32[], token[]) recv(%t), channel_id=2,
//          frontend_attributes={_xla_send_recv_source_target_pairs={{0,1},{1,2}}}
//   %s = (f32[2], u32[], token[]) send(%x, %t), the same, control-predecessors={%r}
//   %rd = (f32[2], token[]) recv-done(%r), channel_id=2
//   %sd = token[] send-done(%s), channel_id=2, control-predecessors={%rd}
//   %chains = f32[2] get-tuple-element(%rd), index=0
//
// Keeps all bits, metadata, sharding, frontend attributes, statistics and origin; control
// predecessors go to what reads the operand. backend_config goes. Start and done pairs stay
// asynchronous: starts and sends stand where the start was, their dones where its done was.
#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "ir/semantics/groups.h"
#include "passes/ring/decomposition.h"
#include "passes/ring/mesh_links.h"

namespace minihlo {
namespace {

constexpr std::string_view kName = "collective-permute-decompose";
constexpr std::string_view kPairsAttribute = "_xla_send_recv_source_target_pairs";
constexpr OptionInfo kOptions[] = {
    {.name = "form",
     .default_value = "permutes",
     .words = "permutes send-recv",
     .minimum = {},
     .help = "permutes again, or sends and recvs"},
    {.name = "threshold",
     .default_value = "0",
     .words = "",
     .minimum = 0,
     .help = "bytes; permutes of less are left alone"},
};

using Pairs = std::vector<SourceTarget>;

// What becomes of the pairs of a permute.
struct Parts {
  GroupMode mode = GroupMode::kCrossReplica;
  int64_t ids = 0;              // of the mode
  Pairs transfers[2];           // chains, and a pair of each cycle
  std::vector<int64_t> selves;  // ids that send to themselves
};

// Requires pairs that permute_sources() accepts.
Parts take_apart(std::span<const SourceTarget> pairs, GroupMode mode, int64_t ids) {
  Parts parts{mode, ids, {}, {}};
  std::vector<int64_t> target_of(static_cast<size_t>(ids), -1);
  for (const SourceTarget& pair : pairs) target_of[static_cast<size_t>(pair.source)] = pair.target;
  // The smallest id of the cycle that an id is on; -1: none, or not looked at.
  std::vector<int64_t> first_of(static_cast<size_t>(ids), -1);
  std::vector<bool> seen(static_cast<size_t>(ids));
  for (int64_t start = 0; start < ids; ++start) {
    if (seen[static_cast<size_t>(start)]) continue;
    int64_t at = start;
    while (at >= 0 && !seen[static_cast<size_t>(at)]) {
      seen[static_cast<size_t>(at)] = true;
      at = target_of[static_cast<size_t>(at)];
    }
    // Who comes back to where it began has gone round a cycle, of which that is the smallest id.
    if (at != start) continue;
    do {
      first_of[static_cast<size_t>(at)] = start;
      at = target_of[static_cast<size_t>(at)];
    } while (at != start);
  }
  for (const SourceTarget& pair : pairs) {
    if (pair.source == pair.target) {
      parts.selves.push_back(pair.source);
    } else {
      const bool closes = first_of[static_cast<size_t>(pair.target)] == pair.target;
      parts.transfers[closes ? 1 : 0].push_back(pair);
    }
  }
  return parts;
}

class Permutes : public Decomposition {
 public:
  Permutes(const Module& module, const Mesh& mesh, bool send_recv, int64_t threshold)
      : links_(module, mesh), send_recv_(send_recv), threshold_(threshold) {}

  bool wants(const Instruction& instruction) const override {
    return instruction.opcode() == Opcode::kCollectivePermute ||
           instruction.opcode() == Opcode::kCollectivePermuteStart;
  }

  // Gives, of each operand, what each transfer begins: a permute or its start, or recv and send.
  tl::expected<std::vector<Instruction*>, std::string> begin(
      Emitter& emit, const Instruction& permute, std::span<const Shape* const> results) override {
    auto parts = plan(permute, results);
    if (!parts) return tl::make_unexpected(std::move(parts.error()));
    const bool is_start = permute.opcode() == Opcode::kCollectivePermuteStart;
    std::vector<Instruction*> begun;
    for (Instruction* operand : permute.operands()) {
      for (const Pairs& pairs : parts->transfers) {
        if (pairs.empty()) continue;
        if (send_recv_) {
          begin_send_recv(emit, operand, parts->mode, pairs, begun);
        } else {
          begun.push_back(begin_permute(emit, operand, parts->mode, pairs, is_start));
        }
      }
    }
    parts_[&permute] = *std::move(parts);
    return begun;
  }

  std::vector<Instruction*> end(Emitter& emit, const Instruction& permute,
                                std::vector<Instruction*> begun) override {
    const Parts& parts = parts_.at(&permute);
    std::vector<Instruction*> values;
    auto next = begun.begin();
    for (Instruction* operand : permute.operands()) {
      Instruction* value = nullptr;
      for (const Pairs& pairs : parts.transfers) {
        if (pairs.empty()) continue;
        Instruction* got = *next++;
        if (send_recv_) {
          got = end_send_recv(emit, got, *next++);
        } else if (got->opcode() == Opcode::kCollectivePermuteStart) {
          got = emit.make(Opcode::kCollectivePermuteDone, {got}, {}, operand->shape());
        }
        value = value ? select_by(emit, is_among(emit, parts, targets(pairs)), got, value) : got;
      }
      if (!parts.selves.empty()) {
        if (!value) value = emit.zeros(operand->shape());
        value = select_by(emit, is_among(emit, parts, parts.selves), operand, value);
      }
      values.push_back(value);
    }
    return values;
  }

 private:
  tl::expected<Parts, std::string> plan(const Instruction& permute,
                                        std::span<const Shape* const> results) {
    if (permute.has(attr::permute_slice_sizes) ||
        (permute.operand_count() == 4 && results.size() != 4)) {
      return tl::make_unexpected("it permutes slices of buffers in place");
    }
    if (permute.operand_count() == 0) return tl::make_unexpected("it has no operand");
    if (results.size() != permute.operand_count()) {
      return tl::make_unexpected("its shape is not that of its operands");
    }
    int64_t bytes = 0;
    for (const Shape* result : results) {
      if (__builtin_add_overflow(bytes, result->byte_count(), &bytes)) {
        return tl::make_unexpected("it is too large");
      }
    }
    if (bytes < threshold_) {
      return tl::make_unexpected(fmt::format("it moves {} bytes, less than the threshold", bytes));
    }
    if (links_.is_shared(permute)) return tl::make_unexpected(MeshLinks::shared_channel());
    if (send_recv_ && !links_.runs_on_all(permute)) {
      return tl::make_unexpected(
          "it waits for devices that may part before it, which a send does not");
    }
    if (!links_.take_numbers(4 * links_.mesh().device_count())) {
      return tl::make_unexpected(MeshLinks::numbers_used_up());
    }
    auto mode = group_mode(permute);
    if (!mode) return tl::make_unexpected(std::move(mode.error()));
    if (auto sources = permute_sources(permute, links_.mesh()); !sources) {
      return tl::make_unexpected(std::move(sources.error()));
    }
    Parts parts =
        take_apart(permute.get(attr::source_target_pairs), *mode, id_count(*mode, links_.mesh()));
    const bool has_cycle = !parts.transfers[1].empty() || !parts.selves.empty();
    if (!has_cycle && !send_recv_) return tl::make_unexpected("its pairs form no cycle");
    if (!has_cycle && parts.transfers[0].empty()) return tl::make_unexpected("it has no pairs");
    return parts;
  }

  std::optional<Attribute> channel(GroupMode mode) {
    if (mode != GroupMode::kCrossPartition) return std::nullopt;
    return make_attribute(attr::channel_id, links_.fresh_channel());
  }

  Instruction* begin_permute(Emitter& emit, Instruction* operand, GroupMode mode,
                             const Pairs& pairs, bool is_start) {
    std::vector<Attribute> attributes = {
        make_attribute(attr::source_target_pairs, emit.module().arena().copy(pairs))};
    if (auto own = channel(mode)) attributes.push_back(*own);
    const Shape* shape = operand->shape();
    if (!is_start) {
      return emit.make(Opcode::kCollectivePermute, std::span(&operand, 1), attributes, shape);
    }
    const Shape* both[] = {shape, shape};
    return emit.make(Opcode::kCollectivePermuteStart, std::span(&operand, 1), attributes,
                     emit.shapes().tuple(both));
  }

  void begin_send_recv(Emitter& emit, Instruction* operand, GroupMode mode, const Pairs& pairs,
                       std::vector<Instruction*>& begun) {
    std::string text;
    for (const SourceTarget& pair : pairs) {
      text += fmt::format("{}{{{},{}}}", text.empty() ? "{" : ",", pair.source, pair.target);
    }
    Module& module = emit.module();
    const NamedString named{kPairsAttribute, module.keep_name(text + "}"), true};
    std::vector<Attribute> attributes = {
        make_attribute(attr::frontend_attributes, module.arena().copy(std::vector{named}))};
    if (auto own = channel(mode)) attributes.push_back(*own);
    ShapePool& shapes = emit.shapes();
    const Shape* state[] = {operand->shape(), shapes.scalar(ElementType::U32), shapes.token()};
    const Shape* shape = shapes.tuple(state);
    Instruction* token = emit.make(Opcode::kAfterAll, {}, {}, shapes.token());
    Instruction* recv = emit.make(Opcode::kRecv, std::span(&token, 1), attributes, shape);
    // Nobody sends before it can receive.
    attributes.push_back(wait_for(module, recv));
    Instruction* operands[] = {operand, token};
    begun.push_back(recv);
    begun.push_back(emit.make(Opcode::kSend, operands, attributes, shape));
  }

  static Instruction* end_send_recv(Emitter& emit, Instruction* recv, Instruction* send) {
    const Shape* token = emit.shapes().token();
    const Shape* parts[] = {recv->shape()->element(0), token};
    std::vector<Attribute> attributes;
    if (auto own = recv->find(attr::channel_id)) {
      attributes.push_back(make_attribute(attr::channel_id, *own));
    }
    Instruction* received =
        emit.make(Opcode::kRecvDone, std::span(&recv, 1), attributes, emit.shapes().tuple(parts));
    attributes.push_back(wait_for(emit.module(), received));
    emit.make(Opcode::kSendDone, std::span(&send, 1), attributes, token);
    return emit.element(received, 0);
  }

  static Attribute wait_for(Module& module, Instruction* other) {
    return make_attribute(attr::control_predecessors,
                          std::span<Instruction* const>(module.arena().copy(std::vector{other})));
  }

  static std::vector<int64_t> targets(const Pairs& pairs) {
    std::vector<int64_t> ids;
    for (const SourceTarget& pair : pairs) ids.push_back(pair.target);
    return ids;
  }

  // Whether the device's id is one of these, as pred[].
  Instruction* is_among(Emitter& emit, const Parts& parts, const std::vector<int64_t>& ids) {
    std::vector<int64_t> table(static_cast<size_t>(parts.ids));
    for (int64_t id : ids) table[static_cast<size_t>(id)] = 1;
    Instruction* entries = emit.rewriter().constant(ElementType::PRED, table);
    return emit.look_up(entries, emit.id(parts.mode, links_.mesh()));
  }

  MeshLinks links_;
  bool send_recv_;
  int64_t threshold_;
  std::unordered_map<const Instruction*, Parts> parts_;
};

class CollectivePermuteDecompose : public Pass {
 public:
  explicit CollectivePermuteDecompose(const PassOptions& options)
      : send_recv_(options.text("form") == "send-recv"), threshold_(*options.number("threshold")) {}

  tl::expected<void, std::string> run(Module& module, PassContext& context) const override {
    auto mesh = make_mesh(context.replica_count(module), context.num_partitions(module));
    if (!mesh) return tl::make_unexpected(std::move(mesh.error()));
    Permutes permutes(module, *mesh, send_recv_, threshold_);
    decompose_collectives(module, context, kName, permutes);
    return {};
  }

 private:
  bool send_recv_;
  int64_t threshold_;
};

}  // namespace

const PassInfo kCollectivePermuteDecompose = {
    .name = kName,
    .summary = "take cycles out of permutes, or write them as sends and recvs",
    .keeps = Keeps::kBits,
    .options = kOptions,
    .make = [](const PassOptions& options) -> std::unique_ptr<Pass> {
      return std::make_unique<CollectivePermuteDecompose>(options);
    },
};

}  // namespace minihlo
