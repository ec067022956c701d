// Values of tare/variant/c.h read by format strings.
#include <cstdlib>
#include <cstring>
#include <string>

#include "lib/variant/c/format_reader.h"

using tare::variant::View;
using tare::variant::c::Arguments;
using tare::variant::c::end_of_format;
using tare::variant::c::view_of;

namespace tare::inline TARE_ABI::variant::c {
namespace {

char* copy_of(std::string_view text) {
  char* copy = strndup(text.data() == nullptr ? "" : text.data(), text.size());
  return copy;
}

const char* borrowed(std::string_view text) { return text.data() == nullptr ? "" : text.data(); }

// The text in an array of bytes that ends with a zero; "" where none does.
std::string_view text_of_bytes(const View& bytes) {
  const std::string_view all = bytes.bytes();
  return all.empty() || all.back() != 0 ? std::string_view("") : std::string_view(all.data());
}

class FormatReader {
 public:
  FormatReader(tare_variant& whole, Before before, Arguments& arguments)
      : whole_(whole), before_(before), arguments_(arguments) {}

  // `is_there`: true if there's a value; otherwise nulls and zeros are set.
  void read(const View& view, bool is_there, const char*& format) {
    switch (*format) {
      case 'b':
        return ++format, set<int>(view.as_bool() ? 1 : 0);
      case 'y':
        return ++format, set(view.as_byte());
      case 'n':
        return ++format, set(view.as_int16());
      case 'q':
        return ++format, set(view.as_uint16());
      case 'i':
        return ++format, set(view.as_int32());
      case 'u':
        return ++format, set(view.as_uint32());
      case 'h':
        return ++format, set(static_cast<std::int32_t>(view.as_handle().index));
      case 'x':
        return ++format, set(view.as_int64());
      case 't':
        return ++format, set(view.as_uint64());
      case 'd':
        return ++format, set(view.as_double());
      case '(':
      case '{':
        return read_members(view, is_there, format);
      case 'm': {
        ++format;
        const bool has_value = is_there && view.child_count() == 1;
        if (!is_pointer(*format)) set<int>(has_value ? 1 : 0);
        return read(has_value ? view.child(0) : View(), has_value, format);
      }
      default:
        return read_pointer(view, is_there, format);
    }
  }

 private:
  template <typename Value>
  void set(Value value) {
    auto* to = va_arg(arguments_.list, Value*);
    if (to != nullptr) *to = value;
  }

  void read_members(const View& view, bool is_there, const char*& format) {
    auto child = view.begin();
    for (++format; *format != ')' && *format != '}';) {
      read(is_there ? *child : View(), is_there, format);
      if (is_there) ++child;
    }
    ++format;
  }

  void read_pointer(const View& view, bool is_there, const char*& format) {
    const char* end = end_of_format(format);
    const char code = *format;
    const std::string_view text(format, static_cast<std::size_t>(end - format));
    void** to = va_arg(arguments_.list, void**);
    if (to != nullptr) {
      if (before_ == Before::Read) free_pointer(code, text, *to);
      *to = is_there ? pointer_for(code, text, view) : nullptr;
    }
    format = end;
  }

  void* pointer_for(char code, std::string_view format, const View& view) {
    switch (code) {
      case 's':
      case 'o':
      case 'g':
        return copy_of(view.text());
      case '&':
        return const_cast<char*>(borrowed(view.text()));
      case 'v':
        return part_of(whole_, view.inside());
      case '^':
        return list_for(format, view);
      case 'a': {
        tare_variant* array = part_of(whole_, view);
        if (array == nullptr) return nullptr;
        tare_variant_iter* iter = tare_variant_iter_new(array);
        tare_variant_unref(array);
        return iter;
      }
      default:
        return part_of(whole_, view);
    }
  }

