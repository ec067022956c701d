#include "tare/ref_ledger.h"

#include <dlfcn.h>
#include <unwind.h>

#include <algorithm>
#include <cinttypes>
#include <map>
#include <unordered_map>

#include "lib/fork/at_fork.h"
#include "lib/fork/mutex.h"
#include "lib/loader/one_of_process.h"
#include "tare/internal/export.h"

namespace tare::inline TARE_ABI {

namespace ref_ledger_details {

struct Stack {
  std::array<const void*, RefSite::kMostFrames> frames{};
  std::size_t count = 0;
  auto operator<=>(const Stack&) const = default;
};

struct Counts {
  std::size_t order = 0;
  std::uint64_t taken = 0;
  std::uint64_t settled = 0;
  std::uint64_t given_up = 0;
};

struct Account {
  std::string_view type;
  std::size_t size_bytes = 0;
  std::uint64_t serial = 0;
  std::int64_t in_nobodys_name = 0;
  std::map<Stack, Counts> sites;
  std::unordered_map<const void*, const Stack*> holders;  // a RefPtr, and where it took its reference

  Counts& at(const Stack& stack) {
    const auto [site, fresh] = sites.try_emplace(stack);
    if (fresh) site->second.order = sites.size();
    return site->second;
  }
};

struct Ledger {
  Mutex mutex;
  std::uint64_t serial TARE_GUARDED_BY(mutex) = 0;
  std::unordered_map<const void*, Account> accounts TARE_GUARDED_BY(mutex);
};

TARE_STATE constinit std::atomic<Ledger*> the_ledger{nullptr};

}  // namespace ref_ledger_details

namespace {

using ref_ledger_details::Account;
using ref_ledger_details::Ledger;
using ref_ledger_details::Stack;

// The callers of the function that calls this one: RefLedger's own frame is left out.
[[gnu::noinline]] Stack callers() noexcept {
  struct Walk {
    Stack stack;
    int skip = 2;  // this function and RefLedger's
  } walk;
  _Unwind_Backtrace(
      [](_Unwind_Context* context, void* data) {
        Walk& into = *static_cast<Walk*>(data);
        if (into.skip-- > 0) return _URC_NO_REASON;
        const auto address = _Unwind_GetIP(context);
        if (address == 0) return _URC_END_OF_STACK;
        into.stack.frames[into.stack.count++] = reinterpret_cast<const void*>(address);
        return into.stack.count == into.stack.frames.size() ? _URC_END_OF_STACK : _URC_NO_REASON;
      },
      &walk);
  return walk.stack;
}

Ledger& ledger();

void lock_for_fork() TARE_UNCHECKED_LOCKS { ledger().mutex.lock(); }
void unlock_after_fork() TARE_UNCHECKED_LOCKS { ledger().mutex.unlock(); }

constexpr at_fork::Steps kRefLedgerForkSteps{
    .before = lock_for_fork, .in_parent = unlock_after_fork, .in_child = unlock_after_fork};

Ledger& ledger() {
  at_fork::guard(at_fork::Part::RefLedger, kRefLedgerForkSteps);
  return one_of_process(ref_ledger_details::the_ledger);
}

RefAccount described(const void* object, const Account& account) {
  RefAccount out{.object = object,
                 .type = account.type,
                 .size_bytes = account.size_bytes,
                 .serial = account.serial,
                 .held = account.holders.size(),
                 .in_nobodys_name = account.in_nobodys_name,
                 .sites = {}};
  out.sites.resize(account.sites.size());
  for (const auto& [stack, counts] : account.sites) {
    RefSite& site = out.sites[counts.order - 1];
    site.frames = stack.frames;
    site.frame_count = stack.count;
    site.taken = counts.taken;
    site.settled = counts.settled;
    site.given_up = counts.given_up;
    for (const auto& [holder, taken_at] : account.holders) {
      if (taken_at == &stack) site.holders.push_back(holder);
    }
    std::sort(site.holders.begin(), site.holders.end());
  }
  return out;
}

void print_frame(std::FILE* to, const void* address) {
  Dl_info info{};
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) {
    std::fprintf(to, "        %p\n", address);
    return;
  }
  const auto offset = [&](const void* base) {
    return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(base);
  };
  std::fprintf(to, "        %s(+0x%" PRIxPTR ")", info.dli_fname, offset(info.dli_fbase));
  if (info.dli_sname != nullptr) std::fprintf(to, " %s+0x%" PRIxPTR, info.dli_sname, offset(info.dli_saddr));
  std::fputc('\n', to);
}

}  // namespace

