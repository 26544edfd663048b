// Modules in any form. Forms are told apart by content, not by the name of a file.
#pragma once

#include <memory>
#include <string_view>

#include "ir/diagnostics.h"
#include "ir/module.h"
#include "ir/text/parser.h"

namespace minihlo {

enum class ModuleForm : uint8_t {
  kText,
  kProto,      // the wire format of HloModuleProto and what holds one
  kProtoText,  // protobuf's text format of the same messages
  kJson,
};

/// The form that `content`, which is not packed, seems to have. What is none of the others counts
/// as text, whose parser then says what is wrong with it.
ModuleForm detect_form(std::string_view content);

/// Reads a module of any form, packed by gzip or not. Errors are as those of parse_text();
/// diagnostics that are about another text than that of `source` (an unpacked one) say so by their
/// source.
std::unique_ptr<Module> parse_module(std::shared_ptr<const Source> source, Diagnostics& diagnostics,
                                     const ParseOptions& options = {});

}  // namespace minihlo
