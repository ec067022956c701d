// GLib beside ours. The first byte says what to do with the rest: make a type and a value of them, which both must
// write alike; or take them for bytes of a type, which both must read alike and bring into the same normal form.
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "lib/variant/glib_peer.h"
#include "tare/variant/text.h"

namespace {

using namespace tare;  // NOLINT(google-build-using-namespace): a program of its own

constexpr std::endian kOtherOrder = std::endian::native == std::endian::little ? std::endian::big : std::endian::little;

void demand(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

void write_both(testing::Choices choices) {
  const std::string type = testing::choose_type(choices, testing::For::GVariant);
  const auto value = testing::take(testing::choose_value(choices, type, testing::For::GVariant));
  variant::Output out;
  variant::Builder builder(out, variant::Type::trusted(type));
  testing::write_with(builder, value.get());
  demand(builder.end().bytes() == testing::bytes_of(value.get()), "other bytes: " + type);
}

void read_both(testing::Choices choices) {
  const std::string type = testing::choose_type(choices, testing::For::GVariant);
  const auto rest = choices.rest();
  const std::string_view bytes(reinterpret_cast<const char*>(rest.data()), rest.size());
  GBytes* copy = g_bytes_new(bytes.data(), bytes.size());
  const auto theirs = testing::take(g_variant_new_from_bytes(G_VARIANT_TYPE(type.c_str()), copy, FALSE));
  g_bytes_unref(copy);
  const variant::View ours(variant::Type::trusted(type), bytes);
  demand((g_variant_is_normal_form(theirs.get()) != 0) == ours.is_normal(), "other normality: " + type);
  std::size_t steps = 5000;
  if (testing::has_broken_first_member(ours, steps)) return;
  const std::string difference = testing::difference(theirs.get(), ours, steps);
  demand(difference.empty(), type + ": " + difference);
  const testing::GlibValue normal(g_variant_get_normal_form(theirs.get()));
  variant::Output out;
  demand(ours.normal_form(out).bytes() == testing::bytes_of(normal.get()), "other normal form: " + type);
  // GLib before 2.84.1 fails its own assertion where it swaps values of no bytes
  if (!bytes.empty() && !testing::bytes_of(normal.get()).empty()) {
    const testing::GlibValue swapped(g_variant_byteswap(theirs.get()));
    const testing::GlibValue swapped_normal(g_variant_get_normal_form(swapped.get()));
    // not byte by byte: GLib takes a tuple of no bytes for normal, and swaps nothing there; written anew it has offsets
    const variant::View theirs_swapped(variant::Type::trusted(type), testing::bytes_of(swapped_normal.get()),
                                       kOtherOrder);
    const variant::View ours_swapped(variant::Type::trusted(type), ours.normal_form(out, kOtherOrder).bytes(),
                                     kOtherOrder);
    demand(theirs_swapped == ours && ours_swapped == ours && ours_swapped.is_normal(),
           "other value of swapped bytes: " + type);
  }
  for (const bool is_annotated : {false, true}) {
    char* printed = g_variant_print(theirs.get(), is_annotated);
    const auto annotations = is_annotated ? variant::TypeAnnotations::Print : variant::TypeAnnotations::Omit;
    demand(variant::print(out, ours, annotations).bytes() == printed, type + " is printed otherwise: " + printed);
    g_free(printed);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const testing::Choices choices({data + 1, size - 1});
  if (data[0] % 2 == 0) {
    write_both(choices);
  } else {
    read_both(choices);
  }
  return 0;
}
