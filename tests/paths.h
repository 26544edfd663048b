// Where the project is, for tests that read files of it.
#pragma once

#include <filesystem>

namespace minihlo::testing {

/// The folder of the project's source.
const std::filesystem::path& source_folder();
/// data/NAME
inline std::filesystem::path data_file(const std::filesystem::path& name) {
  return source_folder() / "data" / name;
}

}  // namespace minihlo::testing
