// What GLib, and who speaks in its place, says to its log.
#pragma once

#include <glib.h>

#include <string>

namespace tare::testing {

// Collects messages as long as it lives.
class Logged {
 public:
  Logged() { before_ = g_log_set_default_handler(add, this); }
  Logged(const Logged&) = delete;
  Logged& operator=(const Logged&) = delete;
  ~Logged() { g_log_set_default_handler(before_, nullptr); }

  int count() const { return count_; }
  // The messages since the last call, one a line.
  std::string take() {
    count_ = 0;
    return std::exchange(text_, {});
  }

 private:
  static void add(const gchar*, GLogLevelFlags, const gchar* message, gpointer self) {
    auto* logged = static_cast<Logged*>(self);
    ++logged->count_;
    logged->text_ += std::string(message) + "\n";
  }

  GLogFunc before_;
  int count_ = 0;
  std::string text_;
};

}  // namespace tare::testing
