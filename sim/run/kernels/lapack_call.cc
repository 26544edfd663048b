// Custom-calls to LAPACK, as JAX makes them for CPUs: which array is what in the two forms that
// there are, and how it lies in memory.
//
// The older form has scalar operands in front: sizes and options. The newer one (`_ffi`) has
// options in backend_config: `{uplo = 76 : ui8}`. Both see arrays as they lie in memory, matrices
// column by column; which of our row-major dimensions that is say the layouts of operands and
// results.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "ir/semantics/movement.h"
#include "sim/run/kernels/custom_call.h"
#include "sim/run/lapack/problem.h"

namespace minihlo {
namespace {

using enum CustomCallMeaning;
using lapack::Options;
using lapack::Problem;

using Run = void (*)(Problem&);

// What runs a problem of f32, f64, c64, c128. What does not iterate is done in doubles.
#define IN_DOUBLES(routine)                                                                  \
  {                                                                                          \
    lapack::routine<double>, lapack::routine<double>, lapack::routine<std::complex<double>>, \
        lapack::routine<std::complex<double>>                                                \
  }
#define IN_ITS_TYPE(routine)                                                               \
  {                                                                                        \
    lapack::routine<float>, lapack::routine<double>, lapack::routine<std::complex<float>>, \
        lapack::routine<std::complex<double>>                                              \
  }

// How a routine's arrays are written here, in order, operands > results: `A:Tmn` is the array A of
// the call's type, m times n, in each problem of the batch. Types: T, its real part R, its complex
// type C, 32-bit integers I, and Z: one T for all problems. Dimensions: k is min(m, n), p is
// max(n - 1, 0), others are whatever they are where they come first. `_`: memory to work in; behind
// the results that are named here the older form has that, too.
struct Routine {
  CustomCallMeaning meaning;
  bool of_reals, of_complex;
  std::array<Run, 4> run;
  std::string_view arrays;       // empty: there is no newer form
  std::string_view old_scalars;  // empty: there is no older form
  std::string_view old_arrays;
};

constexpr Routine kRoutines[] = {
    {kPotrf, true, true, IN_DOUBLES(potrf), "A:Tnn > A:Tnn I:I",  //
     "lower batch n", "A:Tnn > A:Tnn I:I"},
    {kGetrf, true, true, IN_DOUBLES(getrf), "A:Tmn > A:Tmn P:Ik I:I",  //
     "batch m n", "A:Tmn > A:Tmn P:Ik I:I"},
    {kGeqrf, true, true, IN_DOUBLES(geqrf), "A:Tmn > A:Tmn T:Tk",  //
     "batch m n lwork", "A:Tmn > A:Tmn T:Tk I:I"},
    {kGeqp3, true, true, IN_DOUBLES(geqp3), "A:Tmn P:In > A:Tmn P:In T:Tk", "", ""},
    {kOrgqr, true, true, IN_DOUBLES(orgqr), "A:Tmn T:Tr > A:Tmn",  //
     "batch m n k lwork", "A:Tmn T:Tr > A:Tmn I:I"},
    {kOrmqr, true, true, IN_DOUBLES(ormqr), "A:Tqr T:Tr C:Tmn > C:Tmn", "", ""},
    {kTrsm, true, true, IN_DOUBLES(trsm), "A:Taa C:Tmn > C:Tmn",  //
     "side lower trans unit m n batch", "X:Z A:Taa C:Tmn > C:Tmn"},
    {kTrsm, true, true, IN_DOUBLES(trsm), "A:Taa C:Tmn X:Z > C:Tmn", "", ""},
    {kGehrd, true, true, IN_DOUBLES(gehrd), "A:Tnn > A:Tnn T:Tp I:I",  //
     "n low high lda batch lwork", "A:Tnn > A:Tnn T:Tp I:I"},
    {kSytrd, true, true, IN_DOUBLES(sytrd), "A:Tnn > A:Tnn D:Rn E:Rp T:Tp I:I",  //
     "n lower lda batch lwork", "A:Tnn > A:Tnn D:Rn E:Rp T:Tp I:I"},
    {kGtsv, true, true, IN_DOUBLES(gtsv), "L:Tn D:Tn U:Tn C:Tnr > L:Tn D:Tn U:Tn C:Tnr I:I", "",
     ""},
    {kPerturbedGtsv, true, true, IN_DOUBLES(gtsv), "L:Tn D:Tn U:Tn C:Tnr > C:Tnr", "", ""},
    {kSyevd, true, true, IN_ITS_TYPE(syevd), "A:Tnn > A:Tnn W:Rn I:I",  //
     "lower batch n", "A:Tnn > A:Tnn W:Rn I:I"},
    {kGesdd, true, true, IN_ITS_TYPE(gesdd), "A:Tmn > A:Tmn S:Rk U:Tmu V:Tvn I:I",  //
     "full vectors batch m n lwork", "A:Tmn > A:Tmn S:Rk U:Tmu V:Tvn I:I"},
    {kGeev, true, false, IN_ITS_TYPE(geev), "A:Tnn > W:Rn V:Rn L:Cnn R:Cnn I:I",  //
     "batch n jobvl jobvr", "A:Tnn > _ _ _ W:Rn V:Rn L:Cnn R:Cnn I:I"},
    {kGeev, false, true, IN_ITS_TYPE(geev), "A:Tnn > W:Cn L:Cnn R:Cnn I:I",  //
     "batch n jobvl jobvr", "A:Tnn > _ _ W:Cn L:Cnn R:Cnn I:I"},
    {kGees, true, false, IN_ITS_TYPE(gees), "A:Tnn > A:Tnn Q:Tnn W:Rn V:Rn N:I I:I",  //
     "batch n jobvs sort", "A:Tnn > A:Tnn W:Rn V:Rn Q:Tnn N:I I:I"},
    {kGees, false, true, IN_ITS_TYPE(gees), "A:Tnn > A:Tnn Q:Tnn W:Cn N:I I:I",  //
     "batch n jobvs sort", "A:Tnn > A:Tnn _ W:Cn Q:Tnn N:I I:I"},
};

// An array of the text above.
struct Place {
  char role, type;
  std::string_view dims;
};

std::vector<Place> parse_places(std::string_view text, bool results) {
  const size_t sign = text.find('>');
  text = results ? text.substr(sign + 1) : text.substr(0, sign);
  std::vector<Place> places;
  while (true) {
    while (text.starts_with(' ')) text.remove_prefix(1);
    if (text.empty()) return places;
    std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(word.size());
    places.push_back(word == "_" ? Place{'_', '_', ""} : Place{word[0], word[2], word.substr(3)});
  }
}

ElementType element_type_of(char letter, ElementType type) {
  const bool is_short = type == ElementType::F32 || type == ElementType::C64;
  switch (letter) {
    case 'R':
      return is_short ? ElementType::F32 : ElementType::F64;
    case 'C':
      return is_short ? ElementType::C64 : ElementType::C128;
    case 'I':
      return ElementType::S32;
    default:
      return type;
  }
}

// The sizes that letters stand for, and the batch.
struct Sizes {
  std::optional<std::vector<int64_t>> batch;
  std::array<int64_t, 128> of_letter{};

