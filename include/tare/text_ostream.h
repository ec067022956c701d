// tare/text_ostream.h: a std::ostream that writes to a TextWriter, for code that needs std::ostream.
//
//   tare::TextStream text;
//   tare::TextOstream out(text);
//   out << std::setw(8) << value;        // goes to `text` at once: nothing is buffered between them
//
// Separate from tare/text_stream.h, so that <ostream> is included only where it's needed. Text without room sets
// badbit. Constructing one costs as much as any std::ostream (a locale); the characters then cost no malloc beyond
// those of `text`. The TextWriter must outlive it; one thread at a time.
#pragma once

#include <ostream>
#include <streambuf>
#include <string_view>

#include "tare/internal/text_writer.h"
#include "tare/version.h"

namespace tare::inline TARE_ABI {

class TextOstream : public std::ostream {
 public:
  explicit TextOstream(TextWriter& text) : std::ostream(nullptr), buffer_(text) { rdbuf(&buffer_); }

 private:
  class Buffer : public std::streambuf {
   public:
    explicit Buffer(TextWriter& text) : text_(text) {}

   protected:
    int_type overflow(int_type character) override {
      if (traits_type::eq_int_type(character, traits_type::eof())) return traits_type::not_eof(character);
      return text_.append(traits_type::to_char_type(character)) ? character : traits_type::eof();
    }

    std::streamsize xsputn(const char* characters, std::streamsize count) override {
      const std::size_t before = text_.size();
      if (text_.append(std::string_view(characters, static_cast<std::size_t>(count)))) return count;
      return text_.size() > before ? static_cast<std::streamsize>(text_.size() - before) : 0;
    }

   private:
    TextWriter& text_;
  };

  Buffer buffer_;
};

}  // namespace tare::inline TARE_ABI
