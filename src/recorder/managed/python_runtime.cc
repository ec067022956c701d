// Tells versions of CPython apart by the functions that they export, so that nothing of the interpreter is called.
// SPDX-License-Identifier: Apache-2.0
#include "recorder/managed/python_runtime.h"

#include "recorder/unwind/definitions.h"

namespace tare::recorder {
namespace {

constinit PythonRuntime g_runtime{};
constinit std::atomic<std::uint32_t> g_state{0};
constinit std::atomic<std::atomic<std::uint32_t>*> g_word{nullptr};

std::uint64_t address_of(const Definition& definition) { return reinterpret_cast<std::uint64_t>(definition.address); }

void publish_state() {
  if (std::atomic<std::uint32_t>* const word = g_word.load(std::memory_order_acquire); word != nullptr) {
    word->store(g_state.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }
}

void store(trace::PythonState state, int minor) {
  g_state.store(trace::python_word(state, minor), std::memory_order_release);
  publish_state();
}

}  // namespace

bool find_python(std::uint64_t address) {
  if (g_state.load(std::memory_order_acquire) != 0) return false;
  // Without the first an object isn't looked at further. The last three are new in 3.9, 3.10 and 3.11.
  Definition found[] = {{"PyGILState_GetThisThreadState"},
                        {"_PyRuntime"},
                        {"PyCode_Type"},
                        {"PyUnicode_Type"},
                        {"PyBytes_Type"},
                        {"_PyEval_EvalFrameDefault"},
                        {"PyModule_AddType"},
                        {"PyModule_AddObjectRef"},
                        {"Py_Version"}};
  find_definitions_around(found, 1, address);
  if (found[0].address == nullptr) return false;
  find_definitions_around(found, sizeof(found) / sizeof(found[0]), address);
  PythonRuntime runtime{};
  if (found[8].address != nullptr) {
    runtime.minor = static_cast<int>(*static_cast<const unsigned long*>(found[8].address) >> 16 & 0xff);
  } else if (found[7].address != nullptr) {
    runtime.minor = 10;
  } else if (found[6].address != nullptr) {
    runtime.minor = 9;
  }
  const bool is_whole = found[1].address != nullptr && found[2].address != nullptr && found[3].address != nullptr &&
                        found[4].address != nullptr;
  trace::PythonState state = trace::PythonState::Unproven;
  if (!is_whole || runtime.minor < kFirstPython || runtime.minor > kLastPython) {
    state = trace::PythonState::UnknownVersion;
  } else if (runtime.minor < kFirstPublishedLayout) {
    runtime.layout = known_layout(runtime.minor);
  } else {
    switch (published_layout(found[1].address, runtime.minor, runtime.layout)) {
      case PublishedLayout::Good:
        break;
      case PublishedLayout::FreeThreaded:
        state = trace::PythonState::FreeThreaded;
        break;
      case PublishedLayout::Unknown:
        state = trace::PythonState::UnknownLayout;
    }
  }
  std::uint32_t none = 0;
  if (!g_state.compare_exchange_strong(none, trace::python_word(state, runtime.minor), std::memory_order_acq_rel)) {
    return false;
  }
  runtime.thread_state = reinterpret_cast<std::uint64_t (*)()>(found[0].address);
  runtime.code_type = address_of(found[2]);
  runtime.text_type = address_of(found[3]);
  runtime.bytes_type = address_of(found[4]);
  runtime.evaluation_start = address_of(found[5]);
  runtime.evaluation_end = runtime.evaluation_start + found[5].bytes;
  g_runtime = runtime;
  publish_state();
  return state == trace::PythonState::Unproven;
}

const PythonRuntime& python_runtime() { return g_runtime; }

void set_python_state(trace::PythonState state) { store(state, g_runtime.minor); }

trace::PythonState python_state() { return trace::python_state_of(g_state.load(std::memory_order_acquire)); }

void attach_python_state(std::atomic<std::uint32_t>* word) {
  g_word.store(word, std::memory_order_release);
  if (word != nullptr) publish_state();
}

}  // namespace tare::recorder
