#include "tests/generator/header.h"

#include <algorithm>
#include <set>

namespace minihlo::generator {
namespace {

void add_stack_frames(Builder& b) {
  StackFrames& frames = b.module.stack_frames();
  frames.file_names = {b.word(), b.hostile_text()};
  frames.function_names = {b.word(), "<module>", b.hostile_text()};
  for (int64_t i = b.choices.between(1, 4); i > 0; --i) {
    const int64_t line = b.choices.between(1, 500);
    frames.file_locations.push_back({b.choices.between(1, 2), b.choices.between(1, 3), line,
                                     line + b.choices.below(3), b.choices.below(80),
                                     b.choices.below(80)});
  }
  b.frame_count = b.choices.between(1, 5);
  for (int64_t i = 0; i < b.frame_count; ++i) {
    const auto locations = static_cast<int64_t>(frames.file_locations.size());
    // A frame's parent stands before it; 1 means none where XLA prints it.
    frames.frames.push_back({b.choices.between(1, locations), b.choices.between(1, i + 1)});
  }
}

struct Place {
  std::vector<int64_t> index;
  const Shape* shape;
};

void add_places(const Shape* shape, std::vector<int64_t>& index, std::vector<Place>& places) {
  places.push_back({index, shape});
  for (size_t i = 0; i < shape->elements().size() && shape->is_tuple(); ++i) {
    index.push_back(static_cast<int64_t>(i));
    add_places(shape->element(static_cast<int64_t>(i)), index, places);
    index.pop_back();
  }
}

std::vector<Place> places_of(const Shape* shape) {
  std::vector<Place> places;
  std::vector<int64_t> index;
  add_places(shape, index, places);
  return places;
}

// Parameters that share memory with results, and parameters that are given away.
void add_aliases(Builder& b) {
  const Computation* entry = b.module.entry();
  std::vector<Place> outputs = places_of(entry->root()->shape());
  b.choices.shuffle(outputs);
  std::vector<Alias> aliases;
  std::vector<Donor> donors;
  for (size_t number = 0; number < entry->parameters().size(); ++number) {
    const Shape* shape = entry->parameters()[number]->shape();
    if (!shape->is_array()) continue;
    auto output = std::find_if(outputs.begin(), outputs.end(),
                               [&](const Place& place) { return compatible(place.shape, shape); });
    const auto parameter = static_cast<int64_t>(number);
    if (output != outputs.end() && b.choices.chance(60)) {
      aliases.push_back(
          {b.ints(output->index), parameter, {}, b.choices.pick({"may-alias", "must-alias"})});
      outputs.erase(output);
    } else if (b.choices.chance(40)) {
      donors.push_back({parameter, {}});
    }
  }
  std::sort(aliases.begin(), aliases.end(), [](const Alias& x, const Alias& y) {
    return std::ranges::lexicographical_compare(x.output_index, y.output_index);
  });
  if (!aliases.empty()) {
    b.module.set(make_attribute(attr::input_output_alias, b.arena().copy(aliases)));
  }
  if (!donors.empty()) b.module.set(make_attribute(attr::buffer_donor, b.arena().copy(donors)));
}

void add_entry_layout(Builder& b) {
  const Computation* entry = b.module.entry();
  std::vector<const Shape*> parameters;
  for (const Instruction* one : entry->parameters()) parameters.push_back(one->shape());
  const ProgramShape shape = {b.arena().copy(parameters), entry->root()->shape()};
  b.module.set(make_attribute(attr::entry_computation_layout, b.arena().make<ProgramShape>(shape)));
}

}  // namespace

void start_header(Builder& b) {
  b.module.set_name(b.choices.pick({"module", "jit_step", "SyncTensorsGraph.12", "a-b_c.d"}));
  if (b.mesh.replicas != 1) b.module.set(make_attribute(attr::replica_count, b.mesh.replicas));
  if (b.mesh.partitions != 1) b.module.set(make_attribute(attr::num_partitions, b.mesh.partitions));
  if (b.choices.chance(30)) add_stack_frames(b);
}

void finish_header(Builder& b) {
  Module& module = b.module;
  if (b.choices.chance(15)) module.set(make_attribute(attr::is_scheduled, true));
  if (b.choices.chance(50)) add_entry_layout(b);
  if (b.oracle()) return;
  if (b.choices.chance(30)) add_aliases(b);
  if (b.choices.chance(20)) module.set(make_attribute(attr::frontend_attributes, b.string_map()));
  if (b.runnable()) return;
  const auto parameters = static_cast<int64_t>(module.entry()->parameters().size());
  if (b.choices.chance(20)) {
    module.set(make_attribute(attr::allow_spmd_sharding_propagation_to_parameters,
                              b.bools(b.choices.chance(50) ? 1 : parameters)));
  }
  if (b.choices.chance(20)) {
    module.set(make_attribute(attr::allow_spmd_sharding_propagation_to_output, b.bools(1)));
  }
  if (b.choices.chance(5)) module.set(make_attribute(attr::alias_passthrough_params, true));
  if (b.newest() && b.choices.chance(5)) {
    module.set(make_attribute(attr::origin_recovery_table, "{\n  {\"a\"} : {\"b\"}\n}"));
    module.set(make_attribute(attr::debug_attributes, "{\n  {\"a\"}:({},{})\n}"));
  }
}

}  // namespace minihlo::generator
