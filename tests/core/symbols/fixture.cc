// A program whose debug information has what real ones have: inlined chains, templates, lambdas, static and unnamed
// functions, constructors, cold parts, nested scopes. It is looked at, and run only to see that it links.
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace shapes {

struct Base {
  virtual ~Base() = default;
  virtual int area() const = 0;
};

struct Square : Base {
  explicit Square(int side) : side_(side) { trail.push_back(side); }
  int area() const override { return side_ * side_; }
  int side_;
  std::vector<int> trail;
};

template <typename T>
class Stack {
 public:
  void push(T value) { items_.push_back(std::move(value)); }
  T pop() {
    if (items_.empty()) throw std::string("empty stack");
    T top = std::move(items_.back());
    items_.pop_back();
    return top;
  }

 private:
  std::vector<T> items_;
};

}  // namespace shapes

namespace {

std::string unnamed_concat(const std::string& a, int n) {
  std::string out;
  for (int i = 0; i < n; ++i) out += a;
  return out;
}

}  // namespace

static inline int twice(int x) { return x + x; }
static inline int four_times(int x) {
  {
    int half = twice(x);
    return twice(half);
  }
}

__attribute__((noinline)) static int sum_of(const std::vector<int>& values) {
  int sum = 0;
  for (const int v : values) sum += four_times(v);
  if (sum == 12345) std::abort();
  return sum;
}

extern "C" __attribute__((noinline)) int plain_c_name(int x) {
  const auto scaled = [x](int y) { return std::to_string(x * y).size(); };
  std::vector<std::size_t> sizes;
  for (int i = 0; i < x; ++i) sizes.push_back(scaled(i));  // NOLINT: growth is the point
  std::sort(sizes.begin(), sizes.end(), [](std::size_t a, std::size_t b) { return a > b; });
  return sizes.empty() ? 0 : static_cast<int>(sizes.front());
}

int main(int argc, char** argv) {
  std::map<std::string, std::unique_ptr<shapes::Base>> all;
  shapes::Stack<std::string> names;
  for (int i = 0; i < argc; ++i) {
    names.push(unnamed_concat(argv[i], i + 1));
    all[argv[i]] = std::make_unique<shapes::Square>(i);
  }
  int total = 0;
  for (const auto& [name, shape] : all) total += shape->area() + plain_c_name(static_cast<int>(name.size()));
  std::vector<int> areas;
  std::transform(all.begin(), all.end(), std::back_inserter(areas),
                 [](const auto& entry) { return entry.second->area(); });
  std::printf("%s %d\n", names.pop().c_str(), total + sum_of(areas));
  return 0;
}
