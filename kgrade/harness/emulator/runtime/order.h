// Which accesses are ordered: barriers order a block, meetings the lanes of a warp, fences and atomics threads and blocks.
#pragma once
#include "shadow.h"

namespace emu {

void order_launch_begins();
void order_block_begins();
void order_block_barrier();
void order_grid_barrier();
void order_warp_meeting(unsigned warp, unsigned lanes);
// An atomic takes over what others handed over at this address; with a fence before it, it also hands over.
void order_atomic(uintptr_t address, bool fenced);

Touch touch_now(uint32_t place, unsigned bytes_of_word, bool atomic);
// Whether what `before` records happened before what the current thread does now.
bool ordered_before(const Touch& before);

}  // namespace emu
