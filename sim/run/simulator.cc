#include "sim/run/simulator.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <new>
#include <numeric>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/semantics/wrapped_collectives.h"
#include "sim/run/domain.h"
#include "sim/run/element_walk.h"
#include "sim/run/feeds.h"
#include "sim/run/host_tensor.h"
#include "sim/walker.h"

namespace minihlo {
namespace {

using Array = BufferDomain::Array;

class Simulation {
 public:
  Simulation(const Module& module, const Mesh& mesh, const RunOptions& options)
      : module_(module),
        mesh_(mesh),
        options_(options),
        context_{.pool = BufferPool::make(options.max_memory > 0 ? options.max_memory
                                                                 : default_max_memory()),
                 .workers = Workers(options.threads, options.deadline),
                 .programs = {},
                 .elided = options.elided,
                 .seed = options.seed,
                 .cluster_elements = options.cluster_elements,
                 .custom_calls = options.custom_calls,
                 .pure = options.pure,
                 .observer = options.observer} {
    context_.programs.set_fallback([this](const Computation& computation) {
      return walked_program(computation, context_,
                            {options_.max_steps, options_.deadline, nullptr});
    });
  }

  tl::expected<RunResult, Stop> run(const Inputs& inputs) {
    const auto start = std::chrono::steady_clock::now();
    auto arguments = bind(inputs);
    if (!arguments) return tl::unexpected(std::move(arguments.error()));
    BufferDomain domain(mesh_, context_);
    Feeds feeds(options_.infeed, static_cast<size_t>(mesh_.device_count()));
    if (!options_.pure) domain.set_feeds(feeds);
    WalkLimits limits{options_.max_steps, options_.deadline, nullptr};
    if (options_.progress) {
      options_.progress->watch(context_.pool);
      limits.counter = options_.progress->counter();
    }
    Walker<BufferDomain> walker(mesh_, domain, limits);
    std::vector<int> devices(static_cast<size_t>(mesh_.device_count()));
    std::iota(devices.begin(), devices.end(), 0);
    auto value = walker.run(*module_.entry(), *std::move(arguments), devices);
    if (!value) return tl::unexpected(std::move(value.error()));
    RunResult result;
    if (KernelResult done = unbind(*value, result.outputs); !done) {
      return tl::unexpected(std::move(done.error()));
    }
    result.outfeed = std::move(feeds.given());
    result.stats.peak_memory = context_.pool->peak();
    result.stats.steps = walker.steps();
    std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    result.stats.seconds = time.count();
    return result;
  }

 private:
  tl::expected<std::vector<Value<Array>>, Stop> bind(const Inputs& inputs) {
    auto devices = static_cast<size_t>(mesh_.device_count());
    if (inputs.size() != devices && inputs.size() != 1) {
      return tl::unexpected(Stop::invalid(
          fmt::format("inputs of {} devices for a mesh of {}", inputs.size(), devices)));
    }
    std::vector<const Shape*> leaves;
    std::vector<std::string> parameter_of;  // by leaf
    for (const Instruction* parameter : module_.entry()->parameters()) {
      std::ranges::copy(leaf_shapes(parameter->shape()), std::back_inserter(leaves));
      parameter_of.resize(leaves.size(),
                          fmt::format("parameter {} (%{})", parameter->get(attr::parameter_number),
                                      parameter->name()));
    }
    auto arrays = static_cast<size_t>(
        std::count_if(leaves.begin(), leaves.end(), [](auto leaf) { return !leaf->is_token(); }));
    std::unordered_map<const std::byte*, Buffer> wrapped;
    std::vector<std::vector<Buffer>> buffers(leaves.size());
    for (size_t device = 0; device < inputs.size(); ++device) {
      if (inputs[device].size() > arrays) {
        return tl::unexpected(
            Stop::invalid(fmt::format("device {} has {} inputs, but the entry computation takes {}",
                                      device, inputs[device].size(), arrays)));
      }
      size_t next = 0;
      for (size_t i = 0; i < leaves.size(); ++i) {
        if (leaves[i]->is_token()) continue;
        if (next == inputs[device].size()) {
          return tl::unexpected(Stop::invalid(
              fmt::format("device {} has {} inputs, but the entry computation takes {}: there is "
                          "none for {}, {}",
                          device, inputs[device].size(), arrays, parameter_of[i],
                          to_string(leaves[i], false))));
        }
        const HostTensor& tensor = inputs[device][next++];
        if (std::string wrong = tensor_misfit(tensor, leaves[i]); !wrong.empty()) {
          return tl::unexpected(Stop::invalid(
              fmt::format("input of {} on device {}: {}", parameter_of[i], device, wrong)));
        }
        Buffer& buffer = wrapped[tensor.data.get()];
        if (!buffer.is_set() || buffer.size() != tensor.bytes) {
          buffer = context_.pool->wrap(tensor.data.get(), tensor.bytes, tensor.data);
        }
        if (leaves[i]->is_dynamic()) {
          Buffer sized = context_.pool->wrap(tensor.data.get(), tensor.bytes, tensor.data);
          sized.set_sizes(tensor.dims);
          buffers[i].push_back(std::move(sized));
          context_.has_dynamic = true;
          continue;
        }
        buffers[i].push_back(buffer);
      }
    }
    std::vector<Array> arrays_by_leaf;
    for (std::vector<Buffer>& values : buffers) arrays_by_leaf.emplace_back(std::move(values));
    Array* next = arrays_by_leaf.data();
    std::vector<Value<Array>> arguments;
    for (const Instruction* parameter : module_.entry()->parameters()) {
      arguments.push_back(value_from_leaves<Array>(parameter->shape(), next));
    }
    return arguments;
  }

  KernelResult unbind(Value<Array>& value, std::vector<std::vector<HostTensor>>& outputs) {
    outputs.resize(static_cast<size_t>(mesh_.device_count()));
    std::vector<const Shape*> shapes = leaf_shapes(module_.entry()->root()->shape());
    std::vector<Array> leaves;
    append_leaves(value, leaves);
    value = {};
    for (size_t i = 0; i < leaves.size(); ++i) {
      if (!shapes[i]->is_array()) continue;
      std::unordered_map<const void*, HostTensor> made;
      for (size_t device = 0; device < outputs.size(); ++device) {
        const Buffer& buffer = leaves[i][device];
        HostTensor& tensor = made[buffer.identity()];
        if (!tensor.data) {
          auto fresh = host_tensor(*module_.entry()->root(), context_, shapes[i], buffer);
          if (!fresh) return tl::unexpected(std::move(fresh.error()));
          tensor = *std::move(fresh);
        }
        outputs[device].push_back(tensor);
      }
    }
    return {};
  }

  const Module& module_;
  const Mesh mesh_;
  const RunOptions& options_;
  RunContext context_;
};

}  // namespace

tl::expected<RunResult, Stop> simulate(const Module& module, const Mesh& mesh, const Inputs& inputs,
                                       const RunOptions& options) {
  try {
    auto unwrapped = unwrapped_collectives(module);
    if (!unwrapped) return tl::unexpected(Stop::invalid(std::move(unwrapped.error())));
    return Simulation(*unwrapped ? **unwrapped : module, mesh, options).run(inputs);
  } catch (const std::bad_alloc&) {
    return tl::unexpected(Stop{Stop::Kind::kMemory, "the system has no more memory", {}});
  }
}

int64_t default_max_memory() {
  const int64_t pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return int64_t{4} << 30;
  return pages / 5 * 4 * page;
}

}  // namespace minihlo
