#include "tests/bench/sim_modules.h"

#include <fmt/format.h>

namespace minihlo::bench {
namespace {

// Lines of a computation: each gives its value the next number.
class Writer {
 public:
  std::string add(std::string_view shape, std::string_view call) {
    std::string name = fmt::format("v{}", count_++);
    last_ = text_.size();
    text_ += fmt::format("  {} = {} {}\n", name, shape, call);
    return name;
  }
  std::string parameter(std::string_view shape) {
    return add(shape, fmt::format("parameter({})", parameters_++));
  }
  std::string broadcast(std::string_view shape, const std::string& value, std::string_view dims) {
    return add(shape, fmt::format("broadcast({}), dimensions={{{}}}", value, dims));
  }
  std::string constant(std::string_view shape, double value) {
    return broadcast(shape, add("f32[]", fmt::format("constant({})", value)), "");
  }
  std::string reduce(std::string_view shape, const std::string& value, double init,
                     std::string_view by, int64_t dim) {
    std::string start = init < 0 ? add("f32[]", "constant(-inf)") : add("f32[]", "constant(0)");
    return add(shape, fmt::format("reduce({}, {}), dimensions={{{}}}, to_apply={}", value, start,
                                  dim, by));
  }
  /// A module whose result is what was added last.
  std::string module(std::string_view before) const {
    return fmt::format("HloModule bench\n\n{}ENTRY main {{\n{}  ROOT{}}}\n", before,
                       text_.substr(0, last_), text_.substr(last_ + 1));
  }

