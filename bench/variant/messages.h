// The bench's messages: what an ibus-like program sends, settings, and arrays large and small. Each writer gets the
// same data, and their bytes are compared before anything is measured.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tare::bench {

struct Rect {
  std::int32_t x = 10;
  std::int32_t y = 20;
  std::int32_t width = 640;
  std::int32_t height = 480;
};

struct KeyEvent {
  std::uint32_t symbol = 0x61;
  std::uint32_t code = 38;
  std::uint32_t state = 0;
};

// What an input method says about itself: texts and a few numbers.
struct Engine {
  const char* name = "xkb:us::eng";
  const char* long_name = "English (US)";
  const char* description = "English (US) keyboard layout";
  const char* language = "en";
  const char* license = "GPL";
  const char* author = "Peng Huang <shawn.p.huang@gmail.com>";
  const char* icon = "ibus-keyboard";
  const char* layout = "us";
  std::uint32_t rank = 50;
  const char* hotkeys = "";
  const char* symbol = "EN";
  const char* setup = "/usr/libexec/ibus-setup";
  const char* version = "1.5.29";
};

// What would be literals, in memory, with a zero behind for GLib: no compiler may know texts that another must check
// and copy.
struct Texts {
  std::string_view text = "IBusText";
  std::string_view list = "IBusAttrList";
  std::string_view attribute = "IBusAttribute";
  std::string_view preedit = "preedit text";
  std::string_view keys[8] = {"name", "size", "enabled", "ratio", "offset", "title", "count", "level"};
  std::string_view name = "settings";
  std::string_view title = "A title of some length";
  std::string_view groups[3] = {"general", "panel", "hotkeys"};
  std::string_view group_keys[5] = {"enabled", "name", "count", "ratio", "limit"};
};

inline std::array<const char*, 20> words = {"org.freedesktop.IBus",
                                            "alpha",
                                            "beta with a tail",
                                            "a longer string of text",
                                            "gamma-gamma",
                                            "delta airlines",
                                            "epsilon delta",
                                            "zeta functions",
                                            "eta carinae",
                                            "theta theta",
                                            "iota subscript",
                                            "kappa",
                                            "lambda calculus",
                                            "mu",
                                            "nu and xi together",
                                            "omikron persei 8",
                                            "pi",
                                            "rho/sigma/tau/ypsilon",
                                            "phi chi psi omega",
                                            "the last one of them"};

inline const std::vector<std::int32_t>& thousand_numbers() {
  static const std::vector<std::int32_t> numbers = [] {
    std::vector<std::int32_t> made(1000);
    for (std::size_t i = 0; i < made.size(); ++i) made[i] = static_cast<std::int32_t>(i * 2654435761U);
    return made;
  }();
  return numbers;
}

inline const std::vector<std::vector<std::uint8_t>>& ten_blobs() {
  static const std::vector<std::vector<std::uint8_t>> blobs(10, std::vector<std::uint8_t>(100, 0x5A));
  return blobs;
}

// Not constant for the compiler, whoever writes them: see hide_from_compiler().
inline Rect rect;
inline KeyEvent key_event;
inline Engine engine;
inline Texts texts;
inline std::uint32_t size_setting = 1024;
inline double ratio_setting = 0.75;

// Makes the compiler believe that anybody may change the messages' data at any time.
inline void hide_from_compiler() {
  asm volatile("" : : "r"(&rect), "r"(&key_event), "r"(&engine), "r"(&texts) : "memory");
  asm volatile("" : : "r"(&size_setting), "r"(&ratio_setting), "r"(words.data()) : "memory");
}

}  // namespace tare::bench
