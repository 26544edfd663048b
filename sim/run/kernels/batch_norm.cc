// batch-norm-training, -inference and -grad, each feature by itself, in double, rounded once.
// Variance is E[x^2] - E[x]^2 (xla/service/batchnorm_expander.cc).
#include <algorithm>
#include <cmath>

#include "sim/run/kernel.h"
#include "sim/run/kernels/axes.h"
#include "sim/run/kernels/complex_elements.h"

namespace minihlo {
namespace {

struct Plan {
  ElementType type;
  std::vector<Buffer> operands, results;
  int64_t features, inner, outer;
  double epsilon;
  Workers* workers;

  double operand(size_t i, int64_t at) const {
    return load_complex(type, operands[i].data(), operands[i].is_splat() ? 0 : at).real();
  }
  void put(size_t i, int64_t at, double value) const {
    store_complex(type, value, Buffer(results[i]).mutable_data(), at);
  }
  int64_t count() const { return outer * inner; }
  // Calls body with the place of each element of a feature, while there is time.
  template <class Body>
  void for_each(int64_t feature, const Body& body) const {
    LateCheck is_late(*workers);
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < inner && !is_late(8); ++i) body((o * features + feature) * inner + i);
    }
  }
};

void train(const Plan& plan, int64_t feature) {
  double sum = 0, squares = 0;
  plan.for_each(feature, [&](int64_t at) {
    const double x = plan.operand(0, at);
    sum += x;
    squares += x * x;
  });
  const double n = static_cast<double>(plan.count());
  const double mean = sum / n, variance = squares / n - mean * mean;
  const double factor = plan.operand(1, feature) / std::sqrt(variance + plan.epsilon);
  plan.for_each(feature, [&](int64_t at) {
    plan.put(0, at, factor * (plan.operand(0, at) - mean) + plan.operand(2, feature));
  });
  plan.put(1, feature, mean);
  plan.put(2, feature, variance);
}

void infer(const Plan& plan, int64_t feature) {
  const double factor =
      plan.operand(1, feature) / std::sqrt(plan.operand(4, feature) + plan.epsilon);
  plan.for_each(feature, [&](int64_t at) {
    plan.put(0, at,
             factor * (plan.operand(0, at) - plan.operand(3, feature)) + plan.operand(2, feature));
  });
}

void differentiate(const Plan& plan, int64_t feature) {
  const double mean = plan.operand(2, feature);
  const double squared = plan.operand(3, feature) + plan.epsilon, deviation = std::sqrt(squared);
  double sum = 0, weighted = 0;
  plan.for_each(feature, [&](int64_t at) {
    sum += plan.operand(4, at);
    weighted += plan.operand(4, at) * (plan.operand(0, at) - mean);
  });
  const double n = static_cast<double>(plan.count());
  const double factor = plan.operand(1, feature) / deviation;
  plan.for_each(feature, [&](int64_t at) {
    plan.put(0, at,
             factor * (plan.operand(4, at) - sum / n -
                       (plan.operand(0, at) - mean) * weighted / (n * squared)));
  });
  plan.put(1, feature, weighted / deviation);
  plan.put(2, feature, sum);
}

KernelResult batch_norm(KernelCall& call, void (*body)(const Plan&, int64_t)) {
  const Shape* shape = call.operand_shape(0);
  const auto axis = static_cast<size_t>(call.instruction.get(attr::feature_index));
  Plan plan{shape->element_type(),
            {},
            {},
            shape->dims()[axis],
            row_major_strides(shape->dims())[axis],
            1,
            // HLO's epsilon is an f32, whatever the element type.
            static_cast<float>(call.instruction.get(attr::epsilon)),
            &call.context.workers};
  for (size_t i = 0; i < axis; ++i) plan.outer *= shape->dims()[i];
  for (size_t i = 0; i < call.operands.size(); ++i) {
    if (call.operand_shape(i)->element_type() != plan.type) {
      return tl::unexpected(Stop::unsupported(std::string(to_string(call.instruction.opcode())),
                                              "operands of different element types"));
    }
    plan.operands.push_back(call.operands[i]);
  }
  const Shape* result = call.instruction.shape();
  for (int64_t i = 0; i < result->leaf_count(); ++i) {
    auto buffer = call.allocate(result->is_tuple() ? result->element(i) : result);
    if (!buffer) return tl::unexpected(std::move(buffer.error()));
    call.results.push_back(*buffer);
    plan.results.push_back(*std::move(buffer));
  }
  call.add(plan.features, plan.count() * 32,
           [plan = std::move(plan), body](int64_t begin, int64_t end) {
             for (int64_t feature = begin; feature < end; ++feature) body(plan, feature);
           });
  return {};
}

}  // namespace

KernelResult batch_norm_training_kernel(KernelCall& call) { return batch_norm(call, train); }
KernelResult batch_norm_inference_kernel(KernelCall& call) { return batch_norm(call, infer); }
KernelResult batch_norm_grad_kernel(KernelCall& call) { return batch_norm(call, differentiate); }

}  // namespace minihlo
