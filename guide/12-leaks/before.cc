// A gateway that checks the signature of what it is asked, and turns away what is wrong.
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace {

constexpr std::uint32_t kRequests = 60000;

struct Request {
  std::string path;
  std::vector<std::uint32_t> body;
  std::uint32_t signature = 0;
};

std::uint32_t sign(const std::vector<std::uint32_t>& body) {
  std::uint32_t sum = 0;
  for (const std::uint32_t word : body) sum = (sum ^ word) * 16777619u;
  return sum;
}

// Request `number` from the network: one in fifty was signed with an old key.
Request* parse(std::uint32_t number) {
  auto* request = new Request;
  request->path = "/devices/" + std::to_string(number % 977) + "/readings/of/the/last/hour";
  request->body.resize(128 + number % 64);
  for (std::uint32_t& word : request->body)
    word = number * 2654435761u + static_cast<std::uint32_t>(&word - request->body.data());
  request->signature = sign(request->body) + (number % 50 == 0 ? 1 : 0);
  return request;
}

bool serve(std::uint32_t number) {
  Request* request = parse(number);
  if (sign(request->body) != request->signature) return false;  // and nobody frees it
  const bool is_known = request->path.size() > 9;
  delete request;
  return is_known;
}

}  // namespace

int main() {
  std::uint32_t served = 0;
  for (std::uint32_t number = 0; number < kRequests; ++number) served += serve(number) ? 1 : 0;
  std::printf("%u of %u requests served\n", served, kRequests);
}
