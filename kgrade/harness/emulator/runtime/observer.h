// What the checks want to be told. All are null in an object compiled without checks.
#pragma once
#include <cstddef>
#include <cstdint>

#include "machine.h"

namespace emu {

// A volatile access is ordered and never torn, like an atomic one, but only reads or only writes.
enum class Access : unsigned char { read, write, atomic, volatile_read, volatile_write };

constexpr bool reads(Access how) { return how != Access::write && how != Access::volatile_write; }
constexpr bool writes(Access how) { return how != Access::read && how != Access::volatile_read; }
constexpr bool synchronises(Access how) { return how != Access::read && how != Access::write; }

struct Observer {
  void (*launch_begins)();
  void (*launch_ends)();
  void (*block_begins)();
  void (*block_ends)();
  void (*block_barrier)();                                 // all living threads have passed
  void (*grid_barrier)();                                  // all blocks have passed
  void (*warp_meeting)(unsigned warp, unsigned lanes);     // `lanes` of the warp have met
  void (*divergence)(const char* what, Site site);  // found by the scheduler in the current thread
  void (*standstill)(const char* why);
  void (*shared)(const void* storage, size_t bytes, const char* name);
  void (*allocated)(const void* address, size_t bytes, const char* name, bool initialised);
  void (*freed)(const void* address);
  bool (*host_access)(const void* address, size_t bytes, bool write, const char* what);
};

extern Observer observer;

// What the checks do with an access at `place` of the object; `natural` ones must lie at a multiple of their size.
void check(const void* address, size_t bytes, Access how, uint32_t place, bool natural);

}  // namespace emu
