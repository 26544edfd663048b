// Lists that live for a moment, without a heap allocation each.
#pragma once

#include <utility>
#include <vector>

namespace minihlo::internal {

/// Keeps the memory of vectors that are no longer needed for those that are needed next.
template <class T>
class VectorPool {
 public:
  /// An empty vector, given back to the pool when the lease ends.
  class Lease {
   public:
    explicit Lease(VectorPool& pool) : pool_(pool) {
      if (pool.free_.empty()) return;
      vector_ = std::move(pool.free_.back());
      pool.free_.pop_back();
    }
    ~Lease() {
      vector_.clear();
      pool_.free_.push_back(std::move(vector_));
    }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;

    std::vector<T>& operator*() { return vector_; }
    std::vector<T>* operator->() { return &vector_; }

   private:
    VectorPool& pool_;
    std::vector<T> vector_;
  };

  Lease lease() { return Lease(*this); }

 private:
  std::vector<std::vector<T>> free_;
};

}  // namespace minihlo::internal
