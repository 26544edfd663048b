#include <doctest/doctest.h>

#include "tests/ir/inference/rows.h"

namespace minihlo {
namespace {

constexpr InferenceRow kRows[] = {
    {"f32[2]", "(f32[2], f32[2], u32[])", "copy-start(p0)", "(f32[2]{0}, f32[2]{0}, u32[])"},
    {"(f32[2], f32[2], u32[])", "f32[2]", "copy-done(p0)", "f32[2]{0}"},
    {"f32[2] token[]", "(f32[2], u32[], token[])", "send(p0, p1), channel_id=1",
     "(f32[2]{0}, u32[], token[])"},
    {"f32[2] f32[2]", "(f32[2], u32[], token[])", "send(p0, p1), channel_id=1",
     "error: operand 1 (%p1, f32[2]) is no token"},
    {"(f32[2], u32[], token[])", "token[]", "send-done(p0), channel_id=1", "token[]"},
    {"token[]", "(f32[2], u32[], token[])", "recv(p0), channel_id=1",
     "(f32[2]{0}, u32[], token[])"},
    {"token[]", "(f32[2], token[])", "recv(p0), channel_id=1", "(f32[2]{0}, u32[], token[])"},
    {"token[]", "()", "recv(p0), channel_id=1",
     "error: the result of recv is (data, u32[], token[]), not ()"},
    {"(f32[2], u32[], token[])", "(f32[2], token[])", "recv-done(p0), channel_id=1",
     "(f32[2]{0}, token[])"},
    {"(f32[2], token[])", "(f32[2], token[])", "recv-done(p0), channel_id=1",
     "error: operand 0 (%p0, (f32[2], token[])) is no tuple of at least 3 elements"},
    {"token[]", "((f32[2], s32[]), token[])", "infeed(p0)", "((f32[2]{0}, s32[]), token[])"},
    {"f32[2]", "(f32[2], token[])", "infeed(p0)", "error: operand 0 (%p0, f32[2]) is no token"},
    {"f32[2] token[]", "token[]", "outfeed(p0, p1), outfeed_shape=f32[2]", "token[]"},
    {"f32[2] token[]", "token[]", "outfeed(p0, p1), outfeed_shape=f32[3]",
     "error: outfeed_shape=f32[3] is not the shape of operand 0 (%p0, f32[2])"},
    {"f32[] f32[]", "((f32[], f32[]), f32[], s32[])", "async-start(p0, p1), calls=add_f32",
     "((f32[], f32[]), f32[], s32[])"},
    {"f32[] s32[]", "((f32[], f32[]), f32[], s32[])", "async-start(p0, p1), calls=add_f32",
     "error: calls=%add_f32 takes f32[] as parameter 1, but async-start gives it operand 1 (%p1, "
     "s32[])"},
    {"f32[] f32[]", "((f32[]), (), s32[])", "async-start(p0), calls=add_f32",
     "((f32[]), (), s32[])"},
    {"f32[2]", "s32[7]", "custom-call(p0), custom_call_target=\"x\"", "s32[7]{0}"},
};

TEST_CASE("shapes of asynchronous work and effects") { check_rows(kRows); }

}  // namespace
}  // namespace minihlo
