#include "passes/pipeline.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "ir/text/printer.h"
#include "ir/text/text_size.h"
#include "ir/verifier.h"

namespace minihlo {
namespace {

// Rounds of a repeat at most, and repeats in one another.
constexpr int64_t kMaxRounds = 1000;
constexpr int kMaxDepth = 8;

constexpr OptionInfo kRepeatOptions[] = {
    {.name = "limit", .default_value = "16", .words = "", .minimum = 1, .help = "rounds at most"},
};
constexpr PassInfo kRepeat = {
    .name = "repeat",
    .summary = "run passes again and again until nothing changes",
    .options = kRepeatOptions,
    .make = nullptr,
};

class PipelineParser {
 public:
  PipelineParser(const Source& source, Diagnostics& diagnostics)
      : text_(source.text()), diagnostics_(diagnostics) {}

  std::optional<Pipeline> run() {
    Pipeline pipeline;
    if (!parse_calls(pipeline)) return std::nullopt;
    if (position_ < text_.size()) {
      return fail("pipeline-syntax", here(1), "expected ',' or the end behind a pass");
    }
    return pipeline;
  }

 private:
  std::nullopt_t fail(std::string rule, Location place, std::string message) {
    diagnostics_.error(std::move(rule), place, std::move(message));
    return std::nullopt;
  }

  bool parse_calls(Pipeline& pipeline) {
    do {
      if (!parse_call(pipeline)) return false;
      skip_blanks();
    } while (eat(','));
    return true;
  }

  bool parse_call(Pipeline& pipeline) {
    std::string_view name = word(",{}()= \t\r\n");
    Location place = location(name);
    if (name.empty()) {
      fail("pipeline-syntax", here(1), "expected the name of a pass");
      return false;
    }
    const PassInfo* info = name == kRepeat.name ? &kRepeat : find_pass(name);
    if (!info) {
      std::vector<std::string_view> names = {kRepeat.name};
      for (const PassInfo* pass : passes()) names.push_back(pass->name);
      fail("unknown-pass", place,
           fmt::format("unknown pass '{}'{}", name, suggestion(name, names)));
      return false;
    }
    pipeline.push_back({info, PassOptions(info->options), place});
    return parse_options(pipeline.back()) && (info != &kRepeat || parse_inner(pipeline.back()));
  }

  bool parse_options(PassCall& call) {
    skip_blanks();
    if (!eat('{')) return true;
    for (;;) {
      skip_blanks();
      if (eat('}')) return true;
      if (!parse_option(call)) return false;
    }
  }

  // The passes of a repeat, in parentheses.
  bool parse_inner(PassCall& call) {
    if (*call.options.number("limit") > kMaxRounds) {
      fail("bad-option-value", call.location,
           fmt::format("repeat has at most {} rounds", kMaxRounds));
      return false;
    }
    if (++depth_ > kMaxDepth) {
      fail("pipeline-syntax", call.location,
           fmt::format("at most {} repeats may stand in one another", kMaxDepth));
      return false;
    }
    skip_blanks();
    if (!eat('(')) {
      fail("pipeline-syntax", here(1), "expected '(' and the passes that repeat runs");
      return false;
    }
    if (!parse_calls(call.inner)) return false;
    if (!eat(')')) {
      fail("pipeline-syntax", here(1), "expected ',' or ')' behind a pass of repeat");
      return false;
    }
    --depth_;
    return true;
  }

  bool parse_option(PassCall& call) {
    std::string_view name = word(",{}= \t\r\n");
    if (name.empty()) {
      fail("pipeline-syntax", here(1), "expected an option name=value, or '}'; a space separates options");
      return false;
    }
    Location place = location(name);
    const OptionInfo* option = nullptr;
    std::vector<std::string_view> names;
    for (const OptionInfo& one : call.info->options) {
      if (one.name == name) option = &one;
      names.push_back(one.name);
    }
    if (!option) {
      fail("unknown-option", place,
           names.empty() ? fmt::format("pass '{}' has no options", call.info->name)
                         : fmt::format("pass '{}' has no option '{}'{}", call.info->name, name,
                                       suggestion(name, names)));
      return false;
    }
    if (call.options.given(name)) {
      fail("repeated-option", place, fmt::format("option '{}' is given twice", name));
      return false;
    }
    skip_blanks();
    if (!eat('=')) {
      fail("pipeline-syntax", here(1), fmt::format("expected '=' behind option '{}'", name));
      return false;
    }
    skip_blanks();
    std::string_view value = word(",{} \t\r\n");
    std::string wrong = check(*option, value);
    if (!wrong.empty()) {
      fail("bad-option-value", value.empty() ? here(1) : location(value), wrong);
      return false;
    }
    call.options.set(name, std::string(value));
    return true;
  }

  // What is wrong with an option's value, or nothing.
  static std::string check(const OptionInfo& option, std::string_view value) {
    if (value.empty()) return fmt::format("option '{}' needs a value", option.name);
    std::vector<std::string_view> words = split(option.words);
    if (words.empty() && !option.minimum) return "";
    if (std::find(words.begin(), words.end(), value) != words.end()) return "";
    if (option.minimum) {
      int64_t number = 0;
      auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
      bool whole = error == std::errc() && end == value.data() + value.size();
      if (whole && number >= *option.minimum) return "";
    }
    std::string wanted = fmt::to_string(fmt::join(words, ", "));
    if (option.minimum) {
      wanted +=
          fmt::format("{}an integer from {} on", words.empty() ? "" : " or ", *option.minimum);
    }
    return fmt::format("option '{}' takes {}{}, not '{}'{}", option.name,
                       words.size() > 1 ? "one of " : "", wanted, value, suggestion(value, words));
  }

