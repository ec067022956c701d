// A small web server, with the network played by a generator: thousands of connections wait, each with a buffer for the
// largest request that it accepts.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr std::size_t kLargestRequest = 16384;

class Connection {
 public:
  Connection() : buffer_(static_cast<char*>(std::malloc(kLargestRequest))) {
    if (buffer_ == nullptr) std::abort();
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() { std::free(buffer_); }

  // False: the request is too large.
  bool receive(std::string_view piece) {
    if (size_ + piece.size() > kLargestRequest) return false;
    std::memcpy(buffer_ + size_, piece.data(), piece.size());
    size_ += piece.size();
    return true;
  }

  std::string_view request() const { return {buffer_, size_}; }

 private:
  char* buffer_;
  std::size_t size_ = 0;
};

class Server {
 public:
  explicit Server(std::size_t connections) : connections_(connections) {}

  // The next piece of a request on one of the connections; the last piece of each ends it.
  void receive(std::size_t on, std::string_view piece) {
    std::unique_ptr<Connection>& connection = connections_[on];
    if (!connection) connection = std::make_unique<Connection>();
    if (!connection->receive(piece)) {
      ++refused_;
    } else if (connection->request().ends_with("\r\n\r\n")) {
      answer(connection->request());
    } else {
      return;
    }
    connection.reset();
  }

  void report() const {
    std::printf("%zu requests, %zu refused, %zu characters, sum %llx\n", answered_, refused_, characters_,
                static_cast<unsigned long long>(sum_));
  }

 private:
  void answer(std::string_view request) {
    ++answered_;
    characters_ += request.size();
    const std::size_t path = request.find(' ') + 1;
    for (const char c : request.substr(path, request.find(' ', path) - path))
      sum_ = sum_ * 31 + static_cast<unsigned char>(c);
  }

  std::vector<std::unique_ptr<Connection>> connections_;
  std::size_t answered_ = 0;
  std::size_t refused_ = 0;
  std::size_t characters_ = 0;
  std::uint64_t sum_ = 0;
};

std::uint32_t random_below(std::uint32_t limit) {
  static std::uint64_t state = 1;
  state = state * 6364136223846793005u + 1442695040888963407u;
  return static_cast<std::uint32_t>(state >> 33) % limit;
}

}  // namespace

int main() {
  constexpr std::size_t kConnections = 4000;
  constexpr int kRequests = 100000;
  Server server(kConnections);
  for (std::size_t on = 0; on < kConnections; ++on) server.receive(on, "GET /");
  for (int i = 0; i < kRequests; ++i) {
    const std::size_t on = random_below(kConnections);
    server.receive(on, "news/" + std::to_string(random_below(1000)) + " HTTP/1.1\r\nHost: example.org\r\n");
    if (random_below(50) == 0) server.receive(on, "Cookie: " + std::string(random_below(3000), 'c') + "\r\n");
    server.receive(on, "\r\n");
    server.receive(on, "GET /");
  }
  server.report();
}
