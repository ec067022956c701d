// A class loader's log: for each class it prints the names and signatures of methods. A stream is made for each name;
// its first 48 characters lie in it, on the stack, and most names need no more.
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "tare/text_stream.h"

namespace {

struct Method {
  std::string_view name;
  std::string_view result;
  std::vector<std::string_view> parameters;
};

struct Class {
  std::string name;  // as in the class file: java/util/ArrayList
  std::vector<Method> methods;
};

// java/util/ArrayList -> java.util.ArrayList
void print_external_name(tare::TextStream& out, std::string_view internal) {
  std::size_t start = 0;
  for (std::size_t slash; (slash = internal.find('/', start)) != std::string_view::npos; start = slash + 1) {
    out.append(internal.substr(start, slash - start));
    out.append(".");
  }
  out.append(internal.substr(start));
}

void print_signature(tare::TextStream& out, const Method& method) {
  out.append(method.name);
  out.append("(");
  for (std::size_t i = 0; i < method.parameters.size(); ++i) {
    if (i > 0) out.append(", ");
    out.append(method.parameters[i]);
  }
  out.append(")");
  out.append(method.result);
}

class Log {
 public:
  void line(std::string_view kind, std::string_view text) {
    ++lines_;
    for (char c : kind) sum_ = sum_ * 31 + static_cast<unsigned char>(c);
    for (char c : text) sum_ = sum_ * 31 + static_cast<unsigned char>(c);
    if (text.size() < 32)
      ++shorter_[0];
    else if (text.size() < 48)
      ++shorter_[1];
    else if (text.size() < 64)
      ++shorter_[2];
    else
      ++shorter_[3];
  }
  void print() const {
    std::printf("%zu lines, sum %llx; <32: %zu, <48: %zu, <64: %zu, >=64: %zu\n", lines_,
                static_cast<unsigned long long>(sum_), shorter_[0], shorter_[1], shorter_[2], shorter_[3]);
  }

 private:
  std::size_t lines_ = 0;
  std::uint64_t sum_ = 0;
  std::size_t shorter_[4] = {};
};

void log_class(const Class& loaded, Log& log) {
  tare::TextStream name;
  print_external_name(name, loaded.name);
  log.line("class ", name.view());
  for (const Method& method : loaded.methods) {
    tare::TextStream signature;
    print_signature(signature, method);
    log.line("  method ", signature.view());
  }
}

std::vector<Class> load_classes(std::size_t count) {
  static constexpr std::string_view kPackages[] = {"java/util/", "java/lang/", "org/example/orders/internal/", "app/"};
  static constexpr std::string_view kStems[] = {"List",   "Map",    "Entry", "Order",
                                                "Handle", "Loader", "Scope", "Visitor"};
  static constexpr std::string_view kNames[] = {"get",  "put",   "size",   "iterator", "equals",   "hashCode",
                                                "next", "parse", "<init>", "close",    "toString", "compareTo"};
  static constexpr std::string_view kTypes[] = {"I", "J", "Z", "Object", "String", "[B", "java/util/function/Function"};
  std::uint64_t state = 3;
  const auto below = [&state](std::uint64_t limit) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % limit;
  };
  std::vector<Class> classes(count);
  for (Class& made : classes) {
    made.name = std::string(kPackages[below(4)]) + std::string(kStems[below(8)]) + std::to_string(below(1000));
    made.methods.resize(3 + below(20));
    for (Method& method : made.methods) {
      method.name = kNames[below(12)];
      method.result = kTypes[below(6)];
      for (std::uint64_t i = below(4); i > 0; --i) method.parameters.push_back(kTypes[below(7)]);
    }
  }
  return classes;
}

}  // namespace

int main() {
  const std::vector<Class> classes = load_classes(2000);
  Log log;
  for (int round = 0; round < 20; ++round) {
    for (const Class& loaded : classes) log_class(loaded, log);
  }
  log.print();
}
