// Whether any of many texts is there twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "ir/text_map.h"

namespace minihlo {

/// Takes texts and tells in the end whether all differ. That they do is the common case, and much
/// cheaper to find out than with a table of them all: only hashes are kept.
class TextRepeats {
 public:
  void reserve(size_t texts) { hashes_.reserve(texts); }
  void add(std::string_view text) { add_hash(hash_text_wide(text)); }
  /// The same of a text whose hash_text_wide() is known.
  void add_hash(uint64_t hash) { hashes_.push_back(hash); }
  /// False: all texts differ. True: two are equal, or once in 2^40 or so have equal hashes.
  bool any() const;

 private:
  std::vector<uint64_t> hashes_;
};

}  // namespace minihlo
