// Eigen's product of matrices, compiled for the machine at hand.
#pragma once

#include <cstdint>
#include <memory>

namespace minihlo::bench {

/// f32[m,k] times f32[k,n], row-major, on one thread.
class EigenDot {
 public:
  EigenDot(int64_t m, int64_t k, int64_t n);
  ~EigenDot();
  void run();

 private:
  struct Matrices;
  std::unique_ptr<Matrices> matrices_;
};

}  // namespace minihlo::bench
