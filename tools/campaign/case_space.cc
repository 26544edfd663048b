#include "tools/campaign/case_space.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/diagnostics.h"
#include "ir/shape.h"
#include "tools/campaign/checksum.h"

namespace minihlo::campaign {
namespace {

constexpr std::string_view kDefaultPasses = "collective-permute-to-all-gather";
constexpr std::string_view kDefaultDevices = "2..16";
constexpr std::string_view kTooMany = "there are more cases than 63 bits can count";

// One of `count` values; what is left of a combination's number chooses the others.
size_t digit(int64_t& number, size_t count) {
  const auto chosen = static_cast<size_t>(number % static_cast<int64_t>(count));
  number /= static_cast<int64_t>(count);
  return chosen;
}

template <class T>
const T& drawn_from(const std::vector<T>& values, Random& random) {
  return values[static_cast<size_t>(random.below(static_cast<int64_t>(values.size())))];
}

std::string read_shape(std::string_view text, std::vector<int64_t>& dims) {
  if (text == "scalar") return "";
  for (std::string_view part : split_list(text, 'x')) {
    const std::optional<int64_t> dim = parse_count(part);
    if (!dim) return fmt::format("--shapes: '{}' is no shape, such as 4, 2x3 or scalar", text);
    dims.push_back(*dim);
  }
  // Of the widest type, so that it fits in all.
  if (ShapePool().try_array(ElementType::C128, dims)) return "";
  return fmt::format("--shapes: {} has too many elements", text);
}

}  // namespace

tl::expected<CaseSpace, std::string> CaseSpace::make(const CampaignSpec& spec) {
  CaseSpace space(spec);
  for (auto read : {&CaseSpace::read_rewrites, &CaseSpace::read_combinations,
                    &CaseSpace::read_sources, &CaseSpace::read_random}) {
    if (std::string wrong = (space.*read)(); !wrong.empty()) return tl::unexpected(wrong);
  }
  auto expectation = Expectation::parse(spec.expect);
  if (!expectation) return tl::unexpected("--expect: " + expectation.error());
  space.expectation_ = *expectation;
  if (spec.exhaustive.empty() && spec.random == 0 && spec.pairs.empty()) {
    return tl::unexpected(
        std::string("--exhaustive=N, --random=COUNT or --pairs=FILE says what the cases are"));
  }
  if (space.size_ == 0) return tl::unexpected(std::string("--pairs: there is no permutation"));
  return space;
}

std::string CaseSpace::read_rewrites() {
  if (!spec_.rewrite_with.empty()) {
    if (!spec_.passes.empty()) return "--passes and --rewrite-with: give one of the two";
    for (std::string_view place : {"{in}", "{out}"}) {
      if (spec_.rewrite_with.find(place) == std::string::npos) {
        return fmt::format("--rewrite-with: {} is missing in '{}'", place, spec_.rewrite_with);
      }
    }
    rewrites_.push_back({spec_.rewrite_with, std::nullopt});
    return "";
  }
  std::vector<std::string> texts = spec_.passes;
  if (texts.empty()) texts.emplace_back(kDefaultPasses);
  for (std::string& text : texts) {
    std::shared_ptr<const Source> source = Source::from_string("--passes", text);
    Diagnostics diagnostics(source);
    std::optional<Pipeline> pipeline = parse_pipeline(source, diagnostics);
    if (!pipeline) {
      return fmt::format("--passes={}: {}", text, diagnostics.all().front().message);
    }
    rewrites_.push_back({std::move(text), std::move(pipeline)});
  }
  return "";
}

std::string CaseSpace::read_combinations() {
  for (std::string_view word : split_list(spec_.modes)) {
    for (GroupMode mode : {GroupMode::kCrossPartition, GroupMode::kCrossReplica}) {
      if (word == id_noun(mode)) modes_.push_back(mode);
    }
    if (modes_.empty() || word != id_noun(modes_.back())) {
      return fmt::format("--modes: '{}' is neither partition nor replica", word);
    }
  }
  for (std::string_view word : split_list(spec_.types)) {
    if (word == "all") {
      for (int i = 0; i < kElementTypeCount; ++i) types_.push_back(static_cast<ElementType>(i));
    } else if (std::optional<ElementType> type = element_type_from(word)) {
      types_.push_back(*type);
    } else {
      return fmt::format("--types: there is no element type '{}'", word);
    }
  }
  for (std::string_view word : split_list(spec_.shapes)) {
    if (std::string wrong = read_shape(word, shapes_.emplace_back()); !wrong.empty()) return wrong;
  }
  for (std::string_view word : split_list(spec_.forms)) {
    std::vector<std::string_view> names;
    for (const Form& form : forms()) names.push_back(form.name);
    const auto found = std::ranges::find(names, word);
    if (found == names.end()) {
      return fmt::format("--forms: there is no form '{}'{}", word, suggestion(word, names));
    }
    forms_.push_back(static_cast<size_t>(found - names.begin()));
  }
  const std::optional<CountRange> other = parse_range(spec_.other);
  if (!other || other->first < 1) {
    return fmt::format("--other: '{}' is no range of positive numbers, such as 2 or 1..4",
                       spec_.other);
  }
  other_ = *other;
  combinations_ = other_.size();
  for (const size_t count :
       {modes_.size(), types_.size(), shapes_.size(), forms_.size(), rewrites_.size()}) {
    if (__builtin_mul_overflow(combinations_, count, &combinations_)) return std::string(kTooMany);
  }
  return "";
}

// Whether the ids fit a mesh.
std::string CaseSpace::check_mesh(int64_t ids) const {
  auto mesh = make_mesh(ids, other_.last);
  return mesh ? "" : mesh.error();
}

std::string CaseSpace::add_cases(int64_t permutations) {
  int64_t cases = 0;
  if (__builtin_mul_overflow(permutations, combinations_, &cases) ||
      __builtin_add_overflow(cases, size_, &size_)) {
    return std::string(kTooMany);
  }
  return "";
}

std::string CaseSpace::read_sources() {
  if (!spec_.exhaustive.empty()) {
    const std::optional<CountRange> ids = parse_range(spec_.exhaustive);
    if (!ids || ids->first < 1 || ids->last > PartialPermutations::kMaxIds) {
      return fmt::format(
          "--exhaustive: '{}' is no range of numbers from 1 to {}, such as 8 or 1..6",
          spec_.exhaustive, PartialPermutations::kMaxIds);
    }
    for (int64_t count = ids->first; count <= ids->last; ++count) {
      if (std::string wrong = check_mesh(count); !wrong.empty()) return wrong;
      exhaustive_.push_back({count, PartialPermutations(count)});
      std::string wrong = add_cases(exhaustive_.back().permutations.count());
      if (!wrong.empty()) return wrong;
    }
  }
  for (const std::string& given : spec_.pairs) {
    if (std::string wrong = read_pairs(given); !wrong.empty()) return wrong;
  }
  return add_cases(static_cast<int64_t>(listed_.size()));
}

std::string CaseSpace::read_pairs(const std::string& given) {
  if (given.starts_with('{')) return add_pairs(given, "--pairs");
  std::string error;
  std::shared_ptr<const Source> source = Source::from_file(given, error);
  if (!source) return fmt::format("cannot read '{}': {}", given, error);
  checksum_ = campaign::checksum(source->text(), checksum_ ^ kNoChecksum);
  int64_t number = 0;
  for (std::string_view line : split_list(source->text(), '\n')) {
    ++number;
    const size_t start = line.find_first_not_of(" \t\r");
    if (start == line.npos || line[start] == '#') continue;
    std::string wrong = add_pairs(line, fmt::format("{}:{}", given, number));
    if (!wrong.empty()) return wrong;
  }
  return "";
}

std::string CaseSpace::add_pairs(std::string_view text, const std::string& where) {
  auto pairs = parse_pairs(text);
  if (!pairs) return fmt::format("{}: {}", where, pairs.error());
  int64_t ids = 1;
  for (const SourceTarget& pair : *pairs) {
    for (const int64_t id : {pair.source, pair.target}) {
      if (id >= kMaxMeshDevices) return fmt::format("{}: no mesh has an id {}", where, id);
      ids = std::max(ids, id + 1);
    }
  }
  if (!spec_.devices.empty()) {
    const std::optional<int64_t> count = parse_count(spec_.devices);
    if (!count || *count < 1) {
      return fmt::format("--devices: '{}' is no positive number, which --pairs wants",
                         spec_.devices);
    }
    ids = *count;
  }
  if (std::string wrong = check_mesh(ids); !wrong.empty()) return wrong;
  listed_.push_back({ids, *std::move(pairs)});
  return "";
}

std::string CaseSpace::read_random() {
  const std::string devices(spec_.devices.empty() ? kDefaultDevices : spec_.devices);
  const std::optional<CountRange> range = parse_range(devices);
  if (!range || range->first < 1) {
    return fmt::format("--devices: '{}' is no range of positive numbers, such as 8 or 2..512",
                       devices);
  }
  devices_ = *range;
  for (std::string_view word : split_list(spec_.kinds)) {
    if (spec_.kinds.empty()) break;
    const Kind* kind = find_kind(word);
    std::vector<std::string_view> names;
    for (const Kind& one : kinds()) names.push_back(one.name);
    if (!kind)
      return fmt::format("--kinds: there is no kind '{}'{}", word, suggestion(word, names));
    kinds_.push_back(kind);
  }
  if (kinds_.empty()) {
    for (const Kind& kind : kinds()) kinds_.push_back(&kind);
  }
  int64_t members = 0;
  for (std::string_view word : split_list(spec_.cycles)) {
    if (spec_.cycles.empty()) break;
    const std::optional<int64_t> length = parse_count(word);
    if (!length || *length < 1 || *length > kMaxMeshDevices) {
      return fmt::format("--cycles: '{}' is no length of a cycle", word);
    }
    cycles_.push_back(*length);
    members += *length;
  }
  if (members > devices_.first) {
    return fmt::format("--cycles: {} ids do not hold cycles of {} ids together", devices_.first,
                       members);
  }
  if (spec_.random == 0) return "";
  if (std::string wrong = check_mesh(devices_.last); !wrong.empty()) return wrong;
  if (__builtin_add_overflow(size_, spec_.random, &size_)) return std::string(kTooMany);
  return "";
}

void CaseSpace::combine(int64_t combination, CampaignCase& one) const {
  one.rewrite = digit(combination, rewrites_.size());
  one.mode = modes_[digit(combination, modes_.size())];
  one.type = types_[digit(combination, types_.size())];
  one.dims = shapes_[digit(combination, shapes_.size())];
  one.form = forms_[digit(combination, forms_.size())];
  one.other = other_.first + combination;
}

CampaignCase CaseSpace::drawn(int64_t number) const {
  Random random(spec_.seed, static_cast<uint64_t>(number));
  CampaignCase one;
  one.ids = random.between(devices_.first, devices_.last);
  one.other = random.between(other_.first, other_.last);
  one.mode = drawn_from(modes_, random);
  one.type = drawn_from(types_, random);
  one.dims = drawn_from(shapes_, random);
  one.form = drawn_from(forms_, random);
  one.rewrite = static_cast<size_t>(random.below(static_cast<int64_t>(rewrites_.size())));
  const Kind& kind = *drawn_from(kinds_, random);
  one.pairs = kind.name == "cycles" && !cycles_.empty() ? random_cycles(one.ids, cycles_, random)
                                                        : kind.make(one.ids, random);
  return one;
}

CampaignCase CaseSpace::at(int64_t number) const {
  CampaignCase one;
  int64_t place = number;
  bool is_found = false;
  for (const Exhaustive& all : exhaustive_) {
    const int64_t count = all.permutations.count() * combinations_;
    if (place < count) {
      one.ids = all.ids;
      one.pairs = all.permutations.at(place / combinations_);
      is_found = true;
      break;
    }
    place -= count;
  }
  const int64_t listed = static_cast<int64_t>(listed_.size()) * combinations_;
  if (!is_found && place < listed) {
    const Listed& entry = listed_[static_cast<size_t>(place / combinations_)];
    one.ids = entry.ids;
    one.pairs = entry.pairs;
    is_found = true;
  }
  if (is_found) {
    combine(place % combinations_, one);
  } else {
    one = drawn(place - listed);
  }
  one.number = number;
  return one;
}

}  // namespace minihlo::campaign
