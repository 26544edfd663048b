// Modules for measuring the simulator.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace minihlo::bench {

/// `steps` collective-permutes along a ring of replicas, of `elements` f32 each.
std::string ring(int64_t replicas, int64_t steps, int64_t elements);
/// One all-gather, or all-reduce, of f32[elements] on each replica.
std::string all_gather(int64_t replicas, int64_t elements);
std::string all_reduce(int64_t replicas, int64_t elements);
/// dot of type[m,k] and type[k,n].
std::string dot(std::string_view type, int64_t m, int64_t k, int64_t n);
/// A convolution of f32[batch,size,size,features] with `features` 3 x 3 windows.
std::string convolution(int64_t batch, int64_t size, int64_t features);
/// A transformer block: layer norms, attention of `heads` heads, and two layers with tanh between.
std::string transformer_block(int64_t batch, int64_t length, int64_t width, int64_t heads);

}  // namespace minihlo::bench
