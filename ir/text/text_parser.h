// The parser's state, shared by the files that implement it:
//
//   parser.cc              the entry point, tokens, errors
//   parser_module.cc       header, tables, computations
//   parser_recovery.cc     where to go on after an error
//   parser_instruction.cc  one instruction: name, shape, opcode, operands
//   parser_line.cc         what of it is taken without tokens
//   parser_async.cc        X-start, X-update, X-done of opcodes without forms of their own
//   parser_shape.cc        shapes and layouts
//   parser_attributes.cc   the table from kinds of attributes to readers, and most readers
//   parser_structures.cc   readers of windows, padding, slices, aliasing, JSON
//   parser_braced.cc       readers of what is kept as text in braces
//   parser_sharding.cc     sharding, device groups, meshes
//   parser_literal.cc      values of constants
//
// Functions that return bool return false after they have reported an error, or when what they read
// depends on something whose error was reported before. The cursor is then anywhere.
#pragma once

#include <tsl/robin_map.h>
#include <tsl/robin_set.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/diagnostics.h"
#include "ir/module.h"
#include "ir/text/lexer.h"
#include "ir/text/named_sharding.h"
#include "ir/text/parser.h"
#include "ir/text/unique_names.h"
#include "ir/text/vector_pool.h"
#include "ir/text_map.h"

namespace minihlo::internal {

class TextParser {
 public:
  TextParser(std::shared_ptr<const Source> source, Diagnostics& diagnostics,
             const ParseOptions& options);

  std::unique_ptr<Module> run();

 private:
  // A computation whose body is being read. Inline bodies nest.
  struct Scope {
    Computation* computation = nullptr;
    Instruction* root = nullptr;
    bool broken = false;
    std::vector<bool> parameters;  // which numbers are taken
    TextMap<Instruction*> names;   // null: the definition had an error
  };
  // What is known of an instruction before it is made.
  struct Draft {
    Token name;
    uint64_t hash = 0;     // of the name
    size_t new_names = 0;  // how many names the scope had when this one was not among them
    bool root = false;
    const Shape* shape = nullptr;  // null: not written
    Opcode opcode = Opcode::kParameter;
    Token opcode_token;
    // X-start, X-update and X-done: of a start `opcode` is X, of the others it is async-update or
    // async-done and `wrapped` is X.
    enum class Async : uint8_t { kNone, kStart, kUpdate, kDone } async = Async::kNone;
    Opcode wrapped = Opcode::kParameter;
    // The text of all its attributes where others may be written alike and mean the same.
    std::string_view tail;
    uint32_t tail_hash = 0;
  };

  // parser_module.cc
  void parse_module();
  bool parse_header();
  bool parse_stack_frames();
  bool parse_table_row(const std::vector<std::string_view>& keys, std::vector<int64_t>& values);
  void parse_computations();
  bool parse_computation(bool is_entry);
  bool parse_signature(const Shape*& result, Token& result_token);
  /// The instructions between braces. Null when any had an error.
  Computation* parse_body(std::string_view name, Location location);
  void parse_bare_instruction();
  void finish_module(Computation* marked_entry, Computation* last);
  // parser_recovery.cc
  void skip_to_instruction(uint32_t from);
  void skip_to_computation();

