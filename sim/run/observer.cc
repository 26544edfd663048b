#include "sim/run/observer.h"

#include <algorithm>
#include <cmath>
#include <complex>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/numbers.h"
#include "ir/row_major.h"
#include "ir/semantics/collective_forms.h"
#include "sim/walk.h"

namespace minihlo {
namespace {

struct Nans {
  int64_t first = -1, count = 0;
};

template <class T>
bool is_nan(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::isnan(value);
  } else if constexpr (IsMiniFloat<T>::value) {
    return std::isnan(static_cast<float>(value));
  } else if constexpr (requires { value.imag(); }) {
    return std::isnan(value.real()) || std::isnan(value.imag());
  } else {
    return false;
  }
}

Nans find_nans(const HostTensor& tensor) {
  return dispatch(tensor.type, [&]<class T>(std::type_identity<T>) {
    Nans result;
    const T* values = reinterpret_cast<const T*>(tensor.data.get());
    for (int64_t i = 0, count = tensor.element_count(); i < count; ++i) {
      if (!is_nan(values[i])) continue;
      if (result.count++ == 0) result.first = i;
    }
    return result;
  });
}

// What brings values in, or shows those of instructions that are seen themselves.
bool hands_on(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAsyncDone:
    case Opcode::kAsyncStart:
    case Opcode::kAsyncUpdate:
    case Opcode::kCall:
    case Opcode::kConditional:
    case Opcode::kConstant:
    case Opcode::kFusion:
    case Opcode::kInfeed:
    case Opcode::kParameter:
    case Opcode::kRecv:
    case Opcode::kRecvDone:
    case Opcode::kWhile:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool NanCheck::operands_have_nan(const Instruction& instruction, int device) const {
  for (const Instruction* operand : instruction.operands()) {
    auto known = has_nan_.find(operand);
    if (known == has_nan_.end()) continue;
    const std::vector<bool>& on = known->second;
    if (is_collective(instruction.opcode()) ? std::ranges::find(on, true) != on.end()
                                            : on[static_cast<size_t>(device)]) {
      return true;
    }
  }
  return false;
}

std::optional<Stop> NanCheck::observe(const Observation& observation) {
  const Instruction& instruction = observation.instruction;
  std::vector<bool>& own = has_nan_[&instruction];
  own.resize(static_cast<size_t>(device_count_), false);
  for (int device : observation.devices) own[static_cast<size_t>(device)] = false;
  for (size_t leaf = 0; leaf < observation.leaves.size(); ++leaf) {
    const std::vector<HostTensor>& tensors = observation.leaves[leaf];
    std::unordered_map<const std::byte*, Nans> known;  // devices share memory
    for (size_t i = 0; i < observation.devices.size() && !tensors.empty(); ++i) {
      const HostTensor& tensor = observation.at(leaf, i);
      auto [at, is_new] = known.try_emplace(tensor.data.get());
      if (is_new) at->second = find_nans(tensor);
      const Nans& nans = at->second;
      if (nans.count == 0) continue;
      const int device = observation.devices[i];
      own[static_cast<size_t>(device)] = true;
      if (hands_on(instruction.opcode()) || operands_have_nan(instruction, device)) continue;
      return Stop{
          Stop::Kind::kNan,
          fmt::format("{} makes a NaN of operands without any, on {}: element [{}] of {}[{}]{}",
                      instruction_place(instruction), device_name(mesh_, device),
                      fmt::join(multi_index(nans.first, tensor.dims), ","), to_string(tensor.type),
                      fmt::join(tensor.dims, ","),
                      nans.count == 1 ? "" : fmt::format(", the first of {}", nans.count)),
          {}};
    }
  }
  return std::nullopt;
}

}  // namespace minihlo
