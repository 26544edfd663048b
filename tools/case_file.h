// Cases: a module, inputs and expected outputs in one JSON object.
//
//   {"name", "about", "module", "replicas", "partitions", "inputs", "outputs", "compare", "nan"}
//
// inputs and outputs are a list per device (replica * partitions + partition) of a leaf per
// parameter or result, tuples flattened in order, tokens left out:
// {"dtype": "f32", "dims": [2, 3], "data": base64 of the row-major little-endian elements}.
// compare: "bits", {"rel": x, "abs": y} or {"ulp": k}. "nan": "payload" makes NaNs count bit for
// bit. With "devices": [0, 2] outputs are those of these devices alone. All but inputs or outputs
// may be missing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "sim/run/inputs.h"
#include "sim/run/tensor.h"

namespace minihlo {

struct Case {
  std::string name;
  std::string about;
  std::optional<std::string> module;  // in any form that is text
  int64_t replicas = 0;               // 0: not said
  int64_t partitions = 0;
  std::optional<Inputs> inputs;
  std::optional<std::vector<std::vector<HostTensor>>> outputs;
  std::optional<std::vector<int>> devices;  // whose outputs these are; nothing: all devices
  CompareRule rule;
  std::string oracle;
  std::string wrong;  // why it is no case; then only its name counts
};

/// Reads one case, or several: a JSON object, an array of them, or one object a line. An error
/// where the whole is none of these; a single case that is none has a reason in `wrong`.
tl::expected<std::vector<Case>, std::string> parse_cases(std::string_view text);
tl::expected<std::vector<Case>, std::string> read_case_file(const std::string& path);

/// A case as one line of JSON, with its line end.
std::string print_case(const Case& item);

}  // namespace minihlo
