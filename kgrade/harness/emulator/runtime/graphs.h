// Graphs by capture: what is asked of streams while one is captured is kept, and done in order at each launch.
#pragma once
#include <utility>

struct CUgraph_st;
struct CUgraphExec_st;
using cudaGraph_t = CUgraph_st*;
using cudaGraphExec_t = CUgraphExec_st*;

namespace emu {

bool capturing();
void record(void (*again)(const void*), const void* body);

// Keeps `work` for the graph being captured and returns true; returns false where none is.
template <class Work>
bool captured(const Work& work) {
  if (__builtin_expect(!capturing(), 1)) return false;
  record([](const void* body) { (*static_cast<const Work*>(body))(); }, new Work(work));
  return true;
}

}  // namespace emu
