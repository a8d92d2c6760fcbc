// Shared memory: static variables of the object, one for each __shared__ declaration (and instantiation of a template).
// Blocks run one at a time, so one copy is enough; a block that is put aside takes a copy of its own along.
#pragma once
#include "machine.h"

namespace emu {

void register_shared(unsigned char* storage, size_t bytes);
void declare_shared(const unsigned char* storage, size_t bytes, const char* name);  // for the checks, once a thread

constexpr size_t kSharedStaticLimit = 48 * 1024;

template <class T, class Tag>
struct SharedVariable {
  static_assert(sizeof(T) <= kSharedStaticLimit, "uses too much shared data: 48 KB of static shared memory at most");
  alignas(128) static inline unsigned char storage[kGuard + sizeof(T) + kGuard];
  static inline const bool registered = (register_shared(storage + kGuard, sizeof(T)), true);
};

// `Tag` is the type of a lambda expression at the declaration, and so different for every one of them.
template <class T, class Tag>
inline T& shared_variable(Tag, [[maybe_unused]] const char* name) {
  using Variable = SharedVariable<T, Tag>;
  (void)Variable::registered;
#ifdef EMU_CHECKS
  declare_shared(Variable::storage + kGuard, sizeof(T), name);
#endif
  return *reinterpret_cast<T*>(Variable::storage + kGuard);
}

template <class T>
inline T* dynamic_shared() {
  return reinterpret_cast<T*>(dynamic_storage + kGuard);
}

}  // namespace emu

// `extern __shared__ T name[];` is a reference to an array without bound, so that it decays and casts as in CUDA.
#define EMU_DYNAMIC_SHARED(type, name) type(&name)[] = reinterpret_cast<type(&)[]>(*(emu::dynamic_storage + emu::kGuard))
