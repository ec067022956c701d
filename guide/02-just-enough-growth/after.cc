// Exports a shop's orders as JSON, one document a customer. Orders come in the order of time, so all documents grow at
// once; each by half of what it is, up to the end of the allocator's size class, so that few appends move it.
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "tare/buffer.h"

namespace {

class Text {
 public:
  void append(std::string_view more) {
    if (!data_.append_all(more)) std::abort();
  }

  void append(std::uint64_t number) {
    char digits[20];
    const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
    append({digits, static_cast<std::size_t>(end - digits)});
  }

  std::string_view view() const { return {data_.data(), data_.size()}; }

 private:
  tare::Buffer<char> data_;
};

struct Random {
  std::uint64_t state;
  std::uint64_t below(std::uint64_t limit) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % limit;
  }
};

constexpr std::string_view kGoods[] = {"lamp", "teapot", "notebook", "wool blanket", "garden shears", "bread knife"};

void append_order(Text& json, std::uint64_t id, Random& random) {
  json.append(json.view().back() == '[' ? "{\"id\":" : ",{\"id\":");
  json.append(id);
  json.append(",\"article\":\"");
  json.append(kGoods[random.below(6)]);
  json.append("\",\"pieces\":");
  json.append(1 + random.below(9));
  json.append(",\"cents\":");
  json.append(99 + random.below(20'000));
  json.append("}");
}

}  // namespace

int main() {
  constexpr std::uint64_t kCustomers = 300;
  constexpr std::uint64_t kOrders = 60'000;
  Random random{7};
  std::vector<Text> documents(kCustomers);
  for (std::uint64_t customer = 0; customer < kCustomers; ++customer) {
    documents[customer].append("{\"customer\":");
    documents[customer].append(customer);
    documents[customer].append(",\"orders\":[");
  }
  for (std::uint64_t id = 0; id < kOrders; ++id) append_order(documents[random.below(kCustomers)], id, random);
  for (Text& document : documents) document.append("]}\n");
  std::uint64_t bytes = 0, sum = 0;
  for (const Text& document : documents) {
    bytes += document.view().size();
    for (char c : document.view()) sum = sum * 31 + static_cast<unsigned char>(c);
  }
  std::printf("%llu documents, %llu bytes, sum %llx\n", static_cast<unsigned long long>(documents.size()),
              static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(sum));
}
