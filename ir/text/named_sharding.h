// What stands behind the mesh of a named sharding, as XLA writes it
// (xla/hlo/ir/named_sharding.cc).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/device_groups.h"
#include "ir/sharding.h"

namespace minihlo {

struct NamedAxes {
  struct Dimension {
    std::vector<AxisRef> axes;
    bool open = false;  // more may be added: ?
  };
  std::vector<Dimension> dims;
  std::vector<AxisRef> replicated, unreduced, manual;
  std::string_view reduction;  // of the unreduced axes: sum, max, min; or nothing
};

/// [{'x'}, {'y':(1)2, ?}], unreduced=max{'z'}. Where no dimensions are listed one word says that
/// all of the mesh is alike: replicated, unreduced (or unreduced=max), manual.
std::string named_text(const DeviceMesh& mesh, const NamedAxes& axes);

/// Why these are no axes of a sharding (VerifyNamedSharding() of xla/hlo/ir/named_sharding.cc):
/// axes that overlap, or lists of axes out of the order of the mesh. Empty where nothing is wrong.
std::string problem_of(const DeviceMesh& mesh, const NamedAxes& axes);

/// Whether XLA writes the metadata of a sharding as a list.
inline bool lists_metadata(const Sharding& sharding) {
  return sharding.metadata.size() > 1 ||
         (sharding.form == Sharding::Form::kNamed && !sharding.metadata.empty());
}

}  // namespace minihlo
