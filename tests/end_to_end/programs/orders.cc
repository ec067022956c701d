// Orders of customers: a type with holes, strings that grow, and map nodes; the blocks come from operator new.
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

struct Order {
  bool paid;
  double amount;
  bool shipped;
  std::int64_t id;
  char country;
  const char* note;
  std::int16_t items;
};

struct Customer {
  std::string name;
  std::vector<std::unique_ptr<Order>> orders;
};

namespace {

std::map<std::string, Customer> customers;

std::unique_ptr<Order> take(int number) {
  auto order = std::make_unique<Order>();
  order->id = number;
  order->amount = number * 1.5;
  return order;
}

void fill() {
  for (int number = 0; number < 8000; number++) {
    Customer& customer = customers["customer number " + std::to_string(number % 300)];
    customer.name = "the rather long name of customer " + std::to_string(number % 300);
    customer.orders.push_back(take(number));
  }
}

std::string list() {
  std::string text;
  for (const auto& [key, customer] : customers) {
    for (const auto& order : customer.orders) text += key + ": " + std::to_string(order->amount) + "\n";
  }
  return text;
}

}  // namespace

int main() {
  fill();
  std::printf("%zu\n", list().size());
}
