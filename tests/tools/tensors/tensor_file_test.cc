#include "tools/tensors/tensor_file.h"

#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "ir/shape.h"
#include "sim/run/inputs.h"
#include "tests/paths.h"
#include "tools/tensors/npy.h"

namespace minihlo {
namespace {

namespace fs = std::filesystem;

// A file of its own that is gone afterwards.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view ending)
      : path_(fs::temp_directory_path() / fmt::format("minihlo-{}{}", getpid(), ending)) {}
  ~TemporaryFile() { fs::remove(path_); }
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

HostTensor seeded(ElementType type, const std::vector<int64_t>& dims) {
  ShapePool pool;
  const Shape* shape = pool.array(type, dims);
  auto data = allocate_host(shape->byte_count());
  fill_seeded(shape, 7, 0, shape->element_count(), shape->element_count(), data.get());
  return {type, dims, data, shape->byte_count()};
}

// What is read of a file's first tensor as an array, or what is wrong.
tl::expected<HostTensor, std::string> read_as(const std::string& bytes, ElementType type,
                                              const std::vector<int64_t>& dims,
                                              std::string name = "x.npy") {
  const auto form = tensor_form(bytes);
  if (!form) return tl::make_unexpected(std::string("no form"));
  auto tensors = read_tensors(Source::from_string(std::move(name), bytes), *form);
  if (!tensors) return tl::unexpected(tensors.error());
  if (tensors->empty()) return tl::make_unexpected(std::string("no tensors"));
  return to_host(tensors->front(), type, dims);
}

std::string npy(std::string_view dictionary, std::string_view elements) {
  std::string bytes = "\x93NUMPY\1";
  bytes += '\0';
  bytes += static_cast<char>(dictionary.size() & 0xFF);
  bytes += static_cast<char>(dictionary.size() >> 8);
  return bytes + std::string(dictionary) + std::string(elements);
}

std::string safetensors(std::string_view header, std::string_view data) {
  uint64_t size = header.size();
  std::string bytes(sizeof(size), '\0');
  std::memcpy(bytes.data(), &size, sizeof(size));
  return bytes + std::string(header) + std::string(data);
}

TEST_CASE("tensor files: every element type survives every form") {
  for (int i = 0; i < kElementTypeCount; ++i) {
    const auto type = static_cast<ElementType>(i);
    for (const std::vector<int64_t>& dims :
         {std::vector<int64_t>{}, {3}, {2, 4}, {0, 5}, {2, 1, 3}}) {
      const HostTensor tensor = seeded(type, dims);
      for (const char* ending : {".safetensors", ".npz", ".npy"}) {
        CAPTURE(to_string(type));
        CAPTURE(ending);
        CAPTURE(dims.size());
        const TemporaryFile file(ending);
        const auto form = tensor_form_of_name(file.path());
        REQUIRE(form);
        const NamedTensor named{"d1/o0", tensor};
        REQUIRE(write_tensors({&named, 1}, *form, file.path()) == "");
        const std::string bytes = testing::read_file(file.path());
        CHECK(tensor_form(bytes) == form);
        const auto again = read_as(bytes, type, dims);
        INFO((again ? "" : again.error()));
        REQUIRE(again);
        CHECK(compare(tensor, *again, {.nan_payload = true}).count == 0);
      }
    }
  }
}

TEST_CASE("tensor files: the header of .npy files") {
  using Type = ElementType;
  const std::vector<int64_t> two = {2};
  const std::string good = "{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }\n";
  const std::string_view elements("\1\0\2\0", 4);
  CHECK(read_as(npy(good, elements), Type::S16, two));
  // Any order, other quotes, Python 2's long numbers.
  CHECK(read_as(npy("{\"shape\":(2L,),'fortran_order':True,'descr':'=i2'}", elements), Type::S16,
                two));
  auto big = read_as(npy("{'descr': '>i2', 'fortran_order': False, 'shape': (2,)}", elements),
                     Type::S16, two);
  REQUIRE(big);
  CHECK(element_text(*big, 0) == "256");
  // Another type or shape is not converted.
  CHECK(!read_as(npy(good, elements), Type::U16, two));
  CHECK(!read_as(npy(good, elements), Type::S16, {1, 2}));
  CHECK(!read_as(npy(good, elements.substr(1)), Type::S16, two));
  CHECK(!read_as(npy(good, "12345"), Type::S16, two));
  for (const char* bad :
       {"", "{", "{}", "[]", "{'descr': '<i2', 'fortran_order': False, 'shape': (2,), } x",
        "{'descr': '<i2', 'fortran_order': False, 'shape': (-2,)}",
        "{'descr': '<i2', 'fortran_order': False, 'shape': 2}",
        "{'descr': '<i2', 'fortran_order': 0, 'shape': (2,)}",
        "{'descr': '<i2', 'fortran_order': False}",
        "{'descr': '<i2' 'fortran_order': False, 'shape': (2,)}",
        "{'descr': [('a', '<i2')], 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '|O', 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<W4', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f16', 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '|V7', 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '', 'fortran_order': False, 'shape': (2,)}",
        "{'more': 1, 'descr': '<i2', 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<i2', 'fortran_order': False, 'shape': (4611686018427387904, 4)}",
        "{'descr': '<i2', 'fortran_order': False, 'shape': (99999999999999999999,)}"}) {
    CAPTURE(bad);
    CHECK(!read_as(npy(bad, elements), Type::S16, two));
  }
  std::string cut = npy(good, elements);
  for (size_t size = 0; size < cut.size(); ++size) {
    CHECK(!read_as(cut.substr(0, size), Type::S16, two));
  }
  cut[6] = 9;  // a version to come
  CHECK(!read_as(cut, Type::S16, two));
}

TEST_CASE("tensor files: the header of safetensors files") {
  using Type = ElementType;
  const std::vector<int64_t> two = {2};
  const std::string good = R"({"a":{"dtype":"I16","shape":[2],"data_offsets":[0,4]}})";
  CHECK(read_as(safetensors(good, "1234"), Type::S16, two));
  CHECK(read_as(safetensors(good + "   ", "1234"), Type::S16, two));
  CHECK(!read_as(safetensors(good, "123"), Type::S16, two));
  CHECK(!read_as(safetensors(good, "12345"), Type::S16, two));
  for (
      const char* bad :
      {"{",
       "{}",
       "[]",
       "{} {}",
       R"({"a":1})",
       R"({"a":{}})",
       R"({"a":[]})",
       R"({"a":{"dtype":"I16","shape":[2]}})",
       R"({"a":{"dtype":"I16","shape":[2],"data_offsets":[0]}})",
       R"({"a":{"dtype":"I16","shape":[2],"data_offsets":[0,4,8]}})",
       R"({"a":{"dtype":"I16","shape":[2],"data_offsets":[4,0]}})",
       R"({"a":{"dtype":"I16","shape":[-2],"data_offsets":[0,4]}})",
       R"({"a":{"dtype":"I16","shape":[2.0],"data_offsets":[0,4]}})",
       R"({"a":{"dtype":"I16","shape":[[2]],"data_offsets":[0,4]}})",
       R"({"a":{"dtype":"I17","shape":[2],"data_offsets":[0,4]}})",
       R"({"a":{"dtype":7,"shape":[2],"data_offsets":[0,4]}})",
       R"({"a":{"dtype":"I16","shape":[2],"data_offsets":[0,4],"more":1}})",
       R"({"a":{"dtype":"I16","shape":[2],"data_offsets":[0,4],"shape":[2]}})",
       R"({"a":{"dtype":"I16","shape":[2],"data_offsets":[0,18446744073709551615]}})",
       R"({"a":{"dtype":"I16","shape":[9223372036854775807,3],"data_offsets":[0,4]}})",
       R"({"a":{"dtype":"F4","shape":[3],"data_offsets":[0,4]}})",
       R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[3],"data_offsets":[1,4]}})",
       R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"a":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})",
       R"({"__metadata__":{"a":{}}})"}) {
    CAPTURE(bad);
    const auto tensors =
        read_tensors(Source::from_string("x", safetensors(bad, "1234")), TensorForm::kSafetensors);
    CHECK(!tensors);
  }
}

