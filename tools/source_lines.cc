#include "tools/source_lines.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

namespace minihlo {
namespace {

bool is_of_opcode(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; }

// "%name = opcode" in a message.
struct Mention {
  std::string_view name, opcode;
  size_t end;  // behind it, in the message
};

std::vector<Mention> mentions_in(std::string_view message) {
  constexpr std::string_view kIs = " = ", kAt = " at ";
  std::vector<Mention> mentions;
  for (size_t at = message.find('%'); at != message.npos; at = message.find('%', at + 1)) {
    const std::string_view rest = message.substr(at + 1);
    const size_t is = rest.find(kIs), blank = rest.find_first_of(" \n");
    if (is == rest.npos || is != blank) continue;
    const std::string_view behind = rest.substr(is + kIs.size());
    const auto stop = std::ranges::find_if_not(behind, is_of_opcode);
    const auto length = static_cast<size_t>(stop - behind.begin());
    if (behind.substr(length).starts_with(kAt)) continue;
    mentions.push_back(
        {rest.substr(0, is), behind.substr(0, length), at + 1 + is + kIs.size() + length});
  }
  return mentions;
}

}  // namespace

std::string with_source_lines(std::string_view message, const Module& module,
                              const Source* source) {
  std::string out(message);
  std::vector<Mention> mentions = mentions_in(message);
  if (mentions.empty() || !source || source->is_binary()) return out;
  std::unordered_map<std::string_view, const Instruction*> named;
  for (const Mention& mention : mentions) named.emplace(mention.name, nullptr);
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      auto found = named.find(instruction->name());
      if (found != named.end() && !found->second) found->second = instruction;
    }
  }
  for (size_t i = mentions.size(); i-- > 0;) {
    const Instruction* instruction = named.at(mentions[i].name);
    if (!instruction || instruction->location().length == 0 ||
        to_string(instruction->opcode()) != mentions[i].opcode) {
      continue;
    }
    out.insert(mentions[i].end, fmt::format(" at {}:{}", source->name(),
                                            source->position(instruction->location().offset).line));
  }
  return out;
}

}  // namespace minihlo
