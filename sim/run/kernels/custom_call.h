// What the kernels of custom-calls share.
#pragma once

#include <string_view>

#include "ir/semantics/custom_calls.h"
#include "sim/run/kernel.h"

namespace minihlo {

/// "%name = custom-call: custom-call to 'target': why".
Stop unsupported_call(const KernelCall& call, std::string_view why);

/// backend_config as it stands in the text, without quotes; empty where there is none.
std::string_view backend_config(const Instruction& instruction);

// By file in sim/run/kernels/.
KernelResult activation_call(KernelCall&, CustomCallMeaning);     // neuron_call.cc
KernelResult normalization_call(KernelCall&, CustomCallMeaning);  //
KernelResult extreme_place_call(KernelCall&, CustomCallMeaning);  //
KernelResult lapack_call(KernelCall&, CustomCallMeaning);         // lapack_call.cc
KernelResult csr_product_call(KernelCall&);                       // sparse_call.cc

}  // namespace minihlo
