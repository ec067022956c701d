// A form that checks each field at every key press. What a field may hold is written as a signature, as D-Bus and
// GVariant have them; the layout that it stands for is worked out when it's needed first, and the last few are kept.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

struct Member {
  std::uint32_t code;
  std::uint32_t depth;
  std::uint32_t align_bytes;
  std::uint32_t size_bytes;  // 0: as its content says
  std::uint32_t offset;      // after members of known sizes
};

// The meaning of a signature.
class Layout {
 public:
  explicit Layout(std::string_view signature)
      : name_("signature " + std::string(signature)), members_(new Member[signature.size()]) {
    std::uint32_t depth = 0;
    std::uint32_t offset = 0;
    for (const char code : signature) {
      if (code == ')' || code == '}') {
        --depth;
        continue;
      }
      Member member{static_cast<std::uint32_t>(code), depth, align_of(code), size_of(code), 0};
      offset = (offset + member.align_bytes - 1) / member.align_bytes * member.align_bytes;
      member.offset = offset;
      offset += member.size_bytes;
      members_[count_++] = member;
      if (code == '(' || code == '{') ++depth;
    }
  }

  // A number that depends on all of it.
  std::uint64_t check(std::uint64_t value) const {
    for (std::size_t i = 0; i < count_; ++i)
      value = (value + members_[i].code * members_[i].align_bytes + members_[i].offset) * 31;
    return value + name_.size();
  }

 private:
  static std::uint32_t align_of(char code) {
    switch (code) {
      case 'y':
        return 1;
      case 'n':
      case 'q':
        return 2;
      case 'x':
      case 't':
      case 'd':
      case '(':
      case '{':
        return 8;
      default:
        return 4;
    }
  }
  static std::uint32_t size_of(char code) {
    switch (code) {
      case 's':
      case 'a':
      case 'v':
      case '(':
      case '{':
        return 0;
      default:
        return align_of(code);
    }
  }

  std::string name_;
  std::unique_ptr<Member[]> members_;
  std::size_t count_ = 0;
};

// The layouts asked for last, newest first.
class RecentLayouts {
 public:
  const Layout& of(std::string_view signature) {
    const auto found =
        std::find_if(kept_.begin(), kept_.end(), [&](const Kept& kept) { return kept.signature == signature; });
    if (found != kept_.end()) {
      std::rotate(kept_.begin(), found, found + 1);
    } else {
      if (kept_.size() == kMost) kept_.pop_back();
      kept_.insert(kept_.begin(), {std::string(signature), Layout(signature)});
    }
    return kept_.front().layout;
  }

 private:
  static constexpr std::size_t kMost = 8;
  struct Kept {
    std::string signature;
    Layout layout;
  };
  std::vector<Kept> kept_;
};

class Form {
 public:
  void key_pressed(char key) {
    // the property that changed, what depends on it, and what the undo list keeps of both
    for (const char* signature : {"a{sv}", "(sa{sv}u)", "a(iiibd)", "(sa{sv}u)", "a{sv}", "a(iiibd)", "(tuss)", "a{sv}",
                                  "(sa{sv}u)", "(tuss)", "a{s(sv)}", "a{s(sv)}"}) {
      sum_ = layouts_.of(signature).check(sum_ + static_cast<unsigned char>(key));
    }
  }
  std::uint64_t sum() const { return sum_; }

 private:
  RecentLayouts layouts_;
  std::uint64_t sum_ = 0;
};

}  // namespace

int main() {
  Form form;
  const std::string_view typed = "the quick brown fox jumps over the lazy dog";
  int keys = 0;
  for (int line = 0; line < 1000; ++line) {
    for (const char key : typed) {
      form.key_pressed(key);
      ++keys;
    }
  }
  std::printf("%d keys, sum %llx\n", keys, static_cast<unsigned long long>(form.sum()));
}
