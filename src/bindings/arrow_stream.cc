// Numbers are handed over where they lie; nulls become bits, words a dictionary of their own for each batch.
#include "bindings/arrow_stream.h"

#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "bindings/readable_text.h"

namespace tare::bindings {
namespace {

using core::Column;
using core::ColumnType;
using core::Table;

constexpr std::int64_t kNullable = 2;

const char* format_of(ColumnType type) {
  switch (type) {
    case ColumnType::Int64:
      return "l";
    case ColumnType::Double:
      return "g";
    case ColumnType::String:
      return "i";  // 32-bit codes; the words are the dictionary
  }
  return "n";
}

// Owns a schema and everything it points to.
struct SchemaHolder {
  std::shared_ptr<const Table> table;  // names
  std::vector<ArrowSchema> columns;
  std::vector<ArrowSchema*> children;
  std::vector<ArrowSchema> words;
};

// A consumer that moves a child out of its parent sets the child's release: there is nothing left to free here.
void release_child(ArrowSchema* schema) { schema->release = nullptr; }
void release_child(ArrowArray* array) { array->release = nullptr; }

void release_schema(ArrowSchema* schema) {
  delete static_cast<SchemaHolder*>(schema->private_data);
  schema->release = nullptr;
}

void export_schema(const std::shared_ptr<const Table>& table, ArrowSchema* out) {
  auto holder = std::make_unique<SchemaHolder>();
  holder->table = table;
  const std::size_t count = table->columns.size();
  holder->columns.resize(count);
  holder->words.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Column& column = table->columns[i];
    holder->columns[i] = {
        format_of(column.type), column.name.c_str(), nullptr, kNullable, 0, nullptr, nullptr, release_child, nullptr};
    if (column.type == ColumnType::String) {
      holder->words[i] = {"u", "", nullptr, 0, 0, nullptr, nullptr, release_child, nullptr};
      holder->columns[i].dictionary = &holder->words[i];
    }
    holder->children.push_back(&holder->columns[i]);
  }
  *out = {"+s",
          "",
          nullptr,
          0,
          static_cast<std::int64_t>(count),
          holder->children.data(),
          nullptr,
          release_schema,
          holder.release()};
}

// Owns a batch and its converted columns.
struct ArrayHolder {
  std::shared_ptr<const Table> table;
  struct Part {
    ArrowArray array{};
    ArrowArray words{};
    std::vector<std::uint8_t> valid_bits;
    std::vector<std::int32_t> word_offsets;
    std::string word_bytes;
    const void* buffers[2] = {nullptr, nullptr};
    const void* word_buffers[3] = {nullptr, nullptr, nullptr};
  };
  std::vector<Part> parts;
  std::vector<ArrowArray*> children;
  const void* buffers[1] = {nullptr};
};

void release_array(ArrowArray* array) {
  delete static_cast<ArrayHolder*>(array->private_data);
  array->release = nullptr;
}

void export_words(const Column& column, ArrayHolder::Part& part) {
  part.word_offsets.reserve(column.words.size() + 1);
  part.word_offsets.push_back(0);
  for (const std::string& word : column.words) {
    part.word_bytes += readable(word);
    part.word_offsets.push_back(static_cast<std::int32_t>(part.word_bytes.size()));
  }
  part.word_buffers[1] = part.word_offsets.data();
  part.word_buffers[2] = part.word_bytes.data();
  part.words = {static_cast<std::int64_t>(column.words.size()),
                0,
                0,
                3,
                0,
                part.word_buffers,
                nullptr,
                nullptr,
                release_child,
                nullptr};
  part.array.dictionary = &part.words;
}

void export_column(const Column& column, ArrayHolder::Part& part) {
  const std::size_t rows = column.size();
  std::int64_t nulls = 0;
  if (!column.valid.empty()) {
    part.valid_bits.assign((rows + 7) / 8, 0);
    for (std::size_t row = 0; row < rows; ++row) {
      part.valid_bits[row / 8] |= static_cast<std::uint8_t>((column.valid[row] != 0 ? 1 : 0) << row % 8);
      nulls += column.valid[row] == 0;
    }
    part.buffers[0] = part.valid_bits.data();
  }
  part.buffers[1] = column.type == ColumnType::Int64    ? static_cast<const void*>(column.ints.data())
                    : column.type == ColumnType::Double ? static_cast<const void*>(column.doubles.data())
                                                        : static_cast<const void*>(column.codes.data());
  part.array = {
      static_cast<std::int64_t>(rows), nulls, 0, 2, 0, part.buffers, nullptr, nullptr, release_child, nullptr};
  if (column.type == ColumnType::String) export_words(column, part);
}

void export_batch(std::shared_ptr<const Table> table, ArrowArray* out) {
  auto holder = std::make_unique<ArrayHolder>();
  holder->table = std::move(table);
  const std::vector<Column>& columns = holder->table->columns;
  holder->parts.resize(columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    export_column(columns[i], holder->parts[i]);
    holder->children.push_back(&holder->parts[i].array);
  }
  *out = {static_cast<std::int64_t>(holder->table->rows()),
          0,
          0,
          1,
          static_cast<std::int64_t>(columns.size()),
          holder->buffers,
          holder->children.data(),
          nullptr,
          release_array,
          holder.release()};
}

struct Stream {
  std::shared_ptr<const Table> columns;
  NextBatch next;
  std::string error;
};

Stream& stream_of(ArrowArrayStream* stream) { return *static_cast<Stream*>(stream->private_data); }

int get_schema(ArrowArrayStream* stream, ArrowSchema* out) {
  export_schema(stream_of(stream).columns, out);
  return 0;
}

int get_next(ArrowArrayStream* stream, ArrowArray* out) {
  try {
    std::shared_ptr<const Table> batch = stream_of(stream).next();
    if (batch) {
      export_batch(std::move(batch), out);
    } else {
      *out = {};
    }
    return 0;
  } catch (const std::exception& error) {
    stream_of(stream).error = error.what();
    return EIO;
  }
}

const char* get_last_error(ArrowArrayStream* stream) { return stream_of(stream).error.c_str(); }

void release_stream(ArrowArrayStream* stream) {
  delete static_cast<Stream*>(stream->private_data);
  stream->release = nullptr;
}

}  // namespace

std::unique_ptr<ArrowArrayStream> arrow_stream(std::shared_ptr<const Table> columns, NextBatch next) {
  auto state = std::make_unique<Stream>(Stream{std::move(columns), std::move(next), {}});
  auto stream = std::make_unique<ArrowArrayStream>();
  *stream = {get_schema, get_next, get_last_error, release_stream, state.release()};
  return stream;
}

}  // namespace tare::bindings
