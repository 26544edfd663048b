#include "tools/module_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>

#include "ir/module_reader.h"
#include "ir/text/text_size.h"
#include "tools/error_output.h"

namespace minihlo {

ModuleFile read_module(const std::string& path, const ParseOptions& options, size_t max_errors) {
  ModuleFile file;
  file.path = path;
  std::shared_ptr<const Source> source = Source::from_file(path, file.unreadable);
  if (!source) return file;
  file.diagnostics = Diagnostics(source, max_errors);
  file.module = parse_module(source, file.diagnostics, options);
  return file;
}

void print_findings(const ModuleFile& file) {
  if (!file.unreadable.empty()) {
    print_error(fmt::format("cannot read '{}': {}", file.path, file.unreadable), "unreadable",
                file.path);
  }
  print_diagnostics(file.diagnostics, file.path);
}

std::unique_ptr<Module> load_module(const std::string& path, const ParseOptions& options) {
  ModuleFile file = read_module(path, options);
  print_findings(file);
  return std::move(file.module);
}

bool can_be_written(const Module& module) {
  if (shape_characters(module) <= kMostShapeCharacters) return true;
  print_error("the shapes of the module's instructions take more than 1 GiB when they are written",
              "too-large");
  return false;
}

bool write_output(const std::string& path, std::string_view text) {
  if (path == "-") {
    print_stdout(text);
    return flush_stdout();
  }
  std::FILE* file = std::fopen(path.c_str(), "wb");
  bool written = file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (file) written &= std::fclose(file) == 0;
  if (!written) print_error(fmt::format("cannot write '{}': {}", path, std::strerror(errno)));
  return written;
}

}  // namespace minihlo
