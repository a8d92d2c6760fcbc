// What `-fsanitize=thread` calls before every access. In host code, and in PyTorch's, the checks look away.
#ifdef EMU_CHECKS
#include <cstdint>

#include "findings.h"
#include "observer.h"

using emu::Access;

#define EMU_CALLED extern "C" __attribute__((visibility("hidden")))
#define EMU_SEEN(how, bytes, natural) \
  emu::check(const_cast<const void*>((const volatile void*)address), bytes, Access::how, emu::place_of(__builtin_return_address(0)), natural)

#define EMU_HOOK(name, how, bytes, natural) \
  EMU_CALLED void name(void* address) { EMU_SEEN(how, bytes, natural); }
#define EMU_HOOKS(bytes)                                               \
  EMU_HOOK(__tsan_read##bytes, read, bytes, true)                      \
  EMU_HOOK(__tsan_write##bytes, write, bytes, true)                    \
  EMU_HOOK(__tsan_unaligned_read##bytes, read, bytes, false)           \
  EMU_HOOK(__tsan_unaligned_write##bytes, write, bytes, false)         \
  EMU_HOOK(__tsan_volatile_read##bytes, volatile_read, bytes, true)    \
  EMU_HOOK(__tsan_volatile_write##bytes, volatile_write, bytes, true)  \
  EMU_HOOK(__tsan_unaligned_volatile_read##bytes, volatile_read, bytes, false) \
  EMU_HOOK(__tsan_unaligned_volatile_write##bytes, volatile_write, bytes, false)
EMU_HOOKS(1)
EMU_HOOKS(2)
EMU_HOOKS(4)
EMU_HOOKS(8)
EMU_HOOKS(16)

EMU_CALLED void __tsan_read_range(void* address, size_t bytes) { EMU_SEEN(read, bytes, false); }
EMU_CALLED void __tsan_write_range(void* address, size_t bytes) { EMU_SEEN(write, bytes, false); }
EMU_CALLED void __tsan_init() {}
EMU_CALLED void __tsan_func_entry(void*) {}
EMU_CALLED void __tsan_func_exit() {}
EMU_CALLED void __tsan_vptr_read(void*) {}
EMU_CALLED void __tsan_vptr_update(void*, void*) {}

// Atomics of C++, which the compiler replaces by calls: guards of statics, and the counts of references of tensors.
#define EMU_CHANGE(bits, type, name)                                                        \
  EMU_CALLED type __tsan_atomic##bits##_##name(volatile type* address, type v, int) {       \
    EMU_SEEN(atomic, sizeof(type), true);                                                   \
    return __atomic_##name(address, v, __ATOMIC_SEQ_CST);                                   \
  }
#define EMU_COMPARE(bits, type, name, weak)                                                              \
  EMU_CALLED bool __tsan_atomic##bits##_##name(volatile type* address, type* expected, type v, int, int) { \
    EMU_SEEN(atomic, sizeof(type), true);                                                                \
    return __atomic_compare_exchange_n(address, expected, v, weak, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);  \
  }
#define EMU_ATOMICS(bits, type)                                                      \
  EMU_CALLED type __tsan_atomic##bits##_load(const volatile type* address, int) {    \
    EMU_SEEN(volatile_read, sizeof(type), true);                                     \
    return __atomic_load_n(address, __ATOMIC_SEQ_CST);                               \
  }                                                                                  \
  EMU_CALLED void __tsan_atomic##bits##_store(volatile type* address, type v, int) { \
    EMU_SEEN(volatile_write, sizeof(type), true);                                    \
    __atomic_store_n(address, v, __ATOMIC_SEQ_CST);                                  \
  }                                                                                  \
  EMU_CALLED type __tsan_atomic##bits##_exchange(volatile type* address, type v, int) { \
    EMU_SEEN(atomic, sizeof(type), true);                                            \
    return __atomic_exchange_n(address, v, __ATOMIC_SEQ_CST);                        \
  }                                                                                  \
  EMU_CHANGE(bits, type, fetch_add)                                                  \
  EMU_CHANGE(bits, type, fetch_sub)                                                  \
  EMU_CHANGE(bits, type, fetch_and)                                                  \
  EMU_CHANGE(bits, type, fetch_or)                                                   \
  EMU_CHANGE(bits, type, fetch_xor)                                                  \
  EMU_CHANGE(bits, type, fetch_nand)                                                 \
  EMU_COMPARE(bits, type, compare_exchange_strong, false)                            \
  EMU_COMPARE(bits, type, compare_exchange_weak, true)
EMU_ATOMICS(8, char)
EMU_ATOMICS(16, short)
EMU_ATOMICS(32, int)
EMU_ATOMICS(64, long)
EMU_CALLED void __tsan_atomic_thread_fence(int) {}
EMU_CALLED void __tsan_atomic_signal_fence(int) {}
#endif
