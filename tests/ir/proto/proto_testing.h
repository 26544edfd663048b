// Helpers of the tests of the wire format.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "ir/proto/proto_reader.h"
#include "ir/proto/proto_writer.h"
#include "ir/text/printer.h"
#include "tests/ir/text/text_testing.h"

namespace minihlo {

struct Read {
  std::unique_ptr<Module> module;
  Diagnostics diagnostics;

  explicit Read(std::string bytes) {
    auto source = Source::binary(Source::from_string("t.hlo.pb", std::move(bytes)));
    diagnostics.set_source(source);
    module = parse_proto(source, diagnostics);
  }
  /// The module as text, or what is wrong.
  std::string text() const { return module ? print_text(*module) : diagnostics.to_string(); }
};

inline std::string written(const Module& module) {
  Diagnostics diagnostics;
  return print_proto(module, diagnostics);
}

/// The text of what is read from what is written for `text`.
inline std::string through_proto(const std::string& text) {
  Parsed parsed(text);
  if (!parsed.module) return parsed.complaints(text);
  const std::string bytes = written(*parsed.module);
  Read read(bytes);
  if (read.module && written(*read.module) != bytes) return "other bytes are written again";
  return read.text();
}

}  // namespace minihlo
