#include <doctest/doctest.h>

#include "tests/ir/inference/rows.h"

namespace minihlo {
namespace {

constexpr InferenceRow kRows[] = {
    {"f32[2] s32[]", "", "tuple(p0, p1)", "(f32[2]{0}, s32[])"},
    {"", "", "tuple()", "()"},
    {"(f32[2], s32[])", "", "get-tuple-element(p0), index=1", "s32[]"},
    {"(f32[2], s32[])", "", "get-tuple-element(p0), index=2",
     "error: index=2 is none of the 2 elements of operand 0 (%p0, (f32[2], s32[]))"},
    {"(f32[2], s32[])", "", "get-tuple-element(p0), index=-1",
     "error: index=-1 is none of the 2 elements of operand 0 (%p0, (f32[2], s32[]))"},
    {"f32[2]", "", "get-tuple-element(p0), index=0", "error: operand 0 (%p0, f32[2]) is no tuple"},
    {"token[] token[]", "", "after-all(p0, p1)", "token[]"},
    {"f32[2]{0} token[]", "", "add-dependency(p0, p1)", "f32[2]{0}"},
    {"(f32[2], token[])", "", "opt-barrier(p0)", "(f32[2]{0}, token[])"},
    {"", "", "replica-id()", "u32[]"},
    {"", "", "partition-id()", "u32[]"},
    {"f32[] f32[]", "", "call(p0, p1), to_apply=add_f32", "f32[]"},
    {"f32[]", "", "call(p0), to_apply=add_f32",
     "error: to_apply=%add_f32 takes 2 parameters, but call gives it 1"},
    {"f32[] s32[]", "", "call(p0, p1), to_apply=add_f32",
     "error: to_apply=%add_f32 takes f32[] as parameter 1, but call gives it operand 1 (%p1, "
     "s32[])"},
    {"f32[] f32[]", "f32[]", "fusion(p0, p1), kind=kLoop, calls=add_f32", "f32[]"},
    {"f32[] f32[2]", "f32[]", "fusion(p0, p1), kind=kLoop, calls=add_f32",
     "error: calls=%add_f32 takes f32[] as parameter 1, but fusion gives it operand 1 (%p1, "
     "f32[2])"},
    {"f32[]", "", "while(p0), condition=positive, body=negate_f32", "f32[]"},
    {"f32[2]", "", "while(p0), condition=positive, body=negate_f32",
     "error: condition=%positive takes f32[] as parameter 0, but while gives it operand 0 (%p0, "
     "f32[2])"},
    {"f32[]", "", "while(p0), condition=negate_f32, body=negate_f32",
     "error: condition=%negate_f32 returns f32[], but a condition returns pred[]"},
    {"f32[]", "", "while(p0), condition=positive, body=positive",
     "error: body=%positive returns pred[], but must return the shape that it takes, that of "
     "operand 0 (%p0, f32[])"},
    {"pred[] f32[] f32[]", "",
     "conditional(p0, p1, p2), true_computation=negate_f32, false_computation=negate_f32", "f32[]"},
    {"s32[] f32[] f32[]", "",
     "conditional(p0, p1, p2), branch_computations={negate_f32, negate_f32}", "f32[]"},
    {"s32[] f32[]", "", "conditional(p0, p1), branch_computations={negate_f32}", "f32[]"},
    {"s32[] f32[] f32[]", "", "conditional(p0, p1, p2), branch_computations={negate_f32, positive}",
     "error: branch_computations[1]=%positive returns pred[], but the first branch returns f32[]"},
    {"s32[] f32[] s32[]", "",
     "conditional(p0, p1, p2), branch_computations={negate_f32, negate_f32}",
     "error: branch_computations[1]=%negate_f32 must take one parameter, operand 2 (%p2, s32[])"},
    {"s32[] f32[]", "", "conditional(p0, p1), branch_computations={negate_f32, negate_f32}",
     "error: conditional takes the test and an operand for each of 2 branches, not 2 operands"},
    {"s64[] f32[] f32[]", "",
     "conditional(p0, p1, p2), branch_computations={negate_f32, negate_f32}",
     "error: operand 0 (%p0, s64[]) chooses the branch, so it must be pred[] or s32[]"},
};

TEST_CASE("shapes of structure and control") { check_rows(kRows); }

}  // namespace
}  // namespace minihlo
