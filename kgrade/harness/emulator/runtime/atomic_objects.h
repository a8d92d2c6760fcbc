// cuda::atomic and cuda::atomic_ref of libcu++, which order as the atomics of CUDA do.
#pragma once
#include "atomics.h"
#include "barrier_objects.h"
#include "barriers.h"

namespace cuda {

enum memory_order {
  memory_order_relaxed, memory_order_consume, memory_order_acquire, memory_order_release, memory_order_acq_rel, memory_order_seq_cst,
};
inline void atomic_thread_fence(memory_order, thread_scope = thread_scope_system) { emu::fence(); }

template <class T>
class atomic_operations {
 public:
  explicit atomic_operations(T* place) : place_(place) {}
  EMU_UNSEEN T load(memory_order order = memory_order_seq_cst, emu::Site site = emu::Site::here()) const {
    return emu::change(place_, site, [](T old) EMU_UNSEEN { return old; });
  }
  void store(T v, memory_order order = memory_order_seq_cst, emu::Site site = emu::Site::here()) const { exchange(v, order, site); }
  EMU_UNSEEN T exchange(T v, memory_order order = memory_order_seq_cst, emu::Site site = emu::Site::here()) const {
    released(order);
    return emu::change(place_, site, [v](T) EMU_UNSEEN { return v; });
  }
  EMU_UNSEEN bool compare_exchange_strong(T& expected, T v, memory_order order = memory_order_seq_cst,
                                          memory_order = memory_order_seq_cst, emu::Site site = emu::Site::here()) const {
    released(order);
    const T wanted = expected;
    const T old = emu::change(place_, site, [wanted, v](T old) EMU_UNSEEN { return memcmp(&old, &wanted, sizeof(T)) == 0 ? v : old; });
    expected = old;
    return memcmp(&old, &wanted, sizeof(T)) == 0;
  }
  bool compare_exchange_weak(T& expected, T v, memory_order order = memory_order_seq_cst,
                             memory_order failure = memory_order_seq_cst, emu::Site site = emu::Site::here()) const {
    return compare_exchange_strong(expected, v, order, failure, site);
  }
#define EMU_FETCH(name, expression)                                                                                 \
  EMU_UNSEEN T fetch_##name(T v, memory_order order = memory_order_seq_cst, emu::Site site = emu::Site::here()) const { \
    released(order);                                                                                                \
    return emu::change(place_, site, [v](T old) EMU_UNSEEN -> T { return T(expression); });                         \
  }
  EMU_FETCH(add, old + v)
  EMU_FETCH(sub, old - v)
  EMU_FETCH(and, old & v)
  EMU_FETCH(or, old | v)
  EMU_FETCH(xor, old ^ v)
  EMU_FETCH(min, v < old ? v : old)
  EMU_FETCH(max, old < v ? v : old)
#undef EMU_FETCH
  operator T() const { return load(); }
  T operator=(T v) const { store(v); return v; }
  T operator++() const { return fetch_add(T(1)) + T(1); }
  T operator++(int) const { return fetch_add(T(1)); }
  T operator--() const { return fetch_sub(T(1)) - T(1); }
  T operator--(int) const { return fetch_sub(T(1)); }
  T operator+=(T v) const { return fetch_add(v) + v; }
  T operator-=(T v) const { return fetch_sub(v) - v; }
  T operator&=(T v) const { return fetch_and(v) & v; }
  T operator|=(T v) const { return fetch_or(v) | v; }
  T operator^=(T v) const { return fetch_xor(v) ^ v; }
  static constexpr bool is_lock_free() { return true; }

 private:
  // An order that releases hands over what was written before.
  static void released(memory_order order) {
    if (order >= memory_order_release) emu::fence();
  }
  T* place_;
};

template <class T, thread_scope Scope = thread_scope_system>
class atomic_ref : public atomic_operations<T> {
 public:
  explicit atomic_ref(T& object) : atomic_operations<T>(&object) {}
  using atomic_operations<T>::operator=;
};

// It may lie in shared memory, which nothing constructs; so it finds its value wherever it lies.
template <class T, thread_scope Scope = thread_scope_system>
class atomic {
 public:
  atomic() = default;
  EMU_UNSEEN constexpr atomic(T v) : value_(v) {}
  atomic(const atomic&) = delete;
#define EMU_FORWARD(name)                                                                                   \
  template <class... Arguments> EMU_INLINE auto name(Arguments&&... arguments) {                            \
    return atomic_operations<T>(&value_).name(static_cast<Arguments&&>(arguments)...);                      \
  }
  EMU_FORWARD(load) EMU_FORWARD(store) EMU_FORWARD(exchange) EMU_FORWARD(compare_exchange_strong)
  EMU_FORWARD(compare_exchange_weak) EMU_FORWARD(fetch_add) EMU_FORWARD(fetch_sub) EMU_FORWARD(fetch_and) EMU_FORWARD(fetch_or)
  EMU_FORWARD(fetch_xor) EMU_FORWARD(fetch_min) EMU_FORWARD(fetch_max) EMU_FORWARD(operator++) EMU_FORWARD(operator--)
  EMU_FORWARD(operator+=) EMU_FORWARD(operator-=)
#undef EMU_FORWARD
  operator T() { return load(); }
  T operator=(T v) { store(v); return v; }

 private:
  T value_;
};

namespace std {
using ::cuda::atomic_thread_fence;
using ::cuda::memory_order;
using ::cuda::memory_order_acq_rel;
using ::cuda::memory_order_acquire;
using ::cuda::memory_order_consume;
using ::cuda::memory_order_relaxed;
using ::cuda::memory_order_release;
using ::cuda::memory_order_seq_cst;
template <class T> using atomic_ref = ::cuda::atomic_ref<T>;
template <class T> using atomic = ::cuda::atomic<T>;
using namespace ::std;  // what libcu++ takes over from the C++ library
}  // namespace std

}  // namespace cuda
