#include <doctest/doctest.h>

#include "tests/ir/verify/findings.h"

namespace minihlo {
namespace {

TEST_CASE("verifier, async: pairs that are right") {
  CHECK(findings_of_body(R"(
    a = f32[4] all-reduce-start(p), replica_groups={}, to_apply=add
    b = f32[4] all-reduce-done(a)
    c = (f32[4], f32[4], u32[]) copy-start(p)
    d = f32[4] copy-done(c)
    e = ((f32[4]), f32[4], s32[]) async-start(p), calls=double
    f = ((f32[4]), f32[4], s32[]) async-update(e)
    g = f32[4] async-done(f)
)") == Findings{});
}

TEST_CASE("verifier, async: a start that nothing ends") {
  CHECK(findings_of_body(R"(
    a = (f32[4], f32[4]) collective-permute-start(p), source_target_pairs={}
)") == Findings{"error async-pair: %a has no collective-permute-done [a]"});
}

TEST_CASE("verifier, async: a start that two end") {
  CHECK(findings_of_body(R"(
    a = (f32[4], f32[4]) collective-permute-start(p), source_target_pairs={}
    b = f32[4] collective-permute-done(a)
    c = f32[4] collective-permute-done(a)
)") == Findings{"error async-pair: %a has 2 users that end it, and must have one [a]"});
}

TEST_CASE("verifier, async: the wrong end") {
  CHECK(findings_of_body(R"(
    a = (f32[4], f32[4]) collective-permute-start(p), source_target_pairs={}
    b = f32[4] all-gather-done(a)
)") == Findings{
           "error async-pair: all-gather-done ends %a, which is collective-permute-start [b]"});
}

TEST_CASE("verifier, async: an end without a start") {
  CHECK(findings_of_body(R"(
    a = f32[4] all-reduce-done(p)
)") == Findings{"error async-pair: all-reduce-done ends %p, which is parameter [a]"});
}

TEST_CASE("verifier, async: a use before the end") {
  CHECK(findings_of_body(R"(
    a = f32[4] all-reduce-start(p), replica_groups={}, to_apply=add
    b = f32[4] negate(a)
    c = f32[4] all-reduce-done(a)
)") == Findings{"error async-pair: negate uses %a, which all-reduce-done must end first [b]"});
}

TEST_CASE("verifier, async: channels of send and recv") {
  CHECK(findings_of_body(R"(
    t = token[] after-all()
    a = (f32[4], u32[], token[]) send(p, t), channel_id=1
    b = token[] send-done(a), channel_id=2
    c = (f32[4], u32[], token[]) recv(t), channel_id=3, is_host_transfer=true
    d = (f32[4], token[]) recv-done(c), channel_id=3
)") == Findings{"error channel-id: %a and %b must have the same channel_id [b]",
                "error host-transfer: %c and %d must have the same is_host_transfer [d]"});
}

TEST_CASE("verifier, async: a start may be carried in a tuple") {
  CHECK(findings_of_body(R"(
    a = (f32[4], f32[4]) collective-permute-start(p), source_target_pairs={}
    b = ((f32[4], f32[4])) tuple(a)
    c = (f32[4], f32[4]) get-tuple-element(b), index=0
    d = f32[4] collective-permute-done(c)
)") == Findings{});
}

TEST_CASE("verifier, async: what is under way where a computation ends") {
  const std::string kWork = "HloModule m\nw { a = f32[4] parameter(0) n = f32[4] negate(a) }\n";
  const std::string kStart = "s = ((f32[4]), f32[4]) async-start(p), calls=w\n";
  // From the entry it goes nowhere.
  CHECK(findings_of(kWork + "ENTRY e { p = f32[4] parameter(0)\n ROOT " + kStart + "}") ==
        Findings{"error async-pair: %s has no async-done [s]"});
  CHECK(findings_of(kWork + "ENTRY e { p = f32[4] parameter(0)\n" + kStart +
                    "ROOT t = (((f32[4]), f32[4])) tuple(s)\n}") ==
        Findings{"error async-pair: %s has no async-done [s]"});
  CHECK(findings_of("HloModule m\nENTRY e { p = f32[4] parameter(0)\n"
                    "ROOT s = (f32[4], f32[4], u32[]) copy-start(p)\n}") ==
        Findings{"error async-pair: %s has no copy-done [s]"});
  CHECK(findings_of("HloModule m\nENTRY e { p = f32[4] parameter(0)\nt = token[] after-all()\n"
                    "ROOT s = (f32[4], u32[], token[]) send(p, t)\n}") ==
        Findings{"error async-pair: %s has no send-done [s]"});
  // A loop carries it to the next turn.
  CHECK(findings_of(kWork +
                    "b { q = ((f32[4]), f32[4]) parameter(0)\np = f32[4] async-done(q), calls=w\n"
                    "ROOT " +
                    kStart +
                    "}\n"
                    "c { q.1 = ((f32[4]), f32[4]) parameter(0)\nr = pred[] constant(false) }\n"
                    "ENTRY e { p = f32[4] parameter(0)\n" +
                    kStart +
                    "l = ((f32[4]), f32[4]) while(s), condition=c, body=b\n"
                    "ROOT d = f32[4] async-done(l), calls=w\n}") == Findings{});
  // A send that is wrapped has its done outside.
  CHECK(findings_of("HloModule m\n"
                    "w { a = f32[4] parameter(0) t = token[] parameter(1)\n"
                    "ROOT s = (f32[4], u32[], token[]) send(a, t), channel_id=1 }\n"
                    "ENTRY e { p = f32[4] parameter(0)\nt = token[] after-all()\n"
                    "s = ((f32[4], token[]), (f32[4], u32[], token[])) async-start(p, t), calls=w\n"
                    "ROOT d = (f32[4], u32[], token[]) async-done(s)\n}") == Findings{});
}

TEST_CASE("verifier, async: more than one instruction in what is wrapped") {
  CHECK(findings_of_body(R"(
    a = ((f32[4]), f32[4], s32[]) async-start(p), calls=double_twice
    b = f32[4] async-done(a)
    c = ((f32[4]), f32[4], s32[]) async-start(p), async_execution_thread="other", calls=double_elsewhere
    d = f32[4] async-done(c)
)") == Findings{"error async-computation: %a wraps %double_twice, which holds %twice_y besides its "
                "root and parameters [a]"});
}

TEST_CASE("verifier, async: a fusion with an instruction that is not used") {
  CHECK(findings_of_body(R"(
    a = f32[4] fusion(p), kind=kLoop, calls=idle
)") == Findings{"error fusion: %idle_y is not used in %idle, which %a calls [idle_y]"});
}

TEST_CASE("verifier, async: a result that is bound late, by an update or the done") {
  auto chain = [](const std::string& update, const std::string& done) {
    return findings_of(
        "HloModule m\nw { a = f32[4] parameter(0) n = f32[4] negate(a) }\n"
        "ENTRY e { p = f32[4] parameter(0)\n"
        "s = ((f32[4]), (), s32[]) async-start(p), calls=w\n" +
        update + "\n" + done + "}");
  };
  const std::string kUpdate = "u = ((f32[4]), f32[4], s32[]) async-update(s)";
  CHECK(chain(kUpdate, "d = f32[4] async-done(u)") == Findings{});
  CHECK(chain("", "d = f32[4] async-done(s)") == Findings{});
  // What else a state holds may change, and aliases may be of what is not given yet.
  CHECK(findings_of(
            "HloModule m\nw { a = f32[4] parameter(0) n = f32[4] negate(a) }\n"
            "ENTRY e { p = f32[4] parameter(0)\ns = ((), (), s32[]) async-start(), calls=w, "
            "output_to_operand_aliasing={{1}: (0, {})}\n"
            "u = ((f32[4]), f32[4]) async-update(s, p)\nd = f32[4] async-done(u)}") == Findings{});
  // An update may be given a place for the result.
  CHECK(chain("u = ((f32[4]), f32[4], s32[]) async-update(s, p)", "d = f32[4] async-done(u)") ==
        Findings{});
  CHECK(chain("", "d = f32[5] async-done(s)") ==
        Findings{"error async-pair: %w gives f32[4], but until %d its result is f32[5] [d]"});
  CHECK(chain("u = ((f32[4]), f32[5], s32[]) async-update(s)", "d = f32[5] async-done(u)") ==
        Findings{"error async-pair: %w gives f32[4], but until %d its result is f32[5] [d]"});
}

TEST_CASE("verifier, async: called by asynchronous and other instructions") {
  CHECK(findings_of_body(R"(
    a = ((f32[4]), f32[4], s32[]) async-start(p), calls=double
    b = f32[4] async-done(a)
    c = f32[4] call(p), to_apply=double
)") == Findings{"warning async-computation: %c calls %double, which is called by asynchronous and "
                "other instructions [c]"});
}

TEST_CASE("verifier, async: aliases of operands") {
  CHECK(findings_of_body(R"(
    a = f32[4] custom-call(p), custom_call_target="a", output_to_operand_aliasing={{}: (0, {})}
    b = f32[4] custom-call(p), custom_call_target="b", output_to_operand_aliasing={{1}: (0, {})}
    c = f32[4] custom-call(p), custom_call_target="c", output_to_operand_aliasing={{}: (1, {})}
    d = f32[4] custom-call(p), custom_call_target="d", output_to_operand_aliasing={{}: (0, {2})}
)") == Findings{
           "error operand-alias: output_to_operand_aliasing names {1} of the result, which is "
           "f32[4] [b]",
           "error operand-alias: output_to_operand_aliasing names operand 1, but there are 1 [c]",
           "error operand-alias: output_to_operand_aliasing names {2} of operand 0, %p, which is "
           "f32[4] [d]"});
}

}  // namespace
}  // namespace minihlo