  Sizes() { of_letter.fill(-1); }

  int64_t problems() const {
    int64_t count = 1;
    for (int64_t size : *batch) count *= size;
    return count;
  }

  // Whether an array fits; notes what is not known yet.
  bool take(const Place& place, const Shape* shape, ElementType type) {
    if (!shape->is_array() || shape->is_dynamic() ||
        shape->element_type() != element_type_of(place.type, type)) {
      return false;
    }
    if (place.type == 'Z') return shape->rank() == 0;
    const int64_t leading = shape->rank() - static_cast<int64_t>(place.dims.size());
    if (leading < 0) return false;
    std::span<const int64_t> dims = shape->dims();
    std::span<const int64_t> own = dims.first(static_cast<size_t>(leading));
    if (!batch) batch.emplace(own.begin(), own.end());
    if (!std::ranges::equal(*batch, own)) return false;
    for (size_t i = 0; i < place.dims.size(); ++i) {
      int64_t& size = of_letter[static_cast<size_t>(place.dims[i])];
      const int64_t dim = dims[static_cast<size_t>(leading) + i];
      if (place.dims[i] == 'k') size = std::min(of_letter['m'], of_letter['n']);
      if (place.dims[i] == 'p') size = std::max<int64_t>(of_letter['n'] - 1, 0);
      if (size < 0) size = dim;
      if (size != dim) return false;
    }
    return true;
  }

