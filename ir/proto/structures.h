// The small messages that are structures in the IR. Each lists its fields once; readers and writers
// walk these lists.
//
//   describe(fields, value) calls fields(field, member), and fields(field, member, zero) for what
//   0 in a message stands for.
#pragma once

#include <concepts>
#include <span>
#include <type_traits>
#include <vector>

#include "ir/attributes.h"
#include "ir/module.h"
#include "ir/proto/reading.h"
#include "ir/proto/writer.h"

namespace minihlo::proto {

template <class T, class Of>
concept Same = std::same_as<std::remove_const_t<T>, Of>;

template <class Fields, Same<minihlo::SourceTarget> T>
void describe(Fields& fields, T& value) {
  fields(SourceTarget::source, value.source);
  fields(SourceTarget::target, value.target);
}

template <class Fields, Same<SliceDimension> T>
void describe(Fields& fields, T& value) {
  fields(SliceDimensions::start, value.start);
  fields(SliceDimensions::limit, value.limit);
  fields(SliceDimensions::stride, value.stride);
}

template <class Fields, Same<PaddingDimension> T>
void describe(Fields& fields, T& value) {
  fields(PaddingConfigDimension::edge_padding_low, value.low);
  fields(PaddingConfigDimension::edge_padding_high, value.high);
  fields(PaddingConfigDimension::interior_padding, value.interior);
}

template <class Fields, Same<minihlo::WindowDimension> T>
void describe(Fields& fields, T& value) {
  fields(WindowDimension::size, value.size);
  fields(WindowDimension::stride, value.stride, 1);
  fields(WindowDimension::padding_low, value.padding_low);
  fields(WindowDimension::padding_high, value.padding_high);
  fields(WindowDimension::window_dilation, value.window_dilation, 1);
  fields(WindowDimension::base_dilation, value.base_dilation, 1);
  fields(WindowDimension::window_reversal, value.reversal);
}

template <class Fields, Same<Donor> T>
void describe(Fields& fields, T& value) {
  fields(BufferDonorEntryProto::parameter_number, value.parameter);
  fields(BufferDonorEntryProto::parameter_shape_index, value.index);
}

template <class Fields, Same<StackFrames::FileLocation> T>
void describe(Fields& fields, T& value) {
  fields(FileLocation::file_name_id, value.file_name_id);
  fields(FileLocation::function_name_id, value.function_name_id);
  fields(FileLocation::line, value.line);
  fields(FileLocation::column, value.column);
  fields(FileLocation::end_line, value.end_line);
  fields(FileLocation::end_column, value.end_column);
}

/// Fills the members from a message.
class FieldReader {
 public:
  FieldReader(Reading& reading, const Message& in) : reading_(reading), in_(in) {}

  void operator()(Field field, int64_t& member, int64_t zero = 0) {
    member = in_.integer(field);
    if (member == 0) member = zero;
  }
  void operator()(Field field, bool& member) { member = in_.boolean(field); }
  void operator()(Field field, std::span<const int64_t>& member) {
    ok_ = ok_ && in_.integers(field, reading_.numbers);
    if (ok_) member = reading_.arena.copy(reading_.numbers);
  }
  /// False after an error.
  bool ok() const { return ok_; }

 private:
  Reading& reading_;
  const Message& in_;
  bool ok_ = true;
};

/// Writes the members to a message.
class FieldWriter {
 public:
  explicit FieldWriter(Writer& out) : out_(out) {}

  void operator()(Field field, int64_t member, int64_t /*zero*/ = 0) {
    out_.integer(field, member);
  }
  void operator()(Field field, bool member) { out_.integer(field, member); }
  void operator()(Field field, std::span<const int64_t> member) {
    out_.integers<int64_t>(field, member);
  }

 private:
  Writer& out_;
};

/// The structures in a repeated field. False after an error.
template <class T>
bool read_structures(Reading& reading, const Message& in, Field field, std::vector<T>& list) {
  return in.each(field, [&](const Message& one) {
    FieldReader fields(reading, one);
    describe(fields, list.emplace_back());
    return fields.ok();
  });
}

template <class T>
void write_structures(Writer& out, Field field, std::span<const T> list) {
  for (const T& value : list) {
    out.message(field, [&](Writer& one) {
      FieldWriter fields(one);
      describe(fields, value);
    });
  }
}

}  // namespace minihlo::proto