TEST_CASE("tensor files: what other types stand for") {
  using Type = ElementType;
  auto bytes = [](std::string_view type, std::string_view shape, std::string_view data) {
    return safetensors(fmt::format(R"({{"a":{{"dtype":"{}","shape":[{}],"data_offsets":[0,{}]}}}})",
                                   type, shape, data.size()),
                       data);
  };
  const std::vector<int64_t> two = {2};
  // The value, its bits, and its bits extended, but nothing beyond.
  for (const char* data : {"\xFF\7", "\x0F\7"}) {
    auto s4 = read_as(bytes("U8", "2", data), Type::S4, two);
    REQUIRE(s4);
    CHECK(element_text(*s4, 0) == "-1");
    CHECK(element_text(*s4, 1) == "7");
  }
  CHECK(!read_as(bytes("I8", "2", "\x10\1"), Type::S4, two));
  CHECK(!read_as(bytes("U8", "2", "\x10\1"), Type::F4E2M1FN, two));
  CHECK(read_as(bytes("U16", "2", "\x80\x3f\x80\x3f"), Type::BF16, two));
  CHECK(!read_as(bytes("U16", "2", "\x80\x3f\x80\x3f"), Type::F16, two));
  CHECK(!read_as(bytes("U8", "2", "\1\1"), Type::PRED, two));
  auto pairs =
      read_as(bytes("F32", "1,2", std::string_view("\0\0\x80\x3f\0\0\0\x40", 8)), Type::C64, {1});
  REQUIRE(pairs);
  CHECK(element_text(*pairs, 0) == "(1, 2)");
}

TEST_CASE("tensor files: archives that are cut or changed do no harm") {
  const std::string whole = testing::read_file(testing::data_file("tensors/packed.npz"));
  REQUIRE(tensor_form(whole) == TensorForm::kNpz);
  auto read_all = [](std::string bytes) {
    auto tensors = read_tensors(Source::from_string("x.npz", std::move(bytes)), TensorForm::kNpz);
    if (!tensors) return false;
    bool good = true;
    for (const StoredTensor& tensor : *tensors) {
      // A changed header may ask for any amount of memory; what reads it knows what it wants.
      if (tensor.stored_bytes() > 4096) continue;
      good = to_host(tensor, tensor.type, tensor.dims).has_value() && good;
    }
    return good && !tensors->empty();
  };
  CHECK(read_all(whole));
  // All but the end of the record that ends the directory.
  constexpr size_t kEnd = 22;
  for (size_t size = 0; size < whole.size() - kEnd; ++size) {
    CHECK(!read_all(whole.substr(0, size)));
  }
  size_t refused = 0;
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x15);
    refused += !read_all(changed);
  }
  // Dates and the like may be anything; the elements may not.
  CHECK(refused > whole.size() / 3);
}

}  // namespace
}  // namespace minihlo