  lapack::Array array(const Place& place, bool is_result, ElementType type, std::byte* data) const {
    auto size = [&](size_t i) {
      return i < place.dims.size() ? of_letter[static_cast<size_t>(place.dims[i])] : 1;
    };
    return {place.role, is_result, element_type_of(place.type, type), data, size(0), size(1)};
  }
};

// `{uplo = 76 : ui8, left = true}`: the value behind a name.
std::optional<int64_t> option_in(std::string_view config, std::string_view name) {
  for (size_t at = config.find(name); at != config.npos; at = config.find(name, at + 1)) {
    const bool starts =
        at == 0 || config[at - 1] == ' ' || config[at - 1] == '{' || config[at - 1] == ',';
    std::string_view rest = config.substr(at + name.size());
    while (rest.starts_with(' ')) rest.remove_prefix(1);
    if (!starts || !rest.starts_with('=')) continue;
    rest.remove_prefix(1);
    while (rest.starts_with(' ')) rest.remove_prefix(1);
    if (rest.starts_with("true")) return 1;
    if (rest.starts_with("false")) return 0;
    int64_t value = 0;
    auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error == std::errc()) return value;
  }
  return std::nullopt;
}

// A batch of problems: what its bodies of work need.
struct Batch {
  Run run;
  Options options;
  Sizes sizes;
  ElementType type;
  std::vector<Place> operand_places, result_places;
  std::vector<Buffer> operands, results;
  Workers& workers;

  // Array number i of problem `number`.
  lapack::Array array(bool is_result, size_t i, int64_t number) const {
    const Place& place = is_result ? result_places[i] : operand_places[i];
    lapack::Array array = sizes.array(place, is_result, type, nullptr);
    Buffer buffer = is_result ? results[i] : operands[i];
    const int64_t bytes = array.rows * array.columns * info(array.type).bytes;
    array.data = buffer.mutable_data() + (place.type == 'Z' ? 0 : number * bytes);
    return array;
  }

  // The elements of all arrays of one problem.
  int64_t elements() const {
    int64_t count = 0;
    for (size_t i = 0; i < operands.size(); ++i) count += size(array(false, i, 0));
    for (size_t i = 0; i < results.size(); ++i) count += size(array(true, i, 0));
    return count;
  }

  void run_problem(int64_t number) const {
    std::vector<lapack::Array> arrays;
    for (size_t i = 0; i < operands.size(); ++i) arrays.push_back(array(false, i, number));
    for (size_t i = 0; i < results.size(); ++i) arrays.push_back(array(true, i, number));
    Problem problem(options, std::move(arrays), workers);
    run(problem);
  }

 private:
  static int64_t size(const lapack::Array& array) { return array.rows * array.columns; }
};

class LapackCall {
 public:
  LapackCall(KernelCall& call, CustomCallMeaning meaning)
      : call_(call), instruction_(call.instruction), meaning_(meaning) {}

  KernelResult run() {
    constexpr std::string_view kPrefix = "lapack_";
    constexpr std::array kTypes = {ElementType::F32, ElementType::F64, ElementType::C64,
                                   ElementType::C128};
    std::string_view target = instruction_.get(attr::custom_call_target);
    size_t letter = 0;
    if (target.starts_with(kPrefix)) {
      letter = std::string_view("sdcz").find(target[kPrefix.size()]);
    } else {
      const Shape* first = leaf_shapes(instruction_.shape())[0];
      auto found = std::ranges::find(kTypes, first->element_type());
      if (found == kTypes.end()) {
        return tl::unexpected(unsupported_call(call_, "the element type is not LAPACK's"));
      }
      letter = static_cast<size_t>(found - kTypes.begin());
    }
    type_ = kTypes[letter];
    const bool is_old = !target.ends_with("_ffi");
    results_ = leaf_shapes(instruction_.shape());
    const Routine* routine = nullptr;
    for (const Routine& row : kRoutines) {
      if (row.meaning != meaning_ || !(is_complex(type_) ? row.of_complex : row.of_reals) ||
          (is_old && row.old_scalars.empty())) {
        continue;
      }
      if (fits(row, is_old)) {
        routine = &row;
        break;
      }
    }
    if (!routine) {
      return tl::unexpected(unsupported_call(call_, "operands and results are not LAPACK's"));
    }
    if (std::string wrong = read_options(*routine, is_old); !wrong.empty()) {
      return tl::unexpected(unsupported_call(call_, wrong));
    }
    return start(routine->run[letter]);
  }

