// What the verifier says of a text, in a form to compare.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/module.h"
#include "ir/verifier.h"

namespace minihlo {

/// "error shape: message [instruction]", without the part in brackets where there is none.
using Findings = std::vector<std::string>;

Findings findings(const Module& module, const VerifyOptions& options = {});
/// Of a module's text, which must parse.
Findings findings_of(std::string_view text, const VerifyOptions& options = {});
/// Of a module with these instructions behind the entry's parameter %p, f32[4]. They may call the
/// computations of findings.cc.
Findings findings_of_body(std::string_view instructions, const VerifyOptions& options = {});

}  // namespace minihlo
