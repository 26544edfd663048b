// A folder for files that are not to stay.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

namespace minihlo {

/// A folder of its own that goes with the object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::error_code failure;
    const std::filesystem::path place = std::filesystem::temp_directory_path(failure);
    std::string name = (place / "minihlo-XXXXXX").string();
    if (!failure && mkdtemp(name.data())) path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  /// Empty where none could be made.
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace minihlo
