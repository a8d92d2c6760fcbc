// cuda::pipeline of libcu++: stages that producers fill and consumers empty, in their synchronous meaning.
#pragma once
#include "barrier_objects.h"

namespace cuda {

enum class pipeline_role { producer, consumer };

// One count for each stage: producers that have committed it, and consumers that have released it, since the beginning.
// Nobody commits a stage again before all have released it, so sums over the threads tell enough.
template <thread_scope Scope, unsigned char Stages>
struct pipeline_shared_state {
  unsigned long committed[Stages], released[Stages];
  unsigned producers;  // counted where each thread states its role
};

template <thread_scope Scope>
class pipeline {
 public:
  pipeline() = default;
  EMU_UNSEEN pipeline(unsigned long* committed, unsigned long* released, unsigned stages, unsigned producers,
                      unsigned consumers)
      : committed_(committed), released_(released), stages_(stages), producers_(producers), consumers_(consumers) {}

  EMU_UNSEEN void producer_acquire() {
    if (committed_ == nullptr || head_ < stages_) return;
    const volatile unsigned long& released = released_[head_ % stages_];
    while (released < consumers_ * (head_ / stages_)) emu::yield();
  }
  EMU_UNSEEN void producer_commit() {
    emu::commit_copies();
    if (committed_ != nullptr) {
      emu::wait_copies(0);  // others may wait for it, and not this thread
      if (++committed_[head_ % stages_] % producers_ == 0) emu::all_arrived();
    }
    ++head_;
  }
  EMU_UNSEEN void consumer_wait() {
    if (committed_ == nullptr) return emu::wait_copies(unsigned(head_ - tail_ - 1));
    const volatile unsigned long& committed = committed_[tail_ % stages_];
    while (committed < producers_ * (tail_ / stages_ + 1)) emu::yield();
  }
  EMU_UNSEEN void consumer_release() {
    if (committed_ != nullptr && ++released_[tail_ % stages_] % consumers_ == 0) emu::all_arrived();
    ++tail_;
  }
  // Of a thread's own pipeline: all but the last `left` stages.
  EMU_UNSEEN void wait_prior(unsigned left) { emu::wait_copies(left); }
  bool quit() { return true; }

 private:
  unsigned long *committed_ = nullptr, *released_ = nullptr;  // null: a thread's own
  unsigned stages_ = 1, producers_ = 1, consumers_ = 1;
  unsigned long head_ = 0, tail_ = 0;  // stages that this thread has committed and released
};

inline pipeline<thread_scope_thread> make_pipeline() { return {}; }

template <class Group, thread_scope Scope, unsigned char Stages>
EMU_UNSEEN pipeline<Scope> make_pipeline(const Group& group, pipeline_shared_state<Scope, Stages>* state, size_t producers) {
  if (group.thread_rank() == 0) *state = {};
  group.sync();
  return {state->committed, state->released, Stages, unsigned(producers), unsigned(group.size() - producers)};
}
template <class Group, thread_scope Scope, unsigned char Stages>
EMU_UNSEEN pipeline<Scope> make_pipeline(const Group& group, pipeline_shared_state<Scope, Stages>* state) {
  if (group.thread_rank() == 0) *state = {};
  group.sync();
  return {state->committed, state->released, Stages, unsigned(group.size()), unsigned(group.size())};
}
template <class Group, thread_scope Scope, unsigned char Stages>
EMU_UNSEEN pipeline<Scope> make_pipeline(const Group& group, pipeline_shared_state<Scope, Stages>* state, pipeline_role role) {
  if (group.thread_rank() == 0) *state = {};
  group.sync();
  state->producers += role == pipeline_role::producer;
  group.sync();
  const unsigned producers = state->producers;
  return {state->committed, state->released, Stages, producers, unsigned(group.size()) - producers};
}

template <unsigned char Left>
EMU_UNSEEN void pipeline_consumer_wait_prior(pipeline<thread_scope_thread>& stages) { stages.wait_prior(Left); }

}  // namespace cuda