  static void* list_for(std::string_view format, const View& view) {
    const bool is_borrowed = format.find('&') != format.npos;
    const bool is_of_bytes = format.back() == 'y';
    const auto text_for = [&](std::string_view text) {
      return is_borrowed ? const_cast<char*>(borrowed(text)) : copy_of(text);
    };
    if (format == "^ay" || format == "^&ay") return text_for(text_of_bytes(view));
    auto** list = static_cast<char**>(std::malloc((view.child_count() + 1) * sizeof(char*)));
    if (list == nullptr) return nullptr;
    std::size_t count = 0;
    for (const View& child : view) list[count++] = text_for(is_of_bytes ? text_of_bytes(child) : child.text());
    list[count] = nullptr;
    return list;
  }

  // Frees the result of pointer_for().
  static void free_pointer(char code, std::string_view format, void* pointer) {
    switch (code) {
      case 's':
      case 'o':
      case 'g':
        return std::free(pointer);
      case '&':
        return;
      case '^': {
        const bool is_borrowed = format.find('&') != format.npos;
        const bool is_list = format != "^ay" && format != "^&ay";
        if (pointer == nullptr || (is_borrowed && !is_list)) return;
        if (is_list && !is_borrowed) {
          for (auto** text = static_cast<char**>(pointer); *text != nullptr; ++text) std::free(*text);
        }
        return std::free(pointer);
      }
      case 'a':
        return tare_variant_iter_free(static_cast<tare_variant_iter*>(pointer));
      default:
        return tare_variant_unref(static_cast<tare_variant*>(pointer));
    }
  }

  tare_variant& whole_;
  const Before before_;
  Arguments& arguments_;
};

}  // namespace

bool fits(const View* part, const char* format) {
  const char* end = end_of_format(format);
  if (end == nullptr) return false;
  if (part == nullptr) return true;
  const std::string_view text(format, static_cast<std::size_t>(end - format));
  return text == part->type().text() || matches(part->type().text(), type_of_format(text));
}

void read_over(tare_variant& whole, const View* part, const char* format, Before before, Arguments& arguments) {
  FormatReader(whole, before, arguments).read(part == nullptr ? View() : *part, part != nullptr, format);
}

bool read_by_format(tare_variant& whole, const View& view, const char* format, Arguments& arguments) {
  if (!fits(&view, format)) return false;
  read_over(whole, &view, format, Before::Anything, arguments);
  return true;
}

}  // namespace tare::inline TARE_ABI::variant::c

extern "C" {

bool tare_variant_get_va(tare_variant* value, const char* format, const char** end, va_list* arguments) {
  const char* format_end = end_of_format(format);
  if (format_end == nullptr || (end == nullptr && *format_end != 0)) return false;
  if (end != nullptr) *end = format_end;
  Arguments handed;
  va_copy(handed.list, *arguments);
  const bool is_read = tare::variant::c::read_by_format(*value, view_of(*value), format, handed);
  va_end(*arguments);
  va_copy(*arguments, handed.list);
  va_end(handed.list);
  return is_read;
}

bool tare_variant_get(tare_variant* value, const char* format, ...) {
  Arguments arguments;
  va_start(arguments.list, format);
  const bool is_read = tare_variant_get_va(value, format, nullptr, &arguments.list);
  va_end(arguments.list);
  return is_read;
}

bool tare_variant_get_child(tare_variant* value, size_t index, const char* format, ...) {
  const View view = view_of(*value);
  if (index >= view.child_count()) return false;
  Arguments arguments;
  va_start(arguments.list, format);
  const bool is_read = tare::variant::c::read_by_format(*value, view.child(index), format, arguments);
  va_end(arguments.list);
  return is_read;
}

bool tare_variant_lookup(tare_variant* dictionary, const char* key, const char* format, ...) {
  const auto found = view_of(*dictionary).lookup(key);
  if (!found.has_value()) return false;
  Arguments arguments;
  va_start(arguments.list, format);
  const bool is_read = tare::variant::c::read_by_format(*dictionary, *found, format, arguments);
  va_end(arguments.list);
  return is_read;
}

}  // extern "C"
