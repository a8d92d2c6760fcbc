#include "fibers.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

// ucontext would save the signal mask with a system call at each switch; a kernel with shuffles switches for every lane.
#if defined(__x86_64__)
asm(R"(
.text
.globl emu_switch
.hidden emu_switch
.type emu_switch, @function
emu_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size emu_switch, .-emu_switch
)");
#elif defined(__aarch64__)
asm(R"(
.text
.globl emu_switch
.hidden emu_switch
.type emu_switch, %function
emu_switch:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size emu_switch, .-emu_switch
)");
#else
#error "the emulator knows how to switch fibers on x86-64 and on AArch64 only"
#endif

namespace emu {
namespace {

constexpr unsigned kGuardPage = 4096;
constexpr unsigned kPerChunk = 1024;
constexpr unsigned kMaxChunks = 64;

char* chunks[kMaxChunks];
unsigned guarded = 0;  // stacks that have been used so far: each guard page splits a mapping, and those are limited

char* stack_of(unsigned fiber) {
  const unsigned chunk = fiber / kPerChunk;
  if (chunk >= kMaxChunks) {
    fprintf(stderr, "CPU emulation: more than %u CUDA threads wait at once\n", kMaxChunks * kPerChunk);
    abort();
  }
  if (chunks[chunk] == nullptr) {
    void* made = mmap(nullptr, kStackBytes * kPerChunk, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED) {
      perror("CPU emulation: no address space for the stacks of CUDA threads");
      abort();
    }
    chunks[chunk] = static_cast<char*>(made);
  }
  return chunks[chunk] + (fiber % kPerChunk) * kStackBytes;
}

}  // namespace

void* fresh_fiber(unsigned fiber, void (*main)()) {
  // A guard page under each stack: a local array past its end must not reach a neighbour's frames unseen.
  for (; guarded <= fiber; ++guarded) mprotect(stack_of(guarded), kGuardPage, PROT_NONE);
  // Stacks begin at different distances from a power of two: else all of them would share the same sets of the caches.
  const unsigned apart = fiber * 320 % 65536;
  auto* top = reinterpret_cast<void**>(stack_of(fiber) + kStackBytes - apart);
#if defined(__x86_64__)
  *--top = nullptr;                           // keeps the stack aligned as after a call
  *--top = reinterpret_cast<void*>(main);     // where `ret` goes
  for (int i = 0; i < 6; ++i) *--top = nullptr;
#else
  top -= 20;
  for (int i = 0; i < 20; ++i) top[i] = nullptr;
  top[11] = reinterpret_cast<void*>(main);    // x30, the return address
#endif
  return top;
}

bool on_fiber_stack(const void* address) {
  const char* at = static_cast<const char*>(address);
  for (char* chunk : chunks) {
    if (chunk == nullptr) return false;
    if (at >= chunk && at < chunk + kStackBytes * kPerChunk) return true;
  }
  return false;
}

}  // namespace emu
