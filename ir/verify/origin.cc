// origin={...}: the tree of names that an instruction's value comes from has the leaves of its
// shape (VerifyOriginalValue of xla/service/hlo_verifier.cc).
#include "ir/verify/verification.h"

namespace minihlo::verifier {
namespace {

// Steps over the blanks at the start.
void skip_blanks(std::string_view& text) {
  while (!text.empty() && (text[0] == ' ' || text[0] == '\n' || text[0] == '\t')) {
    text.remove_prefix(1);
  }
}

// Steps over a balanced {...} at the start, in which strings may hold braces.
bool skip_leaf(std::string_view& text) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (quoted && text[i] == '\\') {
      ++i;
      continue;
    }
    if (text[i] == '"') quoted = !quoted;
    if (quoted) continue;
    depth += text[i] == '{';
    depth -= text[i] == '}';
    if (depth > 0) continue;
    text.remove_prefix(i + 1);
    return i > 0;
  }
  return false;
}

// Steps over the tree of a shape: {...} for a leaf, (tree, tree) for a tuple. Tuples nest less deep
// than ShapePool allows.
bool skip_tree(std::string_view& text, const Shape* shape) {
  skip_blanks(text);
  if (!shape->is_tuple()) return text.starts_with('{') && skip_leaf(text);
  if (!text.starts_with('(')) return false;
  text.remove_prefix(1);
  for (size_t i = 0; i < shape->elements().size(); ++i) {
    if (i > 0) {
      skip_blanks(text);
      if (!text.starts_with(',')) return false;
      text.remove_prefix(1);
    }
    if (!skip_tree(text, shape->elements()[i])) return false;
  }
  skip_blanks(text);
  if (!text.starts_with(')')) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

void check_origins(Verification& v) {
  if (!v.uses(AttributeId::origin)) return;
  for (const Computation* computation : v.module().computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      std::string_view text = instruction->get(attr::origin);
      if (text.size() < 2 || !v.is_sound(instruction)) continue;
      text.remove_prefix(1);
      text.remove_suffix(1);
      skip_blanks(text);
      // Calls without a name are the newer form of a synthetic call, which fits any shape.
      if (text.starts_with("[synthetic_call]") || text.ends_with(",[\"\"]")) continue;
      const bool good = skip_tree(text, instruction->shape());
      skip_blanks(text);
      if (good && (text.empty() || text.starts_with(",["))) continue;
      v.error("origin", instruction, "the origin of %{} does not have the leaves of {}",
              instruction->name(), to_string(instruction->shape(), false));
    }
  }
}

}  // namespace minihlo::verifier
