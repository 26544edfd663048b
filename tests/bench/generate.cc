#include "tests/bench/generate.h"

#include <iterator>
#include <random>

#include <fmt/format.h>

namespace minihlo::bench {
namespace {

template <class... Args>
void put(std::string& out, fmt::format_string<Args...> text, Args&&... args) {
  fmt::format_to(std::back_inserter(out), text, std::forward<Args>(args)...);
}

void put_tables(std::string& out, int frames) {
  out += "\nFileNames\n";
  for (int i = 1; i <= 40; ++i) put(out, "{} \"/home/user/project/models/block_{}.py\"\n", i, i);
  out += "\nFunctionNames\n";
  for (int i = 1; i <= 200; ++i) put(out, "{} \"Block.forward_{}.<locals>.step\"\n", i, i);
  out += "\nFileLocations\n";
  for (int i = 1; i <= frames; ++i) {
    put(out,
        "{} {{file_name_id={} function_name_id={} line={} end_line={} column={} end_column={}}}\n",
        i, i % 40 + 1, i % 200 + 1, 10 + i % 900, 10 + i % 900, i % 30, 40 + i % 30);
  }
  out += "\nStackFrames\n";
  for (int i = 1; i <= frames; ++i) {
    put(out, "{} {{file_location_id={} parent_frame_id={}}}\n", i, i, i / 2);
  }
  out += '\n';
}

// A layer: a loop over blocks with a matrix product, a reduction, a permute and an update in place.
void put_layer(std::string& out, int n, int frames) {
  int id = n * 100;
  auto metadata = [&](std::string_view what) {
    put(out,
        ", metadata={{op_name=\"jit(train_step)/layer_{}/while/body/{}\" stack_frame_id={}}}\n", n,
        what, 1 + ++id % frames);
  };
  put(out, "%add.{0} (x.{0}: f32[], y.{0}: f32[]) -> f32[] {{\n", n);
  put(out, "  %x.{0} = f32[] parameter(0)\n  %y.{0} = f32[] parameter(1)\n", n);
  put(out, "  ROOT %sum.{0} = f32[] add(%x.{0}, %y.{0})", n);
  metadata("reduce_sum");
  constexpr std::string_view kState =
      "(s32[], f32[8,256]{1,0}, bf16[16,256,512]{2,1,0}, f32[16,8,512]{2,1,0})";
  put(out, "}}\n\n%body.{0} (s.{0}: {1}) -> {1} {{\n", n, kState);
  put(out, "  %s.{} = {} parameter(0)\n", n, kState);
  put(out, "  %i.{0} = s32[] get-tuple-element(%s.{0}), index=0", n);
  metadata("get");
  put(out, "  %h.{0} = f32[8,256]{{1,0}} get-tuple-element(%s.{0}), index=1\n", n);
  put(out, "  %w.{0} = bf16[16,256,512]{{2,1,0}} get-tuple-element(%s.{0}), index=2\n", n);
  put(out, "  %acc.{0} = f32[16,8,512]{{2,1,0}} get-tuple-element(%s.{0}), index=3\n", n);
  put(out, "  %one.{0} = s32[] constant(1)\n  %zero.{0} = s32[] constant(0)\n", n);
  put(out, "  %next.{0} = s32[] add(%i.{0}, %one.{0})", n);
  metadata("add");
  put(out,
      "  %slice.{0} = bf16[1,256,512]{{2,1,0}} dynamic-slice(%w.{0}, %i.{0}, %zero.{0}, "
      "%zero.{0}), dynamic_slice_sizes={{1,256,512}}",
      n);
  metadata("dynamic_slice");
  put(out, "  %flat.{0} = bf16[256,512]{{1,0}} reshape(%slice.{0})", n);
  metadata("squeeze");
  put(out, "  %weights.{0} = f32[256,512]{{1,0}} convert(%flat.{0})", n);
  metadata("convert_element_type");
  put(out,
      "  %dot.{0} = f32[8,512]{{1,0}} dot(%h.{0}, %weights.{0}), lhs_contracting_dims={{1}}, "
      "rhs_contracting_dims={{0}}",
      n);
  metadata("dot_general");
  put(out,
      "  %permute.{0} = f32[8,512]{{1,0}} collective-permute(%dot.{0}), channel_id={1}, "
      "source_target_pairs={{{{0,1}},{{1,2}},{{2,3}},{{3,0}}}}",
      n, n + 1);
  metadata("ppermute");
  put(out,
      "  %total.{0} = f32[8,512]{{1,0}} all-reduce(%permute.{0}), channel_id={1}, "
      "replica_groups=[2,2]<=[4], use_global_device_ids=true, to_apply=%add.{0}",
      n, n + 1);
  metadata("psum");
  put(out, "  %floor.{0} = f32[] constant(-inf)\n", n);
  put(out, "  %wide.{0} = f32[8,512]{{1,0}} broadcast(%floor.{0}), dimensions={{}}", n);
  metadata("broadcast_in_dim");
  put(out, "  %relu.{0} = f32[8,512]{{1,0}} maximum(%total.{0}, %wide.{0})", n);
  metadata("max");
  put(out, "  %row.{0} = f32[1,8,512]{{2,1,0}} reshape(%relu.{0})", n);
  metadata("reshape");
  put(out,
      "  %update.{0} = f32[16,8,512]{{2,1,0}} dynamic-update-slice(%acc.{0}, %row.{0}, %i.{0}, "
      "%zero.{0}, %zero.{0})",
      n);
  metadata("dynamic_update_slice");
  put(out, "  %left.{0} = f32[8,256]{{1,0}} slice(%relu.{0}), slice={{[0:8], [0:256]}}", n);
  metadata("slice");
  put(out, "  %gate.{0} = f32[8,256]{{1,0}} multiply(%left.{0}, %h.{0})", n);
  metadata("mul");
  put(out, "  ROOT %out.{0} = {1} tuple(%next.{0}, %gate.{0}, %w.{0}, %update.{0})\n}}\n\n", n,
      kState);
  put(out, "%condition.{0} (t.{0}: {1}) -> pred[] {{\n  %t.{0} = {1} parameter(0)\n", n, kState);
  put(out, "  %j.{0} = s32[] get-tuple-element(%t.{0}), index=0\n", n);
  put(out, "  %limit.{0} = s32[] constant(16)\n", n);
  put(out, "  ROOT %less.{0} = pred[] compare(%j.{0}, %limit.{0}), direction=LT", n);
  metadata("lt");
  out += "}\n\n";
}

std::string layers(size_t bytes) {
  constexpr std::string_view kState =
      "(s32[], f32[8,256]{1,0}, bf16[16,256,512]{2,1,0}, f32[16,8,512]{2,1,0})";
  std::string out;
  out.reserve(bytes + bytes / 8);
  put(out,
      "HloModule jit_train_step, is_scheduled=true, entry_computation_layout={{({0})->{0}}}, "
      "num_partitions=4\n",
      kState);
  const int frames = static_cast<int>(bytes / 4000) + 1;
  put_tables(out, frames);
  int count = 0;
  while (out.size() < bytes) put_layer(out, count++, frames);
  put(out, "ENTRY %main ({1}: {0}) -> {0} {{\n  %{1} = {0} parameter(0)\n", kState, "loop.in");
  std::string previous = "loop.in";
  for (int i = 0; i < count; ++i) {
    std::string name = fmt::format("loop.{}", i);
    put(out, "  {4}%{0} = {1} while(%{2}), condition=%condition.{3}, body=%body.{3}\n", name,
        kState, previous, i, i + 1 == count ? "ROOT " : "");
    previous = name;
  }
  out += "}\n";
  return out;
}

template <class Value>
std::string constant(size_t bytes, std::string_view type, size_t element_bytes, Value value) {
  const size_t rows = bytes / (element_bytes * 1000) + 1;
  std::string out;
  out.reserve(bytes + bytes / 4);
  put(out, "HloModule constant\n\nENTRY %main () -> {0}[{1},1000] {{\n", type, rows);
  put(out, "  ROOT %constant.1 = {0}[{1},1000]{{1,0}} constant({{", type, rows);
  for (size_t row = 0; row < rows; ++row) {
    out += row ? ", {" : " {";
    for (int i = 0; i < 1000; ++i) {
      out += i ? ", " : " ";
      value(out);
    }
    out += " }";
  }
  out += " })\n}\n";
  return out;
}

std::string constant_f32(size_t bytes) {
  std::mt19937 random(1);
  return constant(bytes, "f32", 13, [&](std::string& out) {
    put(out, "{:.8g}", static_cast<double>(static_cast<float>(random()) / 4e9F) - 0.5);
  });
}

std::string constant_s32(size_t bytes) {
  std::mt19937 random(1);
  return constant(bytes, "s32", 11, [&](std::string& out) {
    put(out, "{}", static_cast<int32_t>(random()) >> (random() % 24));
  });
}

// Loops that carry thousands of arrays, so that most of the text is shapes of tuples.
std::string wide_tuples(size_t bytes) {
  std::string shape = "(";
  for (int i = 0; i < 2000; ++i) {
    if (i > 0) shape += ", ";
    if (i > 0 && i % 5 == 0) put(shape, "/*index={}*/", i);
    put(shape, "f32[{},{}]{{1,0}}", 1 + i % 60, 128);
  }
  shape += ')';
  std::string out = "HloModule tuples\n\n";
  out.reserve(bytes + bytes / 8);
  std::string tail =
      "ENTRY %main (p: " + shape + ") -> " + shape + " {\n  %p = " + shape + " parameter(0)\n";
  std::string previous = "p";
  for (int n = 0; out.size() + tail.size() < bytes; ++n) {
    put(out, "%body.{0} (b.{0}: {1}) -> {1} {{\n  %b.{0} = {1} parameter(0)\n", n, shape);
    std::string list;
    for (int i = 0; i < 2000; ++i) {
      put(out, "  %e.{0}.{1} = f32[{2},128]{{1,0}} get-tuple-element(%b.{0}), index={1}\n", n, i,
          1 + i % 60);
      put(list, "{}%e.{}.{}", i ? ", " : "", n, i);
    }
    put(out, "  ROOT %all.{0} = {1} tuple({2})\n}}\n\n", n, shape, list);
    put(out, "%condition.{0} (c.{0}: {1}) -> pred[] {{\n  %c.{0} = {1} parameter(0)\n", n, shape);
    put(out, "  ROOT %no.{} = pred[] constant(false)\n}}\n\n", n);
    put(tail, "  %w.{0} = {1} while(%{2}), condition=%condition.{0}, body=%body.{0}\n", n, shape,
        previous);
    previous = fmt::format("w.{}", n);
  }
  return out + tail + "}\n";
}

std::string small_computations(size_t bytes) {
  std::string out = "HloModule fusions\n\n";
  out.reserve(bytes + bytes / 8);
  std::string tail = "ENTRY %main (p: f32[64]) -> f32[64] {\n  %p = f32[64]{0} parameter(0)\n";
  std::string previous = "p";
  for (int n = 0; out.size() + tail.size() < bytes; ++n) {
    put(out, "%fused.{0} (q.{0}: f32[64]) -> f32[64] {{\n  %q.{0} = f32[64]{{0}} parameter(0)\n",
        n);
    put(out, "  ROOT %double.{0} = f32[64]{{0}} add(%q.{0}, %q.{0})\n}}\n\n", n);
    put(tail, "  %fusion.{0} = f32[64]{{0}} fusion(%{1}), kind=kLoop, calls=%fused.{0}\n", n,
        previous);
    previous = fmt::format("fusion.{}", n);
  }
  return out + tail + "}\n";
}

}  // namespace

const std::vector<Generated>& generated_modules() {
  static const auto* const modules = new std::vector<Generated>{
      {"layers", layers},
      {"constant f32", constant_f32},
      {"constant s32", constant_s32},
      {"wide tuples", wide_tuples},
      {"small computations", small_computations},
  };
  return *modules;
}

}  // namespace minihlo::bench
