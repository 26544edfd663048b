// Where the project is, for tests that read files of it.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace minihlo::testing {

/// The folder of the project's source.
const std::filesystem::path& source_folder();
/// data/NAME
inline std::filesystem::path data_file(const std::filesystem::path& name) {
  return source_folder() / "data" / name;
}
/// All of a file; nothing where it can't be read.
inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace minihlo::testing
