#include "tools/run_data.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/gzip.h"
#include "tools/tensors/tensor_file.h"

namespace minihlo {
namespace {

constexpr std::string_view kPlaces[] = {"{device}", "{replica}", "{partition}"};
// Names in one message.
constexpr size_t kMaxNames = 5;

}  // namespace

bool is_path_of_devices(std::string_view path) {
  return std::ranges::any_of(kPlaces,
                             [&](std::string_view place) { return path.find(place) != path.npos; });
}

std::string path_of_device(const std::string& path, const Mesh& mesh, int64_t device) {
  const int64_t numbers[] = {device, mesh.replica(device), mesh.partition(device)};
  std::string result;
  for (size_t at = 0; at < path.size();) {
    size_t place = 0;
    while (place < std::size(kPlaces) &&
           !std::string_view(path).substr(at).starts_with(kPlaces[place])) {
      ++place;
    }
    if (place < std::size(kPlaces)) {
      result += fmt::format("{}", numbers[place]);
      at += kPlaces[place].size();
    } else {
      result += path[at++];
    }
  }
  return result;
}

std::string RunData::open(const std::vector<std::string>& paths) {
  paths_ = paths;
  for (const std::string& path : paths) {
    if (is_path_of_devices(path)) continue;
    if (std::string wrong = open_file(path, -1); !wrong.empty()) return wrong;
  }
  if (case_ && paths.size() > 1) return "a case can't be joined with other files";
  return "";
}

std::string RunData::open_file(const std::string& path, int64_t device) {
  std::string error;
  std::shared_ptr<const Source> source = Source::from_file(path, error);
  if (!source) return fmt::format("cannot read '{}': {}", path, error);
  if (is_gzip(source->text())) {
    auto text = gunzip(source->text());
    if (!text) return fmt::format("'{}': {}", path, text.error());
    source = Source::from_string(path, *std::move(text));
  }
  auto form = tensor_form(source->text());
  // Of what is damaged the name tells what it should be.
  if (!form) form = tensor_form_of_name(path);
  if (form) {
    auto tensors = read_tensors(source, *form);
    if (tensors && *form == TensorForm::kNpy && leaves_.size() == 1) {
      tensors->front().name = leaves_[0].name;
    }
    std::string wrong = tensors ? tensors_.add(path, *std::move(tensors), device) : tensors.error();
    return wrong.empty() ? "" : fmt::format("'{}': {}", path, wrong);
  }
  auto cases = parse_cases(source->text());
  if (!cases) {
    const bool is_json =
        source->text().find_first_of("{[") == source->text().find_first_not_of(" \t\r\n");
    return fmt::format("'{}': {}", path,
                       is_json ? cases.error() : "neither safetensors, .npy, .npz nor a case");
  }
  if (device >= 0) return fmt::format("'{}': a case is for all devices", path);
  if (case_) return "a case can't be joined with other files";
  case_ = std::move(cases->front());
  return "";
}

std::string RunData::open_devices(const Mesh& mesh, std::span<const int> devices) {
  for (const std::string& path : paths_) {
    if (!is_path_of_devices(path)) continue;
    for (const int device : devices) {
      std::string wrong = open_file(path_of_device(path, mesh, device), device);
      if (!wrong.empty()) return wrong;
    }
  }
  return "";
}

std::vector<std::string> RunData::unused(char but, const Mesh& mesh,
                                         std::span<const int> devices) const {
  std::vector<std::string> result;
  for (const auto& [file, names] : tensors_.unused(but, mesh, devices)) {
    const auto shown = std::span(names).first(std::min(names.size(), kMaxNames));
    std::string rest;
    if (shown.size() < names.size())
      rest = fmt::format(" and {} more", names.size() - shown.size());
    result.push_back(
        fmt::format("'{}': nothing takes '{}'{}", file, fmt::join(shown, "', '"), rest));
  }
  return result;
}

}  // namespace minihlo
