#include "tools/campaign/permutations.h"

#include <algorithm>
#include <bit>
#include <charconv>

#include <fmt/format.h>

namespace minihlo::campaign {
namespace {

// Sources and targets, place by place, in any order.
Pairs zipped(std::span<const int64_t> sources, std::span<const int64_t> targets, Random& random) {
  Pairs pairs;
  for (size_t i = 0; i < std::min(sources.size(), targets.size()); ++i) {
    pairs.push_back({sources[i], targets[i]});
  }
  random.shuffle(std::span(pairs));
  return pairs;
}

Pairs full(int64_t ids, Random& random) {
  return zipped(random.order(ids), random.order(ids), random);
}

Pairs partial(int64_t ids, Random& random) {
  std::vector<int64_t> sources = random.order(ids);
  sources.resize(static_cast<size_t>(random.between(0, ids)));
  return zipped(sources, random.order(ids), random);
}

Pairs cyclic(int64_t ids, Random& random) { return random_cycles(ids, std::span(&ids, 1), random); }

Pairs cycles(int64_t ids, Random& random) {
  std::vector<int64_t> lengths;
  for (int64_t left = ids; left > 0; left -= lengths.back()) {
    lengths.push_back(random.between(1, left));
  }
  return random_cycles(ids, lengths, random);
}

Pairs involution(int64_t ids, Random& random) {
  const std::vector<int64_t> order = random.order(ids);
  const int64_t swaps = random.between(0, ids / 2);
  std::vector<int64_t> partners = order;
  for (size_t i = 0; i < static_cast<size_t>(swaps); ++i) {
    std::swap(partners[2 * i], partners[2 * i + 1]);
  }
  return zipped(order, partners, random);
}

Pairs fixed_points(int64_t ids, Random& random) {
  const std::vector<int64_t> order = random.order(ids);
  std::vector<int64_t> targets = order;
  random.shuffle(std::span(targets).subspan(static_cast<size_t>(random.between(1, ids))));
  return zipped(order, targets, random);
}

Pairs self(int64_t ids, Random& random) {
  std::vector<int64_t> some = random.order(ids);
  some.resize(static_cast<size_t>(random.between(1, ids)));
  return zipped(some, some, random);
}

Pairs shifted(int64_t ids, int64_t by, Random& random) {
  Pairs pairs;
  for (int64_t id = 0; id < ids; ++id) pairs.push_back({id, (id + by) % ids});
  random.shuffle(std::span(pairs));
  return pairs;
}

Pairs ring(int64_t ids, Random& random) {
  return shifted(ids, random.below(2) == 0 ? 1 : ids - 1, random);
}

Pairs chain(int64_t ids, Random& random) {
  Pairs pairs = ring(ids, random);
  std::erase_if(pairs, [&](const SourceTarget& pair) {
    return pair.source - pair.target != 1 && pair.target - pair.source != 1;
  });
  // Of two ids both ways are steps, and a chain goes one way.
  if (ids == 2) pairs.pop_back();
  return pairs;
}

Pairs shift(int64_t ids, Random& random) { return shifted(ids, random.below(ids), random); }

Pairs butterfly(int64_t ids, Random& random) {
  const int steps = std::bit_width(static_cast<uint64_t>(ids - 1));
  const int64_t bit = steps == 0 ? 0 : int64_t{1} << random.below(steps);
  Pairs pairs;
  for (int64_t id = 0; id < ids; ++id) {
    if ((id ^ bit) < ids) pairs.push_back({id, id ^ bit});
  }
  random.shuffle(std::span(pairs));
  return pairs;
}

Pairs transpose(int64_t ids, Random& random) {
  std::vector<int64_t> divisors;
  for (int64_t rows = 1; rows <= ids; ++rows) {
    if (ids % rows == 0) divisors.push_back(rows);
  }
  const int64_t rows =
      divisors[static_cast<size_t>(random.below(static_cast<int64_t>(divisors.size())))];
  const int64_t columns = ids / rows;
  Pairs pairs;
  for (int64_t id = 0; id < ids; ++id) {
    pairs.push_back({id, id % columns * rows + id / columns});
  }
  random.shuffle(std::span(pairs));
  return pairs;
}

Pairs empty(int64_t, Random&) { return {}; }

constexpr Kind kKinds[] = {
    {"full", "any permutation of all ids", full},
    {"partial", "any number of pairs between any ids", partial},
    {"cyclic", "one cycle over all ids", cyclic},
    {"cycles", "cycles of any lengths, or of those that --cycles gives", cycles},
    {"involution", "swaps, and fixed points", involution},
    {"fixed-points", "a permutation with one fixed point or more", fixed_points},
    {"self", "some ids send to themselves, the others to nobody", self},
    {"ring", "to the next id, or the one before", ring},
    {"chain", "a ring that is cut open between the last and the first id", chain},
    {"shift", "so many ids on", shift},
    {"butterfly", "to the id with one bit flipped", butterfly},
    {"transpose", "ids as a matrix of rows, to the transposed place", transpose},
    {"empty", "no pairs", empty},
};

// Reads pairs; blanks may stand anywhere.
class PairsParser {
 public:
  explicit PairsParser(std::string_view text) : text_(text) {}

