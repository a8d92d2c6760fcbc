// <<<grid, block, shared, stream>>>, as the translation writes it: emu::launch(configuration, kernel, call, arguments…).
#pragma once
#include <tuple>
#include <utility>

#include "graphs.h"
#include "machine.h"

struct CUstream_st;
using cudaStream_t = CUstream_st*;

namespace emu {

struct Configuration {
  dim3 grid, block;
  size_t shared;
  cudaStream_t stream;
  bool cooperative = false;
  Configuration(dim3 g, dim3 b, size_t s = 0, cudaStream_t q = nullptr) : grid(g), block(b), shared(s), stream(q) {}
};

// A kernel is known by its address, or by its name where a template's arguments are deduced at the launch.
struct Kernel {
  const char* name;
  const void* address;
};

// Checks the configuration against the target's limits; sets the last error and returns false where it is refused.
bool admit(const Configuration& configuration, const Kernel& kernel);
// The kernel whose registers forbade its last launch, and how many threads they allow; empty where none did.
const char* refused_launch();
// Runs the grid in the current order; a fault becomes the sticky error.
void execute(void (*run_threads)(const void*), const void* body, bool cooperative);

template <class Body>
void run_threads(const void* body) {
  while (begin_next_thread()) {
    (*static_cast<const Body*>(body))();
    end_thread();
  }
}

template <class Call, class... Arguments>
void launch(const Configuration& configuration, Kernel kernel, Call call, Arguments... arguments) {
  if (captured([=] { launch(configuration, kernel, call, arguments...); })) return;
  if (!admit(configuration, kernel)) return;
  // Arguments are copied once, at the launch, and passed to every thread by value.
  const auto body = [&] { call(arguments...); };
  execute(run_threads<decltype(body)>, &body, configuration.cooperative);
}

template <class F>
const void* address_of(F* function) {
  return reinterpret_cast<const void*>(function);
}

}  // namespace emu