  // parser_instruction.cc
  bool parse_instruction();
  /// Reports an error where the computation has an instruction of this name.
  bool is_free(const Token& name);
  bool parse_rest(Draft& draft);
  bool parse_opcode(Draft& draft);
  bool parse_operands(Draft& draft, std::vector<Instruction*>& operands);
  bool parse_operand(std::vector<Instruction*>& operands);
  bool parse_nested_operand(const Shape* shape, Instruction*& operand);
  /// Replaces an operand by the element that stands behind it, %t#0, which all that name it share.
  bool parse_tuple_index(Instruction*& operand);
  bool parse_value_operand(Draft& draft, std::vector<Attribute>& attributes);
  bool parse_parameter_number(std::vector<Attribute>& attributes);
  bool resolve_operand(const Token& name, const Shape* shape, Instruction*& operand);
  bool fits(const Token& name, const Shape* shape, const Instruction* operand);
  bool parse_attributes(Draft& draft, std::span<Instruction* const> operands,
                        std::vector<Attribute>& attributes);
  bool normalize_custom_call(const Draft& draft, std::vector<Attribute>& attributes);
  bool check_required(const Draft& draft, std::span<Instruction* const> operands,
                      std::span<const Attribute> attributes);
  bool check_operand_count(const Draft& draft, size_t count);
  /// For some opcodes XLA's parser takes the shape that it infers, whatever is written.
  void replace_shape(Draft& draft, std::span<Instruction* const> operands,
                     std::span<const Attribute> attributes);
  /// Of several dimensions, where one is needed, XLA's parser takes the first.
  void keep_first_dimension(Draft& draft, std::vector<Attribute>& attributes);
  bool settle_shape(Draft& draft, std::span<Instruction* const> operands,
                    std::span<const Attribute> attributes);
  Instruction* make_anonymous(Opcode opcode, const Token& place, std::string_view name,
                              const Shape* shape, std::span<Instruction* const> operands,
                              std::span<const Attribute> attributes);
  void enter_scope(Computation* computation);
  void leave_scope() { --open_scopes_; }
  void declare(std::string_view name, Instruction* instruction);
  void declare(const Draft& draft, Instruction* instruction);
  Scope& scope() { return *scopes_[open_scopes_ - 1]; }
  /// Whether a computation, finished or not, has an instruction of that name.
  bool is_declared(std::string_view name) const;

  // parser_line.cc
  /// Takes the name that is the current token, and what stands between = and the operands if
  /// another instruction has the same.
  bool recall_head(Draft& draft);
  /// What stands between `begin` and the current token has been read.
  void remember_head(size_t begin, const Draft& draft);
  /// A whole number without sign between the current token, '(', and ')'.
  bool read_plain_number(Token& number);
  /// Names of instructions of this computation behind the current token, '(', up to ')'.
  bool read_plain_operands(std::vector<Instruction*>& operands);
  /// Takes what stands from the current token, ',', to the line's end if it was read before.
  bool recall_attributes(Draft& draft, std::vector<Attribute>& attributes);
  /// `attributes`, which must live in the module's arena, are what draft.tail says.
  void remember_attributes(const Draft& draft, std::span<const Attribute> attributes);

  // parser_async.cc
  bool parse_async_opcode(Draft& draft);
  bool wrap_async_start(Draft& draft, std::vector<Instruction*>& operands,
                        std::vector<Attribute>& attributes);
  /// Where nothing is said, the main thread is meant.
  static void drop_main_thread(std::vector<Attribute>& attributes);
  /// The async-start that `instruction`, a start or update, belongs to; null if it is neither.
  Instruction* async_start(Instruction* instruction) const;
  bool check_async_chain(const Draft& draft, std::span<Instruction* const> operands,
                         std::vector<Attribute>& attributes);

  // parser_shape.cc
  bool at_shape() const;
  bool parse_shape(const Shape*& shape);
  bool parse_tuple_shape(const Shape*& shape);
  bool parse_array_shape(ElementType type, const Shape*& shape);
  bool parse_layout(Layout& layout, std::vector<int64_t>& order, std::string& tiling,
                    std::string& split);
  bool parse_layout_number(int64_t& value);
  /// Takes the shape of the text from the current token to `end` if it was read before.
  bool recall_shape(size_t end, const Shape*& shape);
  /// Steps over all parameters of a signature, `x: f32[2], y: f32[3]`, to the closing parenthesis
  /// if their shapes were read before. Else nothing is changed.
  bool skip_plain_parameters();
  void remember_shape(size_t begin, size_t end, const Shape* shape);

