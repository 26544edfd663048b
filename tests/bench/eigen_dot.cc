#include "tests/bench/eigen_dot.h"

#include <Eigen/Dense>

namespace minihlo::bench {

struct EigenDot::Matrices {
  Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> left, right, result;
};

EigenDot::EigenDot(int64_t m, int64_t k, int64_t n) : matrices_(std::make_unique<Matrices>()) {
  Eigen::setNbThreads(1);
  matrices_->left.setRandom(m, k);
  matrices_->right.setRandom(k, n);
  matrices_->result.resize(m, n);
}

EigenDot::~EigenDot() = default;

void EigenDot::run() { matrices_->result.noalias() = matrices_->left * matrices_->right; }

}  // namespace minihlo::bench
