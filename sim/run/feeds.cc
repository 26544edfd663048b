#include "sim/run/feeds.h"

#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include "sim/run/host_tensor.h"
#include "sim/walk.h"

namespace minihlo {

tl::expected<std::vector<Feeds::Array>, Stop> Feeds::take(const Instruction& infeed,
                                                          RunContext& context,
                                                          std::span<const int> devices) {
  std::vector<Array> leaves;
  std::map<const std::byte*, Buffer> wrapped;
  for (const Shape* shape : leaf_shapes(infeed.shape())) {
    if (shape->is_token()) {
      leaves.emplace_back();
      continue;
    }
    std::vector<Buffer> values;
    for (int device : devices) {
      const auto at = static_cast<size_t>(device);
      static const std::vector<HostTensor> kNone;
      const std::vector<HostTensor>& queue = values_.size() == 1   ? values_[0]
                                             : at < values_.size() ? values_[at]
                                                                   : kNone;
      if (taken_[at] == queue.size()) {
        return tl::unexpected(Stop::invalid(
            fmt::format("{} on device {}: it takes more than the {} values that it is fed (--infeed)",
                        instruction_place(infeed), device, queue.size())));
      }
      const HostTensor& tensor = queue[taken_[at]++];
      if (std::string wrong = tensor_misfit(tensor, shape); !wrong.empty()) {
        return tl::unexpected(
            Stop::invalid(fmt::format("{} on device {}: value {}: {}", instruction_place(infeed),
                                      device, taken_[at] - 1, wrong)));
      }
      Buffer& buffer = wrapped[tensor.data.get()];
      if (!buffer.is_set() || shape->is_dynamic()) {
        buffer = context.pool->wrap(tensor.data.get(), tensor.bytes, tensor.data);
      }
      if (shape->is_dynamic()) {
        buffer.set_sizes(tensor.dims);
        context.has_dynamic = true;
      }
      values.push_back(buffer);
    }
    leaves.emplace_back(std::move(values));
  }
  return leaves;
}

tl::expected<void, Stop> Feeds::put(const Instruction& outfeed, RunContext& context,
                                    std::span<const Array* const> leaves,
                                    std::span<const int> devices) {
  const std::vector<const Shape*> shapes = leaf_shapes(outfeed.operand(0)->shape());
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (!shapes[i]->is_array()) continue;
    std::unordered_map<const void*, HostTensor> made;
    for (size_t at = 0; at < devices.size(); ++at) {
      const Buffer& buffer = (*leaves[i])[at];
      HostTensor& tensor = made[buffer.identity()];
      if (!tensor.data) {
        auto fresh = host_tensor(outfeed, context, shapes[i], buffer);
        if (!fresh) return tl::unexpected(std::move(fresh.error()));
        tensor = *std::move(fresh);
      }
      given_[static_cast<size_t>(devices[at])].push_back(tensor);
    }
  }
  return {};
}

}  // namespace minihlo