  // parser_attributes.cc
  using Reader = bool (TextParser::*)(Attribute&);
  static Reader reader(AttributeKind kind);
  /// Reads the value behind `key`, which the cursor is on.
  bool add_attribute(const AttributeUse* use, const Token& key, std::vector<Attribute>& attributes);
  /// Reads the value of the attribute, or takes that of another that was written alike.
  bool read_value(AttributeKind kind, const Token& key, Attribute& attribute);
  /// {key=value ...}, blank- or comma-separated.
  bool parse_dictionary(std::span<const AttributeUse> uses, std::vector<Attribute>& attributes);
  bool read_bool(Attribute&);
  bool read_int(Attribute&);
  bool read_float(Attribute&);
  bool read_string(Attribute&);
  bool read_word(Attribute&);
  bool read_words(Attribute&);
  bool read_enum(Attribute&);
  bool read_ints(Attribute&);
  bool read_bools(Attribute&);
  bool read_int_lists(Attribute&);
  bool read_pairs(Attribute&);
  bool read_slice(Attribute&);
  bool read_padding(Attribute&);
  bool read_window(Attribute&);
  bool read_dim_labels(Attribute&);
  bool read_shape(Attribute&);
  bool read_shapes(Attribute&);
  bool read_program_shape(Attribute&);
  bool read_literal(Attribute&);
  bool read_sharding(Attribute&);
  bool read_device_groups(Attribute&);
  bool read_computation(Attribute&);
  bool read_computations(Attribute&);
  bool read_instructions(Attribute&);
  bool read_string_map(Attribute&);
  bool read_metadata(Attribute&);
  bool read_json(Attribute&);
  bool read_aliases(Attribute&);
  bool read_donors(Attribute&);
  bool read_domain(Attribute&);
  bool read_braced(Attribute&);
  bool parse_original_array(std::string& text);
  bool parse_original_value(std::string& text);
  bool parse_original_calls(std::string& text);
  bool parse_recovery_table(std::string& text);
  bool parse_debug_attributes(std::string& text);
  bool parse_debug_attribute_set(std::string& text);
  bool parse_statistics(std::string& text);
  bool parse_result_accuracy(std::string& text);
  bool parse_profile_types(std::string& text);
  struct SidePart;
  bool parse_sides(std::string& text, std::span<const SidePart> parts);
  bool parse_computation_value(Computation*& computation);
  bool parse_int_list(TokenKind open, TokenKind close, std::vector<int64_t>& values);
  bool parse_shape_index(std::span<const int64_t>& index);
  bool parse_sizes(std::vector<int64_t>& values);
  bool parse_padding_groups(std::vector<PaddingDimension>& values);
  bool parse_json_text(JsonText& json);

  // parser_sharding.cc
  /// A leaf is part of a tuple, and no tuple itself.
  bool parse_sharding(const Sharding*& sharding, bool leaf = false);
  bool parse_single_sharding(Sharding& sharding);
  bool parse_tiles(Sharding& sharding);
  bool parse_axis_order(size_t rank, std::span<const int64_t>& order);
  bool parse_named_sharding(Sharding& sharding);
  bool parse_reduction(std::string_view& reduction);
  bool parse_dimension_axes(NamedAxes::Dimension& dimension);
  bool parse_sharding_metadata(Sharding& sharding);
  bool parse_iota_order(std::span<const int64_t> dims, const IotaOrder*& order);
  bool parse_mesh(const DeviceMesh*& mesh);
  bool parse_mesh_device_ids(DeviceMesh& mesh);
  /// Of the mesh that was read last.
  bool parse_axis_ref(std::vector<AxisRef>& axes);
  bool parse_axis_refs(std::vector<AxisRef>& axes);

  // parser_literal.cc
  bool parse_literal(const Shape* shape, const Literal*& literal);
  bool parse_shaped_literal(const Literal*& literal);
  bool parse_array_literal(const Shape* shape, Literal& literal);

