// Fibers: one stack for each CUDA thread that waits, and the switch between them.
#pragma once

namespace emu {

constexpr unsigned long kStackBytes = 2048 * 1024;  // address space only; pages appear when a thread touches them

// Saves the callee-saved registers on the current stack, stores its pointer in *save and goes on at `to`.
extern "C" void emu_switch(void** save, void* to);

// Makes fiber number `fiber` ready to run `main` from its beginning; returns the pointer to switch to.
void* fresh_fiber(unsigned fiber, void (*main)());

// Whether an address lies on some fiber's stack.
bool on_fiber_stack(const void* address);

}  // namespace emu
