// The prover's answer as text and as JSON (docs/json.md), for the commands that compare modules.
#pragma once

#include <string>

#include "ir/semantics/mesh.h"
#include "sim/prove/equivalence.h"
#include "tools/json_out.h"

namespace minihlo {

std::string equivalence_text(const prove::EquivalenceResult& result, const Mesh& mesh);
Json equivalence_json(const prove::EquivalenceResult& result, const Mesh& mesh);

}  // namespace minihlo
