#include "tools/campaign/session.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tools/campaign/journal.h"

namespace minihlo::campaign {
namespace {

// Runs what this process has to do. `keep` is called with each block, in order.
std::string run_own(const CaseSpace& space, const SessionSettings& session, const Ranks& ranks,
                    SessionProgress& progress, Results& results,
                    const std::function<void(int64_t block, const Tally& tally)>& keep) {
  RunSettings settings;
  settings.shard = {session.shard.index + ranks.rank() * session.shard.count,
                    session.shard.count * ranks.count()};
  settings.threads = session.threads;
  settings.deadline = session.deadline;
  settings.stop = session.stop;
  settings.done = &progress.done;
  std::optional<JournalWriter> journal;
  int64_t place = 0;
  if (!session.journal.empty()) {
    const std::string path =
        ranks.count() == 1 ? session.journal : fmt::format("{}.{}", session.journal, ranks.rank());
    auto opened =
        JournalWriter::open(path, JournalHeader::of(space, settings.shard), space.rewrites().size(),
                            session.resume, [&](const JournalBlock& block) {
                              ++place;
                              if (results.is_cut()) return;
                              keep(block.block, block.tally);
                              results.add(block.block, block.tally);
                            });
    if (!opened) return opened.error();
    journal.emplace(*std::move(opened));
  }
  progress.before = results.tally().cases;
  progress.all = Blocks(space).case_count(settings.shard);
  settings.keep = [&](int64_t block, const Tally& tally) {
    keep(block, tally);
    return journal ? journal->add(block, tally) : "";
  };
  return results.is_cut() ? "" : run_blocks(space, place, settings, results);
}

// Adds the blocks of a shard that its ranks have done, up to the first one that is missing.
std::string add_all(const CaseSpace& space, const Shard& shard,
                    const std::vector<std::string>& texts, Results& results) {
  std::vector<std::string_view> left(texts.begin(), texts.end());
  const int64_t blocks = Blocks(space).size(shard);
  for (int64_t place = 0; place < blocks; ++place) {
    std::string_view& text = left[static_cast<size_t>(place) % left.size()];
    const size_t end = text.find('\n');
    if (end == text.npos) break;
    const std::optional<JournalBlock> block =
        parse_block(text.substr(0, end), space.rewrites().size());
    if (!block || block->block != Blocks::block(shard, place)) {
      return "the processes do not run the same campaign";
    }
    text.remove_prefix(end + 1);
    if (!results.add(block->block, block->tally)) break;
  }
  return "";
}

}  // namespace

std::string SessionProgress::text(double seconds) const {
  const int64_t now = done.load(std::memory_order_relaxed);
  const double rate = seconds > 0 ? static_cast<double>(now) / seconds : 0;
  std::string text = fmt::format("{} of {} cases, {:.0f} a second", before + now, all.load(), rate);
  if (rate > 0) {
    text += fmt::format(", {:.0f} s left", static_cast<double>(all - before - now) / rate);
  }
  return text;
}

std::string run_session(const CaseSpace& space, const Judge& judge, const SessionSettings& settings,
                        const Ranks& ranks, SessionProgress& progress, Results& results) {
  if (ranks.count() == 1) {
    return run_own(space, settings, ranks, progress, results, [](int64_t, const Tally&) {});
  }
  Results own(space, judge);
  std::string done;
  std::string wrong =
      run_own(space, settings, ranks, progress, own,
              [&](int64_t block, const Tally& tally) { done += print_block(block, tally) + '\n'; });
  const std::vector<std::string> texts = ranks.gather(std::move(done));
  if (ranks.rank() > 0) return wrong;
  const std::string other = add_all(space, settings.shard, texts, results);
  return wrong.empty() ? other : wrong;
}

}  // namespace minihlo::campaign
