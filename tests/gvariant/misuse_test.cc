// Mistakes of callers: GLib logs them, nothing is added, and the program continues, as with GLib's own builders.
#include <gtest/gtest.h>

#include <string>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

#include "gvariant/builders.h"
#include "gvariant/logged.h"
#include "gvariant/real.h"

namespace tare {
namespace {

using gvariant::real;

// GLib itself loses memory where an incomplete container is closed.
void act_leaking(void (*act)(GVariantBuilder*), GVariantBuilder* builder) {
#ifdef __SANITIZE_ADDRESS__
  const __lsan::ScopedDisabler disabled;
#endif
  act(builder);
}

// Does the same wrong things with ours and with GLib's; both must say something where they say it, and end the same.
struct Step {
  const char* name;
  void (*act)(GVariantBuilder*);
};

constexpr Step kSteps[] = {
    {"text that isn't UTF-8",
     [](GVariantBuilder* b) { g_variant_builder_add(b, "(sv)", "\xFF", g_variant_new_int32(1)); }},
    {"good", [](GVariantBuilder* b) { g_variant_builder_add(b, "(sv)", "good", g_variant_new_int32(1)); }},
    {"another type", [](GVariantBuilder* b) { g_variant_builder_add(b, "(si)", "other", 1); }},
    {"a value of another type", [](GVariantBuilder* b) { g_variant_builder_add_value(b, g_variant_new_int32(1)); }},
    {"null", [](GVariantBuilder* b) { g_variant_builder_add_value(b, nullptr); }},
    {"open of another type", [](GVariantBuilder* b) { g_variant_builder_open(b, G_VARIANT_TYPE("(ss)")); }},
    {"close of the whole", [](GVariantBuilder* b) { g_variant_builder_close(b); }},
    {"incomplete close",
     [](GVariantBuilder* b) {
       g_variant_builder_open(b, G_VARIANT_TYPE("(sv)"));
       g_variant_builder_add(b, "s", "forgotten");
       g_variant_builder_open(b, G_VARIANT_TYPE_VARIANT);
       g_variant_builder_close(b);
       g_variant_builder_close(b);
     }},
    {"open",
     [](GVariantBuilder* b) {
       g_variant_builder_open(b, G_VARIANT_TYPE("(sv)"));
       g_variant_builder_add(b, "s", "opened");
     }},
    {"no path", [](GVariantBuilder* b) { g_variant_builder_add(b, "v", g_variant_new_object_path("no path")); }},
    {"completed", [](GVariantBuilder* b) { g_variant_builder_add(b, "v", g_variant_new_byte(7)); }},
    {"one too many", [](GVariantBuilder* b) { g_variant_builder_add(b, "s", "more"); }},
    {"close", [](GVariantBuilder* b) { g_variant_builder_close(b); }},
};

TEST(Misuse, HasGlibsEffects) {
  testing::Logged logged;
  GVariantBuilder ours;
  GVariantBuilder theirs;
  g_variant_builder_init(&ours, G_VARIANT_TYPE("a(sv)"));
  real().init(&theirs, G_VARIANT_TYPE("a(sv)"));
  for (const Step& step : kSteps) {
    logged.take();
    act_leaking(step.act, &theirs);
    const bool is_wrong = logged.count() > 0;
    const std::string said = logged.take();
    step.act(&ours);
    EXPECT_EQ(logged.count() > 0, is_wrong) << step.name << ": " << said << "here: " << logged.take();
  }
  EXPECT_TRUE(gvariant::is_ours(ours));
  GVariant* our_value = g_variant_ref_sink(g_variant_builder_end(&ours));
  GVariant* their_value = g_variant_ref_sink(g_variant_builder_end(&theirs));
  EXPECT_TRUE(g_variant_equal(our_value, their_value));
  char* text = g_variant_print(our_value, TRUE);
  EXPECT_NE(std::string(text).find("('good', <1>)"), std::string::npos) << text;
  EXPECT_NE(std::string(text).find("('opened', <byte 0x07>)]"), std::string::npos) << text;
  g_free(text);
  g_variant_unref(our_value);
  g_variant_unref(their_value);
}

TEST(Misuse, OfFormatsIsGlibsToTell) {
  testing::Logged logged;
  GVariant* value = g_variant_new("(s)", "\xC3\x28");
  if (value != nullptr) g_variant_unref(value);
  EXPECT_NE(logged.take().find("g_utf8_validate"), std::string::npos);
  EXPECT_EQ(g_variant_new("(i", 1), nullptr);
  EXPECT_NE(logged.take().find("format string"), std::string::npos);
  EXPECT_EQ(g_variant_new("(i) and more", 1), nullptr);
  EXPECT_GE(logged.count(), 1);
}

TEST(Misuse, OfWhatIsNoBuilderIsGlibsToTell) {
  testing::Logged logged;
  GVariantBuilder none = {};
  g_variant_builder_clear(&none);  // all zeros are a cleared one
  EXPECT_EQ(logged.count(), 0);
  EXPECT_EQ(g_variant_builder_end(&none), nullptr);
  EXPECT_EQ(g_variant_builder_end(nullptr), nullptr);
  g_variant_builder_init(&none, G_VARIANT_TYPE_INT32);
  g_variant_builder_add(nullptr, "i", 1);
  EXPECT_GE(logged.count(), 4);
}

}  // namespace
}  // namespace tare
