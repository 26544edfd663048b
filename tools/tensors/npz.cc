#include "tools/tensors/npz.h"

#include <unzip.h>
#include <zip.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "tools/tensors/npy.h"

namespace minihlo {
namespace {

constexpr std::string_view kEnding = ".npy";
constexpr int64_t kPiece = int64_t{1} << 26;

// A file in memory, as minizip reads it.
class MemoryFile {
 public:
  explicit MemoryFile(std::shared_ptr<const Source> source) : source_(std::move(source)) {}

  zlib_filefunc64_def functions() {
    zlib_filefunc64_def result{};
    result.opaque = this;
    result.zopen64_file = [](voidpf opaque, const void*, int) { return opaque; };
    result.zread_file = [](voidpf, voidpf stream, void* to, uLong size) {
      return static_cast<MemoryFile*>(stream)->read(to, size);
    };
    result.ztell64_file = [](voidpf, voidpf stream) -> ZPOS64_T {
      return static_cast<MemoryFile*>(stream)->at_;
    };
    result.zseek64_file = [](voidpf, voidpf stream, ZPOS64_T offset, int origin) {
      return static_cast<MemoryFile*>(stream)->seek(offset, origin);
    };
    result.zclose_file = [](voidpf, voidpf) { return 0; };
    result.zerror_file = [](voidpf, voidpf) { return 0; };
    return result;
  }

 private:
  uLong read(void* to, uLong size) {
    const std::string_view rest = source_->text().substr(at_);
    const size_t count = std::min<size_t>(size, rest.size());
    if (count > 0) std::memcpy(to, rest.data(), count);
    at_ += count;
    return count;
  }
  long seek(ZPOS64_T offset, int origin) {
    const size_t size = source_->text().size();
    const size_t base = origin == ZLIB_FILEFUNC_SEEK_CUR   ? at_
                        : origin == ZLIB_FILEFUNC_SEEK_END ? size
                                                           : 0;
    if (offset > size - base) return -1;
    at_ = base + static_cast<size_t>(offset);
    return 0;
  }

  std::shared_ptr<const Source> source_;
  size_t at_ = 0;
};

// An open archive.
class Archive {
 public:
  explicit Archive(std::shared_ptr<const Source> source) : file_(std::move(source)) {
    zlib_filefunc64_def functions = file_.functions();
    handle_ = unzOpen2_64("", &functions);
  }
  ~Archive() {
    if (handle_) unzClose(handle_);
  }
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;

  unzFile handle() const { return handle_; }

  // Reads bytes of the file that is open, as many as fit or there are, and counts them; -1 where it
  // is damaged.
  int64_t read(std::span<std::byte> to) {
    size_t done = 0;
    while (done < to.size()) {
      const auto want = static_cast<unsigned>(std::min<size_t>(to.size() - done, kPiece));
      const int count = unzReadCurrentFile(handle_, to.data() + done, want);
      if (count < 0) return -1;
      if (count == 0) break;
      done += static_cast<size_t>(count);
    }
    return static_cast<int64_t>(done);
  }