 private:
  std::string text_;
  size_t last_ = 0;
  int count_ = 0;
  int parameters_ = 0;
};

constexpr std::string_view kReducers =
    "sum {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}\n\n"
    "largest {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
    "  ROOT c = f32[] maximum(a, b)\n}\n\n";

std::string collective(int64_t replicas, int64_t elements, std::string_view result,
                       std::string_view opcode, std::string_view attributes) {
  std::string group;
  for (int64_t i = 0; i < replicas; ++i) group += fmt::format("{}{}", i ? "," : "", i);
  return fmt::format(
      "HloModule bench, replica_count={}\n\n{}ENTRY main {{\n  p = f32[{}] parameter(0)\n"
      "  ROOT r = {} {}(p), replica_groups={{{{{}}}}}, {}\n}}\n",
      replicas, kReducers, elements, result, opcode, group, attributes);
}

}  // namespace

std::string ring(int64_t replicas, int64_t steps, int64_t elements) {
  std::string pairs, text;
  for (int64_t i = 0; i < replicas; ++i) {
    pairs += fmt::format("{}{{{},{}}}", i ? "," : "", i, (i + 1) % replicas);
  }
  for (int64_t i = 1; i <= steps; ++i) {
    text += fmt::format("  {}p{} = f32[{}] collective-permute(p{}), source_target_pairs={{{}}}\n",
                        i == steps ? "ROOT " : "", i, elements, i - 1, pairs);
  }
  return fmt::format(
      "HloModule bench, replica_count={}\n\nENTRY main {{\n  p0 = f32[{}] parameter(0)\n{}}}\n",
      replicas, elements, text);
}

std::string all_gather(int64_t replicas, int64_t elements) {
  return collective(replicas, elements, fmt::format("f32[{}]", replicas * elements), "all-gather",
                    "dimensions={0}");
}

std::string all_reduce(int64_t replicas, int64_t elements) {
  return collective(replicas, elements, fmt::format("f32[{}]", elements), "all-reduce",
                    "to_apply=sum");
}

std::string dot(std::string_view type, int64_t m, int64_t k, int64_t n) {
  return fmt::format(
      "HloModule bench\n\nENTRY main {{\n  a = {0}[{1},{2}] parameter(0)\n"
      "  b = {0}[{2},{3}] parameter(1)\n  ROOT c = {0}[{1},{3}] dot(a, b), "
      "lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n}}\n",
      type, m, k, n);
}

std::string convolution(int64_t batch, int64_t size, int64_t features) {
  return fmt::format(
      "HloModule bench\n\nENTRY main {{\n  a = f32[{0},{1},{1},{2}] parameter(0)\n"
      "  b = f32[3,3,{2},{2}] parameter(1)\n  ROOT c = f32[{0},{1},{1},{2}] convolution(a, b), "
      "window={{size=3x3 pad=1_1x1_1}}, dim_labels=b01f_01io->b01f\n}}\n",
      batch, size, features);
}

std::string transformer_block(int64_t batch, int64_t length, int64_t width, int64_t heads) {
  Writer w;
  const int64_t rows = batch * length, head = width / heads;
  const std::string x_shape = fmt::format("f32[{},{}]", rows, width);
  const std::string row_shape = fmt::format("f32[{}]", rows);
  const std::string weight = fmt::format("f32[{},{}]", width, width);
  auto norm = [&](const std::string& x) {
    std::string scale = w.constant(row_shape, 1.0 / static_cast<double>(width));
    std::string mean = w.add(
        row_shape, fmt::format("multiply({}, {})", w.reduce(row_shape, x, 0, "sum", 1), scale));
    std::string off =
        w.add(x_shape, fmt::format("subtract({}, {})", x, w.broadcast(x_shape, mean, "0")));
    std::string square = w.add(x_shape, fmt::format("multiply({0}, {0})", off));
    std::string variance =
        w.add(row_shape,
              fmt::format("multiply({}, {})", w.reduce(row_shape, square, 0, "sum", 1), scale));
    variance = w.add(row_shape, fmt::format("add({}, {})", variance, w.constant(row_shape, 1e-5)));
    std::string factor = w.add(row_shape, fmt::format("rsqrt({})", variance));
    return w.add(x_shape, fmt::format("multiply({}, {})", off, w.broadcast(x_shape, factor, "0")));
  };
  auto product = [&](const std::string& a, const std::string& b, const std::string& shape) {
    return w.add(shape, fmt::format("dot({}, {}), lhs_contracting_dims={{1}}, "
                                    "rhs_contracting_dims={{0}}",
                                    a, b));
  };
  std::string x = w.parameter(x_shape), normed = norm(x);
  const std::string split = fmt::format("f32[{},{},{},{}]", batch, length, heads, head);
  const std::string scores = fmt::format("f32[{},{},{},{}]", batch, heads, length, length);
  const std::string of_row = fmt::format("f32[{},{},{}]", batch, heads, length);
  std::string parts[3];
  for (std::string& part : parts) {
    part = w.add(split, fmt::format("reshape({})", product(normed, w.parameter(weight), x_shape)));
  }
  std::string s = w.add(scores, fmt::format("dot({}, {}), lhs_batch_dims={{0,2}}, "
                                            "rhs_batch_dims={{0,2}}, lhs_contracting_dims={{3}}, "
                                            "rhs_contracting_dims={{3}}",
                                            parts[0], parts[1]));
  s = w.add(scores, fmt::format("multiply({}, {})", s, w.constant(scores, 0.01)));
  std::string top = w.broadcast(scores, w.reduce(of_row, s, -1, "largest", 3), "0,1,2");
  s = w.add(scores, fmt::format("subtract({}, {})", s, top));
  s = w.add(scores, fmt::format("exponential({})", s));
  std::string total = w.broadcast(scores, w.reduce(of_row, s, 0, "sum", 3), "0,1,2");
  s = w.add(scores, fmt::format("divide({}, {})", s, total));
  std::string mixed =
      w.add(fmt::format("f32[{},{},{},{}]", batch, heads, length, head),
            fmt::format("dot({}, {}), lhs_batch_dims={{0,1}}, rhs_batch_dims={{0,2}}, "
                        "lhs_contracting_dims={{3}}, rhs_contracting_dims={{1}}",
                        s, parts[2]));
  mixed = w.add(split, fmt::format("transpose({}), dimensions={{0,2,1,3}}", mixed));
  mixed = w.add(x_shape, fmt::format("reshape({})", mixed));
  mixed = product(mixed, w.parameter(weight), x_shape);
  x = w.add(x_shape, fmt::format("add({}, {})", x, mixed));
  const std::string wide = fmt::format("f32[{},{}]", rows, 4 * width);
  std::string hidden =
      product(norm(x), w.parameter(fmt::format("f32[{},{}]", width, 4 * width)), wide);
  std::string bias = w.parameter(fmt::format("f32[{}]", 4 * width));
  hidden = w.add(wide, fmt::format("add({}, {})", hidden, w.broadcast(wide, bias, "1")));
  std::string bent = w.add(wide, fmt::format("tanh({})", hidden));
  bent = w.add(wide, fmt::format("add({}, {})", bent, w.constant(wide, 1)));
  hidden = w.add(wide, fmt::format("multiply({}, {})", hidden, bent));
  std::string out =
      product(hidden, w.parameter(fmt::format("f32[{},{}]", 4 * width, width)), x_shape);
  w.add(x_shape, fmt::format("add({}, {})", x, out));
  return w.module(kReducers);
}

}  // namespace minihlo::bench
