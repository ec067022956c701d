// The ledger finds the reference that leaks. Compiled with TARE_REF_LEDGER=1, unlike all other tests.
#include "tare/ref_ledger.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "lib/support/child_of_threads.h"
#include "tare/ref_ptr.h"

namespace ledger_test {

struct Style : tare::RefCounted<Style> {
  std::uint64_t words[4] = {};
};
struct Font : tare::ThreadSafeRefCounted<Font> {};

// Not inlined and not static, so that each is a site of its own.
[[gnu::noinline]] tare::RefPtr<Style> make_style() {
  tare::RefPtr<Style> made = tare::make_ref<Style>();
  tare::stay_on_stack();
  return made;
}
[[gnu::noinline]] void hold(std::vector<tare::RefPtr<Style>>& into, const tare::RefPtr<Style>& style) {
  tare::RefPtr<Style> copy = style;
  into.push_back(std::move(copy));
  tare::stay_on_stack();
}
[[gnu::noinline]] void take_raw(Style* style) {
  style->add_ref();
  tare::stay_on_stack();
}
[[gnu::noinline]] void give_up_raw(Style* style) {
  style->release_ref();
  tare::stay_on_stack();
}

// Whether a frame of the site lies in the function: it's the last of these functions that begins before the frame, and
// not far.
template <class Function>
bool is_in(const tare::RefSite& site, Function function) {
  const auto begin = reinterpret_cast<std::uintptr_t>(function);
  const std::array begins{reinterpret_cast<std::uintptr_t>(&make_style), reinterpret_cast<std::uintptr_t>(&hold),
                          reinterpret_cast<std::uintptr_t>(&take_raw), reinterpret_cast<std::uintptr_t>(&give_up_raw)};
  return std::any_of(site.frames.begin(), site.frames.begin() + static_cast<std::ptrdiff_t>(site.frame_count),
                     [&](const void* frame) {
                       const auto address = reinterpret_cast<std::uintptr_t>(frame);
                       if (address - begin > 1000) return false;
                       return std::none_of(begins.begin(), begins.end(),
                                           [&](std::uintptr_t other) { return other > begin && other < address; });
                     });
}

// Over all of an account's sites in the function: its callers may be several, where a loop was unrolled.
template <class Function>
std::uint64_t sum_in(const tare::RefAccount& account, Function function, std::uint64_t tare::RefSite::* counter) {
  std::uint64_t sum = 0;
  for (const tare::RefSite& site : account.sites) {
    if (is_in(site, function)) sum += site.*counter;
  }
  return sum;
}

static_assert(tare::kRefLedger);
static_assert(tare::type_name_of<Style>() == "ledger_test::Style");
static_assert(tare::type_name_of<int>() == "int");
static_assert(sizeof(tare::RefPtr<Style>) == 8 && sizeof(Font) == 4, "the ledger is kept elsewhere");

TEST(RefLedger, NamesTheHolderThatLeaks) {
  std::vector<tare::RefPtr<Style>> leaky;
  leaky.reserve(8);
  Style* object = nullptr;
  {
    const tare::RefPtr<Style> style = make_style();
    object = style.get();
    std::vector<tare::RefPtr<Style>> good;
    for (int i = 0; i < 5; ++i) hold(good, style);
    hold(leaky, style);
  }
  const std::vector<tare::RefAccount> accounts = tare::RefLedger::accounts();
  ASSERT_EQ(accounts.size(), 1u);
  const tare::RefAccount& account = accounts[0];
  EXPECT_EQ(account.object, object);
  EXPECT_EQ(account.type, "ledger_test::Style");
  EXPECT_EQ(account.size_bytes, sizeof(Style));
  EXPECT_EQ(account.held, 1u);
  EXPECT_EQ(account.in_nobodys_name, 0);
  EXPECT_TRUE(is_in(account.sites.front(), &make_style)) << "where it was made comes first";
  for (const tare::RefSite& site : account.sites) {
    if (!site.holders.empty()) {
      EXPECT_TRUE(is_in(site, &hold));
      EXPECT_EQ(site.holders, std::vector<const void*>{&leaky[0]}) << "where it was moved to";
    }
  }
  EXPECT_EQ(sum_in(account, &hold, &tare::RefSite::taken), 6u);
  EXPECT_EQ(sum_in(account, &hold, &tare::RefSite::settled), 5u);
  leaky.clear();
  EXPECT_EQ(tare::RefLedger::size(), 0u);
}

TEST(RefLedger, BalancesReferencesWithoutHolders) {
  tare::RefPtr<Style> style = make_style();
  for (int i = 0; i < 3; ++i) take_raw(style.get());
  for (int i = 0; i < 2; ++i) give_up_raw(style.get());
  const tare::RefAccount account = tare::RefLedger::accounts().at(0);
  EXPECT_EQ(account.held, 1u);
  EXPECT_EQ(account.in_nobodys_name, 1);
  EXPECT_EQ(sum_in(account, &take_raw, &tare::RefSite::taken), 3u);
  EXPECT_EQ(sum_in(account, &give_up_raw, &tare::RefSite::given_up), 2u);
  EXPECT_EQ(sum_in(account, &give_up_raw, &tare::RefSite::taken), 0u);
  give_up_raw(style.get());
}

TEST(RefLedger, FollowsSwapsLeaksAndAdoptions) {
  tare::RefPtr<Style> a = make_style();
  tare::RefPtr<Style> b = make_style();
  const auto held_by = [](const void* holder) {
    for (const tare::RefAccount& account : tare::RefLedger::accounts()) {
      for (const tare::RefSite& site : account.sites) {
        if (std::count(site.holders.begin(), site.holders.end(), holder) != 0) return account.object;
      }
    }
    return static_cast<const void*>(nullptr);
  };
  Style* first = a.get();
  EXPECT_EQ(held_by(&a), first);
  a.swap(b);
  EXPECT_EQ(held_by(&b), first);
  EXPECT_NE(held_by(&a), first);
  Style* leaked = b.leak_ref();
  EXPECT_EQ(held_by(&b), nullptr);
  EXPECT_EQ(tare::RefLedger::accounts()[0].in_nobodys_name, 1);
  b = tare::adopt_ref(leaked);
  EXPECT_EQ(held_by(&b), first);
  EXPECT_EQ(tare::RefLedger::accounts()[0].in_nobodys_name, 0);
  a = b;
  EXPECT_EQ(tare::RefLedger::size(), 1u);
  EXPECT_EQ(tare::RefLedger::accounts()[0].held, 2u);
  tare::RefPtr<const Style> constant = std::move(a);
  EXPECT_EQ(held_by(&constant), first);
}

TEST(RefLedger, PrintsWhatLives) {
  const tare::RefPtr<Style> style = make_style();
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* to = open_memstream(&text, &size);
  tare::RefLedger::print(to);
  std::fclose(to);
  const std::string printed(text, size);
  std::free(text);
  EXPECT_NE(printed.find("ledger_test::Style #"), std::string::npos) << printed;
  EXPECT_NE(printed.find("40 bytes"), std::string::npos) << printed;
  EXPECT_NE(printed.find("1 references in RefPtrs, 0 elsewhere"), std::string::npos) << printed;
  EXPECT_NE(printed.find("taken 1, settled 0, held 1 by"), std::string::npos) << printed;
  EXPECT_NE(printed.find("(+0x"), std::string::npos) << printed;
}

TEST(RefLedger, KeepsUpWithThreads) {
  const tare::RefPtr<Font> font = tare::make_ref<Font>();
  std::vector<std::thread> threads;
  for (int id = 0; id < 4; ++id) {
    threads.emplace_back([font] {
      for (int step = 0; step < 500; ++step) {
        const tare::RefPtr<Font> copy = font;
        const tare::RefPtr<Font> own = tare::make_ref<Font>();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(tare::RefLedger::size(), 1u);
  EXPECT_EQ(tare::RefLedger::accounts()[0].held, 1u);
}

TEST(RefLedger, GoesOnInAForkedChild) {
  const tare::RefPtr<Font> font = tare::make_ref<Font>();
  const auto copy_and_make = [&font] {
    const tare::RefPtr<Font> copy = font;
    const tare::RefPtr<Font> own = tare::make_ref<Font>();
  };
  const int wrong = tare::testing::in_children_of_threads(
      100, 2, [&](int) { copy_and_make(); },
      [&] {
        copy_and_make();
        return tare::RefLedger::accounts()[0].held == 0 ? 1 : 0;
      });
  EXPECT_EQ(wrong, 0);
}

}  // namespace ledger_test