 private:
  // Whether operands and results are those of the row; notes places and sizes.
  bool fits(const Routine& row, bool is_old) {
    operand_places_ = parse_places(is_old ? row.old_arrays : row.arrays, false);
    result_places_ = parse_places(is_old ? row.old_arrays : row.arrays, true);
    scalars_ = is_old ? static_cast<size_t>(std::ranges::count(row.old_scalars, ' ')) + 1 : 0;
    sizes_ = Sizes();
    if (instruction_.operand_count() != scalars_ + operand_places_.size()) return false;
    for (size_t i = 0; i < instruction_.operand_count(); ++i) {
      const Shape* shape = instruction_.operand(i)->shape();
      if (i < scalars_ ? !shape->is_scalar() || !is_integer(shape->element_type())
                       : !sizes_.take(operand_places_[i - scalars_], shape, type_)) {
        return false;
      }
    }
    const size_t named = result_places_.size();
    if (results_.size() < named || (results_.size() > named && !is_old)) return false;
    for (size_t i = 0; i < results_.size(); ++i) {
      const bool is_named = i < named && result_places_[i].role != '_';
      if (is_named ? !sizes_.take(result_places_[i], results_[i], type_)
                   : !results_[i]->is_array()) {
        return false;
      }
    }
    return true;
  }

  // What is wrong with them, or nothing.
  std::string read_options(const Routine& routine, bool is_old) {
    Options& o = options_;
    o.high = sizes_.of_letter['n'];
    o.plain_qr = instruction_.get(attr::custom_call_target).find("gesvd") != std::string_view::npos;
    if (meaning_ == kPerturbedGtsv) {
      const bool is_short = type_ == ElementType::F32 || type_ == ElementType::C64;
      o.least_pivot = is_short ? 0x1p-23 : 0x1p-52;
    }
    std::string_view config = backend_config(instruction_);
    auto letter = [&](std::string_view name, char& option) {
      if (auto value = option_in(config, name)) option = static_cast<char>(*value);
    };
    if (!is_old) {
      letter("uplo", o.uplo);
      letter("side", o.side);
      letter("trans_x", o.trans);
      letter("diag", o.diag);
      letter("mode", o.mode);
      letter("compute_left", o.left);
      letter("compute_right", o.right);
      letter("sort", o.sort);
      o.low = option_in(config, "low").value_or(o.low);
      o.high = option_in(config, "high").value_or(o.high);
      if (auto left = option_in(config, "left")) o.side = *left ? 'L' : 'R';
      if (option_in(config, "transpose").value_or(0)) o.trans = 'C';
    } else {
      std::string_view names = routine.old_scalars;
      for (size_t i = 0; i < scalars_; ++i) {
        std::string_view name = names.substr(0, names.find(' '));
        names.remove_prefix(std::min(names.size(), name.size() + 1));
        take_scalar(
            name, integer_at(call_.operands[i], instruction_.operand(i)->shape()->element_type()));
      }
    }
    const int64_t n = sizes_.of_letter['n'];
    if (meaning_ == kGehrd && (o.low < 1 || o.high > n || (n > 0 && o.low > o.high))) {
      return fmt::format("rows {} to {} of {}", o.low, o.high, n);
    }
    const int64_t across = sizes_.of_letter[o.side == 'L' ? 'm' : 'n'];
    if (meaning_ == kGees && o.sort != 'N') return "eigenvalues are to be sorted";
    if (meaning_ == kGesdd) {
      const int64_t m = sizes_.of_letter['m'], u = sizes_.of_letter['u'], v = sizes_.of_letter['v'],
                    k = std::min(m, n);
      const bool all = u == m && v == n;
      if (o.mode == 'O' || (!all && (u != k || v != k)))
        return "U and V^H are not whole or leading";
    }
    if (meaning_ == kTrsm && sizes_.of_letter['a'] != across) return "the matrices do not fit";
    if (meaning_ == kOrmqr && (sizes_.of_letter['q'] != across || sizes_.of_letter['r'] > across)) {
      return "the matrices do not fit";
    }
    if (meaning_ == kOrgqr &&
        (sizes_.of_letter['r'] > std::min(n, sizes_.of_letter['m']) || n > sizes_.of_letter['m'])) {
      return "more columns or reflectors than rows";
    }
    return "";
  }

  void take_scalar(std::string_view name, int64_t value) {
    Options& o = options_;
    if (name == "lower") o.uplo = value ? 'L' : 'U';
    if (name == "side") o.side = value ? 'L' : 'R';
    if (name == "trans") o.trans = value == 1 ? 'T' : value == 2 ? 'C' : 'N';
    if (name == "unit") o.diag = value ? 'U' : 'N';
    if (name == "vectors") o.mode = value ? 'S' : 'N';
    if (name == "jobvl") o.left = static_cast<char>(value);
    if (name == "jobvr") o.right = static_cast<char>(value);
    if (name == "jobvs") o.mode = static_cast<char>(value);
    if (name == "sort") o.sort = static_cast<char>(value);
    if (name == "low") o.low = value;
    if (name == "high") o.high = value;
  }

