#include "tools/campaign/shrink.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace minihlo::campaign {
namespace {

// Cases that are tried for one failure. The first ones halve, so this reaches far.
constexpr int kTries = 200;
constexpr int kExternalTries = 50;

class Shrinker {
 public:
  Shrinker(const CaseSpace& space, const Judge& judge, const CampaignCase& failing,
           OutcomeKind kind, const std::atomic<bool>* stop)
      : space_(space), judge_(judge), best_(failing), kind_(kind), stop_(stop) {
    if (!space.rewrites()[failing.rewrite].pipeline) {
      left_ = kind == OutcomeKind::kTimedOut ? 0 : kExternalTries;
    }
  }

  std::optional<ShrunkCase> run() {
    // What is made smaller lets other parts be made smaller, too.
    while (shrink_once()) {
    }
    if (!outcome_) return std::nullopt;
    return ShrunkCase{best_, *outcome_};
  }

 private:
  // Whether anything became smaller.
  bool shrink_once() {
    bool is_smaller = simplify_form();
    is_smaller |= shrink_other();
    is_smaller |= drop_pairs();
    is_smaller |= drop_ids();
    is_smaller |= shrink_dims();
    is_smaller |= simplify_type();
    return is_smaller;
  }

  // Takes the case over where it fails alike.
  bool take(const CampaignCase& one) {
    if (left_ == 0 || (stop_ && *stop_)) return false;
    --left_;
    Outcome outcome = judge_.judge(one);
    if ((stop_ && *stop_) || outcome.kind != kind_) return false;
    if (space_.expectation().meets(one, outcome.kind)) return false;
    best_ = one;
    outcome_ = std::move(outcome);
    return true;
  }

  bool simplify_form() {
    CampaignCase one = best_;
    one.form = 0;
    return best_.form != 0 && take(one);
  }

  bool shrink_other() {
    CampaignCase one = best_;
    one.other = 1;
    if (best_.other > 1 && take(one)) return true;
    one.other = 2;
    return best_.other > 2 && take(one);
  }

  // Calls try_without(first, count) for parts of [0, size()), all of them, halves, and so on, to
  // single ones; where it drops the part size() is less.
  template <class Size, class Try>
  static bool drop_parts(const Size& size, const Try& try_without) {
    bool is_smaller = false;
    for (size_t count = size(); count > 0; count /= 2) {
      for (size_t first = 0; first < size();) {
        if (try_without(first, std::min(count, size() - first))) {
          is_smaller = true;
        } else {
          first += count;
        }
      }
    }
    return is_smaller;
  }

  bool drop_pairs() {
    return drop_parts([&] { return best_.pairs.size(); },
                      [&](size_t first, size_t count) {
                        CampaignCase one = best_;
                        const auto begin = one.pairs.begin() + static_cast<ptrdiff_t>(first);
                        one.pairs.erase(begin, begin + static_cast<ptrdiff_t>(count));
                        return take(one);
                      });
  }

  // The ids that no pair names.
  std::vector<int64_t> idle_ids() const {
    std::vector<bool> is_named(static_cast<size_t>(best_.ids));
    for (const SourceTarget& pair : best_.pairs) {
      for (const int64_t id : {pair.source, pair.target}) {
        if (id < best_.ids) is_named[static_cast<size_t>(id)] = true;
      }
    }
    std::vector<int64_t> idle;
    for (int64_t id = 0; id < best_.ids; ++id) {
      if (!is_named[static_cast<size_t>(id)]) idle.push_back(id);
    }
    return idle;
  }

  // Idle ids go; those above them move down.
  bool drop_ids() {
    std::vector<int64_t> idle = idle_ids();
    return drop_parts([&] { return idle.size(); },
                      [&](size_t first, size_t count) {
                        const auto gone = std::span(idle).subspan(first, count);
                        CampaignCase one = best_;
                        one.ids -= static_cast<int64_t>(count);
                        if (one.ids == 0) return false;
                        auto moved = [&](int64_t id) {
                          return id - (std::ranges::lower_bound(gone, id) - gone.begin());
                        };
                        for (SourceTarget& pair : one.pairs) {
                          pair = {moved(pair.source), moved(pair.target)};
                        }
                        if (!take(one)) return false;
                        idle = idle_ids();
                        return true;
                      });
  }

  bool shrink_dims() {
    bool is_smaller = false;
    for (size_t i = 0; i < best_.dims.size();) {
      CampaignCase one = best_;
      one.dims.erase(one.dims.begin() + static_cast<ptrdiff_t>(i));
      if (take(one)) {
        is_smaller = true;
        continue;
      }
      for (const int64_t extent : {int64_t{1}, int64_t{2}}) {
        one = best_;
        if (one.dims[i] <= extent) break;
        one.dims[i] = extent;
        if (!take(one)) continue;
        is_smaller = true;
        break;
      }
      ++i;
    }
    return is_smaller;
  }

  bool simplify_type() {
    CampaignCase one = best_;
    one.type = CampaignCase().type;
    return one.type != best_.type && take(one);
  }

  const CaseSpace& space_;
  const Judge& judge_;
  CampaignCase best_;
  std::optional<Outcome> outcome_;  // of the best case, where it is not the one that was given
  const OutcomeKind kind_;
  const std::atomic<bool>* stop_;
  int left_ = kTries;
};

}  // namespace

std::optional<ShrunkCase> shrink(const CaseSpace& space, const Judge& judge,
                                 const CampaignCase& failing, OutcomeKind kind,
                                 const std::atomic<bool>* stop) {
  return Shrinker(space, judge, failing, kind, stop).run();
}

}  // namespace minihlo::campaign
