// The peer systemd: each message's body appended with sd-bus, which makes D-Bus messages only. Its types are strings.
#pragma once

#include <sys/socket.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "messages.h"

namespace tare::bench {

inline void demand(int result) {
  if (result >= 0) return;
  std::fprintf(stderr, "sd-bus: error %d\n", -result);
  std::exit(1);
}

// A bus that nobody answers: messages are made for it, never sent.
class SdBus {
 public:
  SdBus() {
    int ends[2];
    demand(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    other_ = ends[1];
    demand(sd_bus_new(&bus_));
    demand(sd_bus_set_fd(bus_, ends[0], ends[0]));
    demand(sd_bus_start(bus_));
  }
  SdBus(const SdBus&) = delete;
  SdBus& operator=(const SdBus&) = delete;
  ~SdBus() {
    sd_bus_unref(bus_);
    close(other_);
  }

  // Makes and seals the method call of bench-variant's header, with the body that append(message) adds.
  template <typename Append>
  void call(Append append) const {
    sd_bus_message* message = nullptr;
    demand(sd_bus_message_new_method_call(bus_, &message, "org.freedesktop.IBus",
                                          "/org/freedesktop/IBus/InputContext_1", "org.freedesktop.IBus.InputContext",
                                          "ProcessKeyEvent"));
    append(message);
    demand(sd_bus_message_seal(message, 17, 0));
    sd_bus_message_unref(message);
  }

 private:
  sd_bus* bus_ = nullptr;
  int other_ = -1;
};

inline void append_rect(sd_bus_message* to) {
  demand(sd_bus_message_append(to, "iiii", rect.x, rect.y, rect.width, rect.height));
}
inline void append_key(sd_bus_message* to) {
  demand(sd_bus_message_append(to, "uuu", key_event.symbol, key_event.code, key_event.state));
}
inline void append_engine(sd_bus_message* to) {
  const Engine& e = engine;
  demand(sd_bus_message_append(to, "ssssssssussss", e.name, e.long_name, e.description, e.language, e.license, e.author,
                               e.icon, e.layout, e.rank, e.hotkeys, e.symbol, e.setup, e.version));
}
inline void append_words(sd_bus_message* to) {
  demand(sd_bus_message_open_container(to, 'a', "s"));
  for (const char* word : words) demand(sd_bus_message_append_basic(to, 's', word));
  demand(sd_bus_message_close_container(to));
}
inline void append_dictionary(sd_bus_message* to) {
  demand(sd_bus_message_append(to, "a{sv}", 8, texts.keys[0].data(), "s", texts.name.data(), texts.keys[1].data(), "u",
                               size_setting, texts.keys[2].data(), "b", 1, texts.keys[3].data(), "d", ratio_setting,
                               texts.keys[4].data(), "x", std::int64_t{-7}, texts.keys[5].data(), "s",
                               texts.title.data(), texts.keys[6].data(), "i", 8, texts.keys[7].data(), "y", 3));
}
inline void append_nested(sd_bus_message* to) {
  demand(sd_bus_message_open_container(to, 'a', "(sa{sv})"));
  for (std::size_t group = 0; group < std::size(texts.groups); ++group) {
    const char* name = texts.groups[group].data();
    demand(sd_bus_message_append(to, "(sa{sv})", name, 5, texts.group_keys[0].data(), "b", 1,
                                 texts.group_keys[1].data(), "s", name, texts.group_keys[2].data(), "u",
                                 static_cast<std::uint32_t>(group), texts.group_keys[3].data(), "d", 0.5,
                                 texts.group_keys[4].data(), "x", std::int64_t{1000}));
  }
  demand(sd_bus_message_close_container(to));
}

}  // namespace tare::bench