  // The movement that brings an operand into the order in which the call sees it.
  tl::expected<Buffer, Stop> in_memory(size_t operand) {
    auto dense = call_.dense(operand);
    if (!dense) return dense;
    const Shape* shape = instruction_.operand(operand)->shape();
    std::span<const Shape* const> layouts = instruction_.get(attr::operand_layout_constraints);
    if (operand >= layouts.size() || !compatible(layouts[operand], shape)) return dense;
    const Movement movement = into_physical(layouts[operand]);
    if (movement.is_identity()) return dense;
    auto moved = call_.allocate(shape);
    if (!moved) return moved;
    add_movement(call_, movement, *moved, info(shape->element_type()).bytes, {},
                 [&](const Box&) { return *dense; });
    return moved;
  }

  KernelResult start(Run run) {
    Batch batch{run, options_, sizes_, type_, {}, {}, {}, {}, call_.context.workers};
    std::vector<Buffer> memory;  // of all results, in the order in which the call sees them
    for (size_t i = 0; i < operand_places_.size(); ++i) {
      auto buffer = in_memory(scalars_ + i);
      if (!buffer) return tl::unexpected(std::move(buffer.error()));
      batch.operand_places.push_back(operand_places_[i]);
      batch.operands.push_back(*std::move(buffer));
    }
    for (size_t i = 0; i < results_.size(); ++i) {
      auto buffer = call_.allocate(results_[i]);
      if (!buffer) return tl::unexpected(std::move(buffer.error()));
      if (buffer->size() > 0) {
        std::memset(buffer->mutable_data(), 0, static_cast<size_t>(buffer->size()));
      }
      memory.push_back(*std::move(buffer));
      if (i >= result_places_.size() || result_places_[i].role == '_') continue;
      batch.result_places.push_back(result_places_[i]);
      batch.results.push_back(memory.back());
    }
    const int64_t problems = sizes_.problems(), elements = batch.elements();
    if (elements > 0 && problems > 0) {
      // What a problem works with: some copies of its arrays, in the widest type.
      constexpr int64_t kBytes = 6 * int64_t{sizeof(std::complex<double>)};
      int64_t bytes = 0, cost = 0;
      if (__builtin_mul_overflow(elements, kBytes, &bytes)) {
        bytes = std::numeric_limits<int64_t>::max();
      }
      const int64_t depth = std::max(sizes_.of_letter['m'], sizes_.of_letter['n']);
      if (__builtin_mul_overflow(elements, depth * 4, &cost)) {
        cost = std::numeric_limits<int64_t>::max();
      }
      auto work = call_.allocate(bytes);
      if (!work) return tl::unexpected(std::move(work.error()));
      call_.next_stage();
      call_.add(problems, cost, [batch, work = *work](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) batch.run_problem(i);
      });
    }
    return hand_out(std::move(memory));
  }

  // The results in logical order.
  KernelResult hand_out(std::vector<Buffer> memory) {
    call_.next_stage();
    for (size_t i = 0; i < results_.size(); ++i) {
      const Movement movement = out_of_physical(results_[i]);
      if (movement.is_identity() || results_[i]->element_count() == 0) {
        call_.results.push_back(std::move(memory[i]));
        continue;
      }
      auto moved = call_.allocate(results_[i]);
      if (!moved) return tl::unexpected(std::move(moved.error()));
      add_movement(call_, movement, *moved, info(results_[i]->element_type()).bytes, {},
                   [&](const Box&) { return memory[i]; });
      call_.results.push_back(*std::move(moved));
    }
    return {};
  }

  KernelCall& call_;
  const Instruction& instruction_;
  const CustomCallMeaning meaning_;
  ElementType type_ = ElementType::F32;
  Options options_;
  Sizes sizes_;
  size_t scalars_ = 0;  // operands in front
  std::vector<Place> operand_places_, result_places_;
  std::vector<const Shape*> results_;
};

}  // namespace

KernelResult lapack_call(KernelCall& call, CustomCallMeaning meaning) {
  return LapackCall(call, meaning).run();
}

}  // namespace minihlo
