// minihlo-generate: prints random valid modules, for scripts and for the corpus of fuzzing.
#include <charconv>
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "ir/json/module_json.h"
#include "ir/proto/proto_writer.h"
#include "ir/text/printer.h"
#include "tests/generator/generator.h"

namespace {

using namespace minihlo;
using namespace minihlo::generator;

constexpr const char* kUsage =
    "usage: minihlo-generate [--seed=S] [--count=N] [--size=I] [--mesh=RxP] [--use=U]\n"
    "                        [--opcodes=A,B,...] [--form=F] [-o FOLDER]\n"
    "       minihlo-generate --dictionary\n"
    "\n"
    "Prints N random valid modules (default 1) of about I instructions (12) for a mesh of R\n"
    "replicas and P partitions (random), seeds S (0), S+1, ...; or writes them to FOLDER/SEED.\n"
    "F is text (the default), json or proto.\n"
    "U says what they are for: any (the default, all syntax), xla (what XLA's parser takes),\n"
    "runnable (what the simulator runs), oracle (what XLA's CPU backend runs).\n"
    "--dictionary prints the words of HLO text for libFuzzer.\n";

bool read_number(std::string_view text, int64_t& value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

void print_dictionary() {
  for (int i = 0; i < kOpcodeCount; ++i) fmt::print("\"{}(\"\n", to_string(static_cast<Opcode>(i)));
  for (int i = 0; i < kElementTypeCount; ++i) fmt::print("\"{}[\"\n", kElementTypes[i].text);
#define ATTRIBUTE(id, text, kind) \
  if (*text) fmt::print("\"{}=\"\n", text);
#define WORD_ATTRIBUTE(id, text, type, words) fmt::print("\"{}=\"\n\"{}\"\n", text, words);
#include "ir/attributes.def"
#undef ATTRIBUTE
#undef WORD_ATTRIBUTE
}

int fail(std::string_view what) {
  fmt::print(stderr, "minihlo-generate: {}\n", what);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  int64_t seed = 0, count = 1;
  GenerateOptions options;
  std::string folder;
  std::string_view form = "text";
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const std::string_view value = word.substr(std::min(word.find('=') + 1, word.size()));
    bool good = true;
    if (word == "-h" || word == "--help") {
      std::fputs(kUsage, stdout);
      return 0;
    }
    if (word == "--dictionary") {
      print_dictionary();
      return 0;
    }
    if (word.starts_with("--seed=")) {
      good = read_number(value, seed);
    } else if (word.starts_with("--count=")) {
      good = read_number(value, count);
    } else if (word.starts_with("--size=")) {
      good = read_number(value, options.size);
    } else if (word.starts_with("--use=")) {
      constexpr std::string_view kUses[] = {"any", "xla", "runnable", "oracle"};
      const auto* use = std::find(std::begin(kUses), std::end(kUses), value);
      good = use != std::end(kUses);
      options.use = static_cast<Use>(use - kUses);
    } else if (word.starts_with("--form=")) {
      form = value;
      good = form == "text" || form == "json" || form == "proto";
    } else if (word.starts_with("--mesh=")) {
      Mesh mesh;
      const size_t x = std::min(value.find('x'), value.size());
      good = read_number(value.substr(0, x), mesh.replicas) && x < value.size() &&
             read_number(value.substr(x + 1), mesh.partitions);
      if (!make_mesh(mesh.replicas, mesh.partitions)) good = false;
      options.mesh = mesh;
    } else if (word.starts_with("--opcodes=")) {
      for (std::string_view rest = value; !rest.empty();) {
        const size_t comma = std::min(rest.find(','), rest.size());
        const std::optional<Opcode> opcode = opcode_from(rest.substr(0, comma));
        if (!opcode) return fail(fmt::format("there is no opcode '{}'", rest.substr(0, comma)));
        options.opcodes.push_back(*opcode);
        rest.remove_prefix(std::min(comma + 1, rest.size()));
      }
    } else if (word == "-o" && i + 1 < argc) {
      folder = argv[++i];
    } else {
      good = false;
    }
    if (!good) return fail(fmt::format("'{}' is not understood; --help says more", word));
  }
  for (int64_t i = 0; i < count; ++i) {
    Choices choices(static_cast<uint64_t>(seed + i));
    const Generated made = generate(choices, options);
    for (const std::string& mistake : made.mistakes)
      fmt::print(stderr, "{}: {}\n", seed + i, mistake);
    Diagnostics of_writing;
    const std::string text = form == "json"    ? print_json(*made.module)
                             : form == "proto" ? print_proto(*made.module, of_writing)
                                               : print_text(*made.module);
    if (folder.empty()) {
      std::fwrite(text.data(), 1, text.size(), stdout);
    } else {
      std::ofstream(fmt::format("{}/{}", folder, seed + i), std::ios::binary) << text;
    }
  }
  return 0;
}