  static std::vector<std::string_view> split(std::string_view words) {
    std::vector<std::string_view> result;
    while (!words.empty()) {
      size_t blank = words.find(' ');
      result.push_back(words.substr(0, blank));
      words.remove_prefix(blank == words.npos ? words.size() : blank + 1);
    }
    return result;
  }

  void skip_blanks() {
    size_t next = text_.find_first_not_of(" \t\r\n", position_);
    position_ = next == text_.npos ? text_.size() : next;
  }
  bool eat(char c) {
    if (position_ >= text_.size() || text_[position_] != c) return false;
    ++position_;
    return true;
  }
  // What reaches to the first of `ends`, behind blanks.
  std::string_view word(std::string_view ends) {
    skip_blanks();
    size_t end = std::min(text_.find_first_of(ends, position_), text_.size());
    std::string_view result = text_.substr(position_, end - position_);
    position_ = end;
    return result;
  }
  Location here(uint32_t length) const { return {static_cast<uint32_t>(position_), length}; }
  Location location(std::string_view part) const {
    return {static_cast<uint32_t>(part.data() - text_.data()), static_cast<uint32_t>(part.size())};
  }

  std::string_view text_;
  Diagnostics& diagnostics_;
  size_t position_ = 0;
  int depth_ = 0;  // of repeats
};

class PipelineRun {
 public:
  PipelineRun(Module& module, PassContext& context, bool verify_each,
              const PipelineObserver& observer)
      : module_(module),
        context_(context),
        verify_each_(verify_each),
        observer_(observer),
        is_known_valid_(verify_each) {}

  tl::expected<void, std::string> run(const Pipeline& pipeline) {
    if (verify_each_) {
      std::string errors = verification_errors(module_, context_);
      if (!errors.empty()) {
        return tl::make_unexpected("the module is not valid before the first pass:" + errors);
      }
    }
    if (auto done = run_all(pipeline); !done) return done;
    observe(nullptr);
    return {};
  }

 private:
  tl::expected<void, std::string> run_all(const Pipeline& calls) {
    for (const PassCall& call : calls) {
      auto done = call.inner.empty() ? run_one(call) : repeat(call);
      if (!done) return done;
    }
    return {};
  }

  tl::expected<void, std::string> repeat(const PassCall& call) {
    std::string text;
    for (int64_t left = *call.options.number("limit"); left > 0; --left) {
      if (shape_characters(module_) > kMostShapeCharacters) {
        return tl::make_unexpected(
            "repeat: rounds are compared as text, in which the shapes of the module's instructions "
            "take more than 1 GiB");
      }
      std::string now = print_text(module_);
      if (now == text) break;
      text = std::move(now);
      if (auto done = run_all(call.inner); !done) return done;
    }
    return {};
  }

  tl::expected<void, std::string> run_one(const PassCall& call) {
    observe(&call);
    if (!is_known_valid_ && !call.info->takes_invalid) {
      std::string errors = verification_errors(module_, context_);
      if (!errors.empty()) {
        return tl::make_unexpected(fmt::format(
            "{}: the module is not valid, which this pass needs:{}", call.info->name, errors));
      }
      is_known_valid_ = true;
    }
    if (auto done = run_pass(module_, call, context_); !done) return done;
    std::string errors = verify_each_ ? verification_errors(module_, context_) : "";
    if (!errors.empty()) {
      return tl::make_unexpected(fmt::format(
          "internal error: pass {} left a module that is not valid:{}", call.to_string(), errors));
    }
    last_ = &call;
    return {};
  }

  // What comes next is known only when it comes, as a repeat may end.
  void observe(const PassCall* next) {
    if (observer_) observer_(module_, last_, next);
  }

  Module& module_;
  PassContext& context_;
  const bool verify_each_;
  const PipelineObserver& observer_;
  bool is_known_valid_;
  const PassCall* last_ = nullptr;
};

}  // namespace

std::string PassCall::to_string() const {
  std::string text = std::string(info->name) + options.to_string();
  for (size_t i = 0; i < inner.size(); ++i) text += (i == 0 ? "(" : ",") + inner[i].to_string();
  return inner.empty() ? text : text + ")";
}

std::optional<Pipeline> parse_pipeline(const std::shared_ptr<const Source>& source,
                                       Diagnostics& diagnostics) {
  return PipelineParser(*source, diagnostics).run();
}

std::string verification_errors(const Module& module, const PassContext& context) {
  Diagnostics diagnostics;
  verify(module, {.replicas = context.replicas, .partitions = context.partitions}, diagnostics);
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics.all()) {
    if (diagnostic.severity != Severity::kError) continue;
    text += fmt::format("\n  {}{}{}", diagnostic.instruction.empty() ? "" : "%",
                        diagnostic.instruction, diagnostic.instruction.empty() ? "" : ": ");
    text += diagnostic.message;
  }
  return text;
}

tl::expected<void, std::string> run_pass(Module& module, const PassCall& call,
                                         PassContext& context) {
  auto done = call.info->make(call.options)->run(module, context);
  if (!done) return tl::make_unexpected(fmt::format("{}: {}", call.info->name, done.error()));
  return {};
}

tl::expected<void, std::string> run_pipeline(Module& module, const Pipeline& pipeline,
                                             PassContext& context, bool verify_each,
                                             const PipelineObserver& observer) {
  return PipelineRun(module, context, verify_each, observer).run(pipeline);
}

}  // namespace minihlo