  tl::expected<Pairs, std::string> run() {
    // `{{0,1}}` and `{}` have braces around all pairs.
    skip_blanks();
    std::string_view behind = text_;
    const bool is_wrapped = eat('{') && (next_is('{') || next_is('}'));
    if (!is_wrapped) text_ = behind;
    Pairs pairs;
    while (!(is_wrapped ? next_is('}') : is_at_end())) {
      if (!pairs.empty() && !eat(',')) return expected("',' between two pairs");
      SourceTarget pair{};
      if (!eat('{')) return expected("'{'");
      if (!number(pair.source)) return expected("the id of a source");
      if (!eat(',')) return expected("','");
      if (!number(pair.target)) return expected("the id of a target");
      if (!eat('}')) return expected("'}'");
      pairs.push_back(pair);
    }
    if (is_wrapped) eat('}');
    if (!is_at_end()) return expected("the end");
    return pairs;
  }

 private:
  void skip_blanks() {
    text_.remove_prefix(std::min(text_.find_first_not_of(" \t\r"), text_.size()));
  }
  bool is_at_end() {
    skip_blanks();
    return text_.empty();
  }
  bool next_is(char c) {
    skip_blanks();
    return text_.starts_with(c);
  }
  bool eat(char c) {
    if (!next_is(c)) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool number(int64_t& value) {
    skip_blanks();
    auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (error != std::errc() || value < 0) return false;
    text_.remove_prefix(static_cast<size_t>(end - text_.data()));
    return true;
  }
  tl::unexpected<std::string> expected(std::string_view what) const {
    return tl::unexpected(fmt::format("pairs are written {{{{0,1}},{{1,2}}}}; expected {} {}", what,
                                      text_.empty()
                                          ? std::string("at the end")
                                          : fmt::format("before '{}'", text_.substr(0, 20))));
  }

  std::string_view text_;
};

}  // namespace

PartialPermutations::PartialPermutations(int64_t ids) : ids_(ids) {
  const int64_t width = ids + 1;
  completions_.assign(static_cast<size_t>(width * width), 1);
  for (int64_t targets = 1; targets <= ids; ++targets) {
    for (int64_t sources = 1; sources <= ids; ++sources) {
      completions_[static_cast<size_t>(targets * width + sources)] =
          completions(targets - 1, sources) + sources * completions(targets - 1, sources - 1);
    }
  }
}

Pairs PartialPermutations::at(int64_t number) const {
  Pairs pairs;
  std::vector<int64_t> sources(static_cast<size_t>(ids_));  // those that are left
  std::iota(sources.begin(), sources.end(), 0);
  for (int64_t target = 0; target < ids_; ++target) {
    const int64_t left = ids_ - target - 1;
    const int64_t without = completions(left, static_cast<int64_t>(sources.size()));
    if (number < without) continue;
    number -= without;
    const int64_t each = completions(left, static_cast<int64_t>(sources.size()) - 1);
    const auto chosen = sources.begin() + number / each;
    number %= each;
    pairs.push_back({*chosen, target});
    sources.erase(chosen);
  }
  return pairs;
}

std::span<const Kind> kinds() { return kKinds; }

const Kind* find_kind(std::string_view name) {
  const Kind* found = std::ranges::find(kKinds, name, &Kind::name);
  return found == std::end(kKinds) ? nullptr : found;
}

Pairs random_cycles(int64_t ids, std::span<const int64_t> lengths, Random& random) {
  const std::vector<int64_t> order = random.order(ids);
  Pairs pairs;
  size_t start = 0;
  for (const int64_t length : lengths) {
    const auto members = std::span(order).subspan(start, static_cast<size_t>(length));
    start += members.size();
    for (size_t i = 0; i < members.size(); ++i) {
      pairs.push_back({members[i], members[(i + 1) % members.size()]});
    }
  }
  random.shuffle(std::span(pairs));
  return pairs;
}

tl::expected<Pairs, std::string> parse_pairs(std::string_view text) {
  return PairsParser(text).run();
}

std::string to_string(const Pairs& pairs) {
  std::string text = "{";
  for (const SourceTarget& pair : pairs) {
    text += fmt::format("{}{{{},{}}}", text.size() > 1 ? "," : "", pair.source, pair.target);
  }
  return text + '}';
}

}  // namespace minihlo::campaign