void RefLedger::enter(const void* object, std::string_view type, std::size_t size_bytes) noexcept {
  const Stack stack = callers();
  Ledger& all = ledger();
  const Lock lock(all.mutex);
  Account& account = all.accounts[object];
  account = {
      .type = type, .size_bytes = size_bytes, .serial = ++all.serial, .in_nobodys_name = 1, .sites = {}, .holders = {}};
  account.at(stack);  // the first site is where it was made
}

void RefLedger::leave(const void* object) noexcept {
  Ledger& all = ledger();
  const Lock lock(all.mutex);
  all.accounts.erase(object);
}

void RefLedger::add(const void* object, const void* holder) noexcept {
  const Stack stack = callers();
  Ledger& all = ledger();
  const Lock lock(all.mutex);
  const auto found = all.accounts.find(object);
  if (found == all.accounts.end()) return;  // immortal
  Account& account = found->second;
  ++account.at(stack).taken;
  if (holder == nullptr) {
    ++account.in_nobodys_name;
  } else {
    account.holders[holder] = &account.sites.find(stack)->first;
  }
}

void RefLedger::drop(const void* object, const void* holder) noexcept {
  const Stack stack = callers();
  Ledger& all = ledger();
  const Lock lock(all.mutex);
  const auto found = all.accounts.find(object);
  if (found == all.accounts.end()) return;
  Account& account = found->second;
  ++account.at(stack).given_up;
  const auto held = account.holders.find(holder);
  if (held == account.holders.end()) {
    --account.in_nobodys_name;
    return;
  }
  ++account.sites[*held->second].settled;
  account.holders.erase(held);
}

void RefLedger::pass(const void* object, const void* from, const void* to) noexcept {
  Ledger& all = ledger();
  const Lock lock(all.mutex);
  const auto found = all.accounts.find(object);
  if (found == all.accounts.end()) return;
  Account& account = found->second;
  const auto held = account.holders.find(from);
  if (held != account.holders.end()) {  // its place stays where it was taken first
    const Stack* taken_at = held->second;
    account.holders.erase(held);
    if (to != nullptr) {
      account.holders[to] = taken_at;
    } else {
      ++account.sites[*taken_at].settled;
      ++account.in_nobodys_name;
    }
  } else if (to != nullptr) {
    const Stack stack = callers();
    --account.in_nobodys_name;
    ++account.at(stack).taken;
    account.holders[to] = &account.sites.find(stack)->first;
  }
}

std::size_t RefLedger::size() noexcept {
  Ledger& all = ledger();
  const Lock lock(all.mutex);
  return all.accounts.size();
}

std::vector<RefAccount> RefLedger::accounts() {
  Ledger& all = ledger();
  std::vector<RefAccount> out;
  {
    const Lock lock(all.mutex);
    out.reserve(all.accounts.size());
    for (const auto& [object, account] : all.accounts) out.push_back(described(object, account));
  }
  std::sort(out.begin(), out.end(), [](const RefAccount& a, const RefAccount& b) { return a.serial < b.serial; });
  return out;
}

void RefLedger::print(std::FILE* to) {
  for (const RefAccount& account : accounts()) {
    std::fprintf(to, "%.*s #%" PRIu64 ", %zu bytes at %p: %" PRIu64 " references in RefPtrs, %" PRId64 " elsewhere\n",
                 static_cast<int>(account.type.size()), account.type.data(), account.serial, account.size_bytes,
                 account.object, account.held, account.in_nobodys_name);
    for (const RefSite& site : account.sites) {
      const char* separator = "    ";
      if (&site == account.sites.data()) {
        std::fprintf(to, "%smade", separator);
        separator = ", ";
      }
      if (site.taken != 0) {
        std::fprintf(to, "%staken %" PRIu64 ", settled %" PRIu64 ", held %zu", separator, site.taken, site.settled,
                     site.holders.size());
        for (const void* holder : site.holders) std::fprintf(to, " by %p", holder);
        separator = ", ";
      }
      if (site.given_up != 0) std::fprintf(to, "%sgiven up %" PRIu64, separator, site.given_up);
      std::fputs(" at\n", to);
      for (std::size_t i = 0; i < site.frame_count; ++i) print_frame(to, site.frames[i]);
    }
  }
}

}  // namespace tare::inline TARE_ABI
