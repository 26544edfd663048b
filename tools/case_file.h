// Cases: a module, inputs and expected outputs in one JSON object.
//
//   {"name", "about", "module", "replicas", "partitions", "inputs", "outputs", "compare", "nan"}
//
// inputs and outputs are a list per device (replica * partitions + partition) of a leaf per
// parameter or result, tuples flattened in order, tokens left out:
// {"dtype": "f32", "dims": [2, 3], "data": base64 of the row-major little-endian elements}.
// compare: "bits", {"rel": x, "abs": y} or {"ulp": k}. "nan": "payload" makes NaNs count bit for
// bit. All but inputs or outputs may be missing.
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
  CompareRule rule;
  std::string oracle;
};

/// Reads one case, or several: a JSON object, an array of them, or one object a line. What is
/// wrong is said with the case's number and the member at fault.
tl::expected<std::vector<Case>, std::string> parse_cases(std::string_view text);
tl::expected<std::vector<Case>, std::string> read_case_file(const std::string& path);

/// A case as one line of JSON, with its line end.
std::string print_case(const Case& item);

}  // namespace minihlo
