// One value a device of a strand, or one for all of them.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace minihlo {

/// A vector over the devices of a strand. T is a handle: cheap to copy, equal when it is the same
/// value. Where all devices have the same one it is kept once.
template <class T>
class DeviceVector {
 public:
  DeviceVector() = default;
  /// The same on every device.
  explicit DeviceVector(T value) { values_.push_back(std::move(value)); }
  /// One a device, in the order of the strand; kept once if all are equal.
  explicit DeviceVector(std::vector<T> values) : values_(std::move(values)) {
    for (size_t i = 1; i < values_.size(); ++i) {
      if (!(values_[i] == values_[0])) return;
    }
    if (values_.size() > 1) values_.resize(1);
  }

  bool is_set() const { return !values_.empty(); }
  bool is_uniform() const { return values_.size() == 1; }
  const T& operator[](size_t position) const { return values_[is_uniform() ? 0 : position]; }
  /// The values kept: one if uniform.
  std::span<const T> kept() const { return values_; }
  std::vector<T>& kept() { return values_; }

  DeviceVector select(std::span<const int> positions) const {
    if (is_uniform()) return *this;
    std::vector<T> values;
    values.reserve(positions.size());
    for (int position : positions) values.push_back(values_[static_cast<size_t>(position)]);
    return DeviceVector(std::move(values));
  }

  static DeviceVector join(std::span<const DeviceVector* const> parts,
                           std::span<const std::vector<int>> positions, int count) {
    std::vector<T> values(static_cast<size_t>(count));
    for (size_t i = 0; i < parts.size(); ++i) {
      for (size_t k = 0; k < positions[i].size(); ++k) {
        values[static_cast<size_t>(positions[i][k])] = (*parts[i])[k];
      }
    }
    return DeviceVector(std::move(values));
  }

 private:
  std::vector<T> values_;
};

}  // namespace minihlo
