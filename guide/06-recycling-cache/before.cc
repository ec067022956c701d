// A message broker in one process: messages wait in queues until somebody reads them. Because "malloc is slow", a
// message that was read isn't freed but kept on a list, and taken from there when the next one comes.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

namespace {

struct Message {
  std::uint64_t id = 0;
  std::uint32_t length = 0;
  char body[492];
};
using MessagePtr = std::unique_ptr<Message>;

// Messages that nobody holds any more.
class MessageCache {
 public:
  MessagePtr take() {
    if (unused_.empty()) return MessagePtr(new Message);
    MessagePtr message = std::move(unused_.back());
    unused_.pop_back();
    return message;
  }
  void give_back(MessagePtr message) { unused_.push_back(std::move(message)); }

 private:
  std::vector<MessagePtr> unused_;
};

class Broker {
 public:
  explicit Broker(std::size_t queues) : queues_(queues) {}

  void publish(std::size_t queue, std::uint64_t id, const char* body, std::uint32_t length) {
    MessagePtr message = cache_.take();
    message->id = id;
    message->length = length;
    std::memcpy(message->body, body, length);
    queues_[queue].push_back(std::move(message));
    ++waiting_;
  }

  // The sum of the message's bytes; 0 where nothing waits.
  std::uint64_t consume(std::size_t queue) {
    if (queues_[queue].empty()) return 0;
    MessagePtr message = std::move(queues_[queue].front());
    queues_[queue].pop_front();
    --waiting_;
    std::uint64_t sum = message->id;
    for (std::uint32_t i = 0; i < message->length; ++i) sum += static_cast<unsigned char>(message->body[i]);
    cache_.give_back(std::move(message));
    return sum;
  }

  std::size_t waiting() const { return waiting_; }

 private:
  MessageCache cache_;
  std::vector<std::deque<MessagePtr>> queues_;
  std::size_t waiting_ = 0;
};

struct Random {
  std::uint64_t state;
  std::uint64_t below(std::uint64_t limit) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % limit;
  }
};

}  // namespace

int main() {
  constexpr std::size_t kQueues = 64;
  Broker& broker = *new Broker(kQueues);  // serves as long as the process lives
  Random random{11};
  char body[492];
  for (char& c : body) c = static_cast<char>(random.below(256));
  std::uint64_t sum = 0, id = 0, most = 0;
  // A day: quiet, a burst while the readers are away, then quiet until the evening.
  for (int hour = 0; hour < 24; ++hour) {
    const bool readers_away = hour == 9;
    for (int i = 0; i < 60'000; ++i) {
      broker.publish(random.below(kQueues), ++id, body, static_cast<std::uint32_t>(20 + random.below(470)));
      for (std::uint64_t reads = readers_away ? 0 : 1 + random.below(2); reads > 0; --reads)
        sum += broker.consume(random.below(kQueues));
      if (broker.waiting() > most) most = broker.waiting();
    }
  }
  while (broker.waiting() > 0) sum += broker.consume(random.below(kQueues));
  std::printf("%llu messages, at most %llu waiting, sum %llu\n", static_cast<unsigned long long>(id),
              static_cast<unsigned long long>(most), static_cast<unsigned long long>(sum));
}
