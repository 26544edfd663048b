#include "tools/campaign/merge.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

namespace minihlo::campaign {

tl::expected<Merge, std::string> Merge::open(const std::vector<std::string>& paths) {
  Merge merge;
  std::vector<std::optional<JournalReader>> by_shard;
  const auto count = static_cast<int64_t>(paths.size());
  by_shard.resize(paths.size());
  merge.paths_.resize(paths.size());
  std::optional<JournalHeader> first;
  for (const std::string& path : paths) {
    auto reader = JournalReader::open(path);
    if (!reader) return tl::unexpected(reader.error());
    if (!reader->header()) return tl::unexpected(fmt::format("'{}' is empty", path));
    const JournalHeader& header = *reader->header();
    if (!first) first = header;
    if (std::string other = first->difference(header, false); !other.empty()) {
      return tl::unexpected(
          fmt::format("'{}' is of another campaign than '{}': {}", path, paths[0], other));
    }
    const Shard shard = header.shard;
    if (shard.count != count) {
      return tl::unexpected(
          fmt::format("'{}' is of shard {}/{}, and {} given", path, shard.index + 1, shard.count,
                      count == 1 ? "one journal is" : fmt::format("{} journals are", count)));
    }
    const auto place = static_cast<size_t>(shard.index);
    if (by_shard[place]) {
      return tl::unexpected(fmt::format("'{}' and '{}' are both of shard {}/{}",
                                        merge.paths_[place], path, shard.index + 1, shard.count));
    }
    by_shard[place] = *std::move(reader);
    merge.paths_[place] = path;
  }
  auto spec = CampaignSpec::parse(first->words);
  if (!spec) return tl::unexpected(fmt::format("'{}': {}", paths[0], spec.error()));
  merge.spec_ = *std::move(spec);
  for (std::optional<JournalReader>& reader : by_shard)
    merge.readers_.push_back(*std::move(reader));
  return merge;
}

std::string Merge::add_to(const CaseSpace& space, Results& results) {
  const JournalHeader header = JournalHeader::of(space, {});
  if (std::string other = header.difference(*readers_[0].header(), false); !other.empty()) {
    return fmt::format("'{}' is of another campaign: {}", paths_[0], other);
  }
  const int64_t blocks = Blocks(space).size();
  for (int64_t block = 0; block < blocks; ++block) {
    const auto shard = static_cast<size_t>(block) % readers_.size();
    auto next = readers_[shard].next(space.rewrites().size());
    if (!next) return next.error();
    if (!*next) {
      return fmt::format("'{}', shard {}/{}, is not finished; --resume goes on with it",
                         paths_[shard], shard + 1, readers_.size());
    }
    if (!results.add(block, (*next)->tally)) break;
  }
  return "";
}

}  // namespace minihlo::campaign