  // Tokens.
  const Token& token() const { return lexer_.current(); }
  bool at(TokenKind kind) const { return lexer_.at(kind); }
  /// `x`, `%x` and `x:` are names wherever one is expected.
  bool at_name() const {
    return at(TokenKind::kWord) || at(TokenKind::kName) || at(TokenKind::kLabel);
  }
  bool at_word(std::string_view word) const { return at(TokenKind::kWord) && token().text == word; }
  /// Steps over a token of this kind if it is there.
  bool accept(TokenKind kind) {
    if (!at(kind)) return false;
    lexer_.advance();
    return true;
  }
  bool accept_word(std::string_view word) {
    if (!at_word(word)) return false;
    lexer_.advance();
    return true;
  }
  bool accept_key(std::string_view key) {
    if (!at(TokenKind::kKey) || token().text != key) return false;
    lexer_.advance();
    return true;
  }
  bool expect(TokenKind kind, std::string_view where);
  bool expect_name(std::string_view what, Token& name);
  bool expect_int(int64_t& value, std::string_view what);
  bool expect_int32(int64_t& value);
  bool expect_string(std::string_view& value, std::string_view what);
  /// Elements between open and close, separated by commas. `element` reads one. In some lists XLA
  /// takes a comma behind the last element.
  template <class Element>
  bool parse_list(TokenKind open, TokenKind close, std::string_view where, Element element,
                  bool comma_at_end = false) {
    if (!expect(open, where)) return false;
    if (accept(close)) return true;
    do {
      if (!element()) return false;
    } while (accept(TokenKind::kComma) && !(comma_at_end && at(close)));
    return expect(close, where);
  }

  /// Reports an error at `place`. Where the current token is none, that is what is wrong.
  [[gnu::cold]] bool fail(std::string_view rule, Location place, std::string message);
  bool has_failed() const { return diagnostics_.error_count() > errors_before_; }
  /// "expected X, got Y" at the current token.
  [[gnu::cold]] bool fail_expected(std::string_view expected);
  [[gnu::cold]] void note_suggestion(std::string_view word,
                                     const std::vector<std::string_view>& candidates);
  std::string describe(const Token& token) const;

  /// Bounds the depth of what nests: shapes, operands, bodies, literals.
  class Nesting {
   public:
    explicit Nesting(TextParser& parser) : parser_(parser) { ++parser_.depth_; }
    ~Nesting() { --parser_.depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;
    /// False, with an error, when too deep.
    bool ok();

   private:
    TextParser& parser_;
  };

  Arena& arena() { return module_->arena(); }

  std::shared_ptr<const Source> source_;
  Diagnostics& diagnostics_;
  const size_t errors_before_;
  Lexer lexer_;
  std::unique_ptr<Module> module_;
  int depth_ = 0;

  TextMap<Computation*> computations_;          // null: had an error
  size_t next_called_ = 0;                      // of those, the one behind the last that was called
  std::vector<std::unique_ptr<Scope>> scopes_;  // those that are open, then some to use again
  size_t open_scopes_ = 0;
  NameClashes instruction_names_;                                  // of all that were made
  std::vector<std::string_view> broken_names_;                     // whose definitions had errors
  std::vector<Computation*> finished_;                             // in the order of their ends
  tsl::robin_map<const Instruction*, Instruction*> async_starts_;  // of updates
  std::map<std::pair<const Instruction*, int64_t>, Instruction*> tuple_elements_;  // of %t#0
  bool bare_ = false;
  size_t noted_string_ = 0;           // the last long string that a note tells of
  Diagnostic* last_error_ = nullptr;  // until the next one is made
  std::string_view current_instruction_;

  TextMap<const Shape*> shapes_;  // by text
  // Of the mesh that was read last.
  tsl::robin_set<std::string_view, TextHash> mesh_axes_;
  std::span<const MeshAxis> mesh_axis_list_;
  int tuple_depth_ = 0;  // of the shape that is read
  // Values of attributes by their texts from the key on. A later one takes the place of an earlier
  // one of the same hash.
  struct KnownValue {
    std::string_view text;
    Attribute value;
  };
  std::vector<KnownValue> values_;
  // The same of what stands before an instruction's operands, and of all its attributes.
  struct KnownHead {
    std::string_view text;
    const Shape* shape = nullptr;
    Opcode opcode = Opcode::kParameter;
  };
  std::vector<KnownHead> heads_;
  struct KnownTail {
    std::string_view text;
    std::span<const Attribute> attributes;
    Opcode opcode = Opcode::kParameter;
  };
  std::vector<KnownTail> tails_;
  std::string scratch_;
  VectorPool<Instruction*> operand_pool_;
  VectorPool<Attribute> attribute_pool_;
  VectorPool<int64_t> integer_pool_;
  VectorPool<const Shape*> shape_pool_;
};

}  // namespace minihlo::internal