 private:
  MemoryFile file_;
  unzFile handle_ = nullptr;
};

std::string damaged(std::string_view name) {
  return fmt::format("'{}' is damaged or packed in a way that is not known", name);
}

// Unpacks the elements of a file in the archive.
std::string read_elements(Archive& archive, unz64_file_pos position, size_t begin,
                          const std::string& name, std::span<std::byte> to) {
  if (unzGoToFilePos64(archive.handle(), &position) != UNZ_OK ||
      unzOpenCurrentFile(archive.handle()) != UNZ_OK) {
    return damaged(name);
  }
  std::vector<std::byte> header(begin);
  const int64_t of_header = archive.read(header);
  const int64_t of_data = archive.read(to);
  // Where all was read, the sum of the bytes is compared.
  std::byte more;
  const int64_t rest = archive.read({&more, 1});
  const bool is_sound = unzCloseCurrentFile(archive.handle()) == UNZ_OK;
  if (of_header < 0 || of_data < 0 || rest < 0 || !is_sound) return damaged(name);
  if (of_data == static_cast<int64_t>(to.size()) && rest == 0) return "";
  return fmt::format("'{}' has {} elements than its shape says", name, rest > 0 ? "more" : "fewer");
}

tl::expected<StoredTensor, std::string> read_entry(const std::shared_ptr<Archive>& archive,
                                                   const std::string& name) {
  auto wrong = [](std::string what) { return tl::unexpected(std::move(what)); };
  if (unzOpenCurrentFile(archive->handle()) != UNZ_OK) return wrong(damaged(name));
  std::string start(kMaxNpyHeader, '\0');
  const int64_t size = archive->read(std::as_writable_bytes(std::span(start)));
  unzCloseCurrentFile(archive->handle());
  if (size < 0) return wrong(damaged(name));
  auto header = read_npy_header(std::string_view(start).substr(0, static_cast<size_t>(size)));
  if (!header) return wrong(fmt::format("'{}': {}", name, header.error()));
  unz64_file_pos position;
  if (unzGetFilePos64(archive->handle(), &position) != UNZ_OK) return wrong(damaged(name));
  StoredTensor tensor = std::move(header->tensor);
  tensor.name = name.substr(0, name.size() - kEnding.size());
  tensor.read = [archive, position, begin = header->data_begin, name](std::span<std::byte> to) {
    return read_elements(*archive, position, begin, name, to);
  };
  return tensor;
}

class Writer {
 public:
  explicit Writer(const std::string& path) {
    errno = 0;
    handle_ = zipOpen64(path.c_str(), APPEND_STATUS_CREATE);
  }
  ~Writer() {
    if (handle_) zipClose(handle_, nullptr);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  bool is_open() const { return handle_ != nullptr; }
  bool close() { return zipClose(std::exchange(handle_, nullptr), nullptr) == ZIP_OK; }

  bool add(const NamedTensor& named) {
    const std::string name = named.name + std::string(kEnding);
    zip_fileinfo about{};
    about.tmz_date.tm_mday = 1;
    about.tmz_date.tm_year = 1980;
    const bool is_large = named.tensor.bytes >= int64_t{0xFFFF0000};
    if (zipOpenNewFileInZip64(handle_, name.c_str(), &about, nullptr, 0, nullptr, 0, nullptr, 0, 0,
                              is_large) != ZIP_OK) {
      return false;
    }
    const std::string header = npy_header(named.tensor);
    bool good = write(header.data(), static_cast<int64_t>(header.size()));
    for (int64_t at = 0; good && at < named.tensor.bytes; at += kPiece) {
      good = write(named.tensor.data.get() + at, std::min(kPiece, named.tensor.bytes - at));
    }
    return (zipCloseFileInZip(handle_) == ZIP_OK) && good;
  }

 private:
  bool write(const void* data, int64_t size) {
    return zipWriteInFileInZip(handle_, data, static_cast<unsigned>(size)) == ZIP_OK;
  }

  zipFile handle_ = nullptr;
};

}  // namespace

bool is_npz(std::string_view bytes) {
  // The second is an archive without files.
  return bytes.starts_with("PK\3\4") || bytes.starts_with("PK\5\6");
}

tl::expected<std::vector<StoredTensor>, std::string> read_npz(
    const std::shared_ptr<const Source>& source) {
  auto wrong = [](std::string what) { return tl::unexpected(std::move(what)); };
  auto archive = std::make_shared<Archive>(source);
  if (!archive->handle()) return wrong("it is no zip archive, or cut");
  std::vector<StoredTensor> tensors;
  std::unordered_set<std::string> names;
  std::string room(size_t{1} << 16, '\0');
  int status = unzGoToFirstFile(archive->handle());
  for (; status == UNZ_OK; status = unzGoToNextFile(archive->handle())) {
    unz_file_info64 about;
    if (unzGetCurrentFileInfo64(archive->handle(), &about, room.data(), room.size(), nullptr, 0,
                                nullptr, 0) != UNZ_OK) {
      return wrong("its directory is damaged");
    }
    const std::string name = room.substr(0, about.size_filename);
    if (about.flag & 1) return wrong(fmt::format("'{}' is encrypted", name));
    if (!name.ends_with(kEnding)) return wrong(fmt::format("'{}' is no .npy file", name));
    if (!names.insert(name).second) return wrong(fmt::format("there are two '{}'", name));
    auto tensor = read_entry(archive, name);
    if (!tensor) return wrong(std::move(tensor.error()));
    tensors.push_back(*std::move(tensor));
  }
  unz_global_info64 all;
  const bool is_whole = unzGetGlobalInfo64(archive->handle(), &all) == UNZ_OK &&
                        (status == UNZ_END_OF_LIST_OF_FILE || all.number_entry == 0);
  if (!is_whole) return wrong("its directory is damaged");
  return tensors;
}

std::string write_npz(std::span<const NamedTensor> tensors, const std::string& path) {
  Writer writer(path);
  bool good = writer.is_open();
  for (size_t i = 0; good && i < tensors.size(); ++i) good = writer.add(tensors[i]);
  if (writer.is_open()) good = writer.close() && good;
  if (good) return "";
  return errno != 0 ? std::strerror(errno) : "zip failed";
}

}  // namespace minihlo
