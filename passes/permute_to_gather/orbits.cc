#include "passes/permute_to_gather/orbits.h"

#include <algorithm>
#include <numeric>

namespace minihlo {
namespace {

// Sets of ids that pairs join; a set is known by one of its ids.
class Orbits {
 public:
  explicit Orbits(int64_t count) : parent_(static_cast<size_t>(count)) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }
  int64_t find(int64_t id) {
    while (parent_[static_cast<size_t>(id)] != id) {
      int64_t& up = parent_[static_cast<size_t>(id)];
      up = parent_[static_cast<size_t>(up)];
      id = up;
    }
    return id;
  }
  // The smaller of the two names the joined set.
  void join(int64_t a, int64_t b) {
    a = find(a);
    b = find(b);
    parent_[static_cast<size_t>(std::max(a, b))] = std::min(a, b);
  }

 private:
  std::vector<int64_t> parent_;
};

struct Orbit {
  int64_t name;  // its smallest id
  int64_t size;
};

// First fit into `bins` bins of `capacity` each, orbits by falling size. Sets bin_of by the orbit's
// name; false when one fits nowhere.
bool pack(const std::vector<Orbit>& orbits, int64_t bins, int64_t capacity,
          std::vector<int64_t>& bin_of) {
  std::vector<int64_t> room(static_cast<size_t>(bins), capacity);
  size_t bin = 0;
  int64_t size = 0;
  for (const Orbit& orbit : orbits) {
    // What was too full for an orbit is too full for the next of the same size.
    if (orbit.size != size) bin = 0;
    size = orbit.size;
    while (bin < room.size() && room[bin] < size) ++bin;
    if (bin == room.size()) return false;
    room[bin] -= size;
    bin_of[static_cast<size_t>(orbit.name)] = static_cast<int64_t>(bin);
  }
  return true;
}

}  // namespace

std::vector<std::vector<int64_t>> pack_orbits(std::span<const SourceTarget> pairs, int64_t count) {
  Orbits sets(count);
  for (const SourceTarget& pair : pairs) sets.join(pair.source, pair.target);
  std::vector<int64_t> size_of(static_cast<size_t>(count), 0);
  for (int64_t id = 0; id < count; ++id) ++size_of[static_cast<size_t>(sets.find(id))];
  std::vector<Orbit> orbits;
  for (int64_t id = 0; id < count; ++id) {
    if (int64_t size = size_of[static_cast<size_t>(id)]; size > 0) orbits.push_back({id, size});
  }
  std::stable_sort(orbits.begin(), orbits.end(),
                   [](const Orbit& a, const Orbit& b) { return a.size > b.size; });

  std::vector<int64_t> bin_of(static_cast<size_t>(count), 0);
  int64_t size = orbits.front().size;
  while (count % size != 0 || !pack(orbits, count / size, size, bin_of)) ++size;

  std::vector<std::vector<int64_t>> groups;
  std::vector<int64_t> group_of_bin(static_cast<size_t>(count / size), -1);
  for (int64_t id = 0; id < count; ++id) {
    int64_t& group = group_of_bin[static_cast<size_t>(bin_of[static_cast<size_t>(sets.find(id))])];
    if (group < 0) {
      group = static_cast<int64_t>(groups.size());
      groups.emplace_back();
    }
    groups[static_cast<size_t>(group)].push_back(id);
  }
  return groups;
}

}  // namespace minihlo
