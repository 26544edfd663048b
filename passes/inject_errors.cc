// inject-errors: breaks a module on purpose, in one place, as a faulty pass would.
//
//   %p = f32[4] collective-permute(%x), source_target_pairs={{0,1},{1,0}}
//                                              ->  the same, with source_target_pairs={{0,1}}
//
// For trying provers, tests and campaigns: does anybody notice? Where there is a kind of error that
// applies, the module is another one, and valid, but it may still compute the same: operands of an
// addition that change places change nothing. The kind and the place are drawn by `seed`, the same
// on every platform; kind=any draws among the kinds that apply. What was done is logged, and stands
// in the entry's reason. A module in which the kind applies nowhere stays as it is.
#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "ir/diagnostics.h"
#include "ir/semantics/collective_forms.h"
#include "ir/text/printer.h"
#include "ir/verifier.h"
#include "passes/computations.h"
#include "passes/effects.h"
#include "passes/errors/kinds.h"
#include "passes/pass.h"

namespace minihlo {
namespace {

constexpr std::string_view kName = "inject-errors";
// Tries for one kind, and the places that they are spread over: each try costs a copy of the
// module, which is verified.
constexpr size_t kMaxTries = 160;
constexpr size_t kMaxPlaces = 40;

// An instruction by its computation's number and its own.
struct Place {
  uint32_t computation;
  uint32_t instruction;
};

class Injection {
 public:
  Injection(Module& module, PassContext& context, uint64_t seed)
      : module_(module),
        context_(context),
        mesh_{context.replica_count(module), context.num_partitions(module)},
        seed_(seed) {}

  void run(std::string_view wanted) {
    errors::Random random(seed_);
    std::vector<const errors::Kind*> kinds;
    for (const errors::Kind& kind : errors::kinds()) {
      if (wanted == "any" || kind.name == wanted) kinds.push_back(&kind);
    }
    random.shuffle(kinds);
    for (const errors::Kind* kind : kinds) {
      if (try_kind(*kind, random)) return;
    }
    if (context_.log) context_.log(fmt::format("{}: there is no place for it", kName));
  }

 private:
  bool try_kind(const errors::Kind& kind, errors::Random& random) {
    std::vector<Place> places = places_of(kind);
    random.shuffle(places);
    if (places.size() > kMaxPlaces) places.resize(kMaxPlaces);
    // What is drawn at a place may be no valid module, so each comes up again.
    for (size_t i = 0; i < kMaxTries && !places.empty(); ++i) {
      const auto seed = static_cast<uint64_t>(random.below(INT64_MAX));
      if (try_place(kind, places[i % places.size()], seed)) return true;
    }
    return false;
  }

  bool try_place(const errors::Kind& kind, const Place& place, uint64_t seed) {
    std::unique_ptr<Module> copy = module_.clone();
    if (apply(*copy, kind, place, seed).empty() || !is_valid(*copy) ||
        print_text(*copy) == print_text(module_)) {
      return false;
    }
    const Instruction* at = instruction(module_, place);
    PassEntry entry;
    entry.pass = kName;
    entry.computation = at->parent()->name();
    entry.instruction = at->name();
    entry.opcode = at->opcode();
    entry.rewritten = true;
    entry.result = at->name();
    entry.reason = fmt::format("{}: {}", kind.name, apply(module_, kind, place, seed));
    if (context_.log) context_.log(fmt::format("{}: {}", kName, entry.reason));
    context_.report(std::move(entry));
    return true;
  }

  std::vector<Place> places_of(const errors::Kind& kind) const {
    std::vector<Place> places;
    for (const Computation* computation : module_.computations()) {
      for (const Instruction* at : computation->instructions()) {
        if (kind.fits(*at)) places.push_back({computation->number(), at->number()});
      }
    }
    return places;
  }

  static Instruction* instruction(const Module& module, const Place& place) {
    return module.computations()[place.computation]->instructions()[place.instruction];
  }

  std::string apply(Module& module, const errors::Kind& kind, const Place& place,
                    uint64_t seed) const {
    Instruction* at = instruction(module, place);
    Rewriter rewriter(at->parent());
    while (rewriter.next() != at) continue;
    Emitter emit(rewriter);
    errors::Random random(seed);
    errors::Site site{at, emit, random, mesh_};
    const std::vector<int64_t> sizes = group_sizes(*at);
    std::string done = kind.apply(site);
    rewriter.finish();
    if (!can_meet(*at, sizes)) return "";
    order_callees_first(module);
    return done;
  }

  // How many devices each group has, where shapes depend on that.
  std::vector<int64_t> group_sizes(const Instruction& at) const {
    std::vector<int64_t> sizes;
    if (!is_exchange(at) || !at.has(attr::replica_groups) || at.has(attr::to_apply)) {
      if (collective_opcode(at.opcode()) != Opcode::kReduceScatter) return sizes;
    }
    auto groups = collective_groups(at, mesh_);
    for (int64_t i = 0; groups && i < groups->size(); ++i) sizes.push_back(groups->group_size(i));
    return sizes;
  }

  // Whether the ids of a collective stand for devices of the mesh, and shapes fit its groups, which
  // the verifier can't tell without a mesh.
  bool can_meet(const Instruction& at, const std::vector<int64_t>& sizes) const {
    if (at.has(attr::source_target_pairs)) return permute_sources(at, mesh_).has_value();
    if (!is_exchange(at) || !at.has(attr::replica_groups)) return true;
    if (!collective_groups(at, mesh_)) return false;
    const std::vector<int64_t> now = group_sizes(at);
    return sizes.empty() || now.empty() || now[0] == sizes[0];
  }

  bool is_valid(const Module& module) const {
    Diagnostics diagnostics;
    verify(module, {.replicas = context_.replicas, .partitions = context_.partitions}, diagnostics);
    return std::ranges::none_of(
        diagnostics.all(), [](const Diagnostic& one) { return one.severity == Severity::kError; });
  }

  Module& module_;
  PassContext& context_;
  Mesh mesh_;
  uint64_t seed_;
};

class InjectErrors : public Pass {
 public:
  explicit InjectErrors(const PassOptions& options)
      : seed_(static_cast<uint64_t>(*options.number("seed"))), kind_(options.text("kind")) {}

  tl::expected<void, std::string> run(Module& module, PassContext& context) const override {
    Injection(module, context, seed_).run(kind_);
    return {};
  }

 private:
  uint64_t seed_;
  std::string kind_;
};

const std::string kWords = [] {
  std::string words = "any";
  for (const errors::Kind& kind : errors::kinds()) words += fmt::format(" {}", kind.name);
  return words;
}();

const OptionInfo kOptions[] = {
    {"seed", "1", "", 0, "what the place and the way are drawn by"},
    {"kind", "any", kWords, std::nullopt, "which kind of error"},
};

}  // namespace

const PassInfo kInjectErrors = {
    .name = kName,
    .summary = "break the module in one place, on purpose",
    .keeps = Keeps::kNothing,
    .options = kOptions,
    .make = [](const PassOptions& options) -> std::unique_ptr<Pass> {
      return std::make_unique<InjectErrors>(options);
    },
};

}  // namespace minihlo
