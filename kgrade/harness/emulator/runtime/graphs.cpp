#include "graphs.h"

#include <memory>
#include <vector>

#include "host.h"

namespace emu {
namespace {

struct Work {
  void (*again)(const void*);
  const void* body;  // kept for good: instances of a graph outlive it
};

}  // namespace
}  // namespace emu

struct CUgraph_st {
  std::vector<emu::Work> work;
};
struct CUgraphExec_st {
  std::vector<emu::Work> work;
};

namespace emu {
namespace {
std::unique_ptr<CUgraph_st> open_graph;  // streams are one here, and so are their captures
}

bool capturing() { return open_graph != nullptr; }

void record(void (*again)(const void*), const void* body) { open_graph->work.push_back({again, body}); }

}  // namespace emu

cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) {
  if (emu::capturing()) return cudaErrorIllegalState;
  emu::open_graph = std::make_unique<CUgraph_st>();
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t* graph) {
  if (!emu::capturing()) return cudaErrorIllegalState;
  *graph = emu::open_graph.release();
  return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  *status = emu::capturing() ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph, unsigned long long) {
  if (graph == nullptr) return cudaErrorInvalidValue;
  *made = new CUgraphExec_st{graph->work};
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t) {
  if (graph == nullptr) return cudaErrorInvalidValue;
  for (const emu::Work& work : graph->work) work.again(work.body);
  return cudaPeekAtLastError();
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t*, size_t* count) {
  *count = graph->work.size();
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  delete graph;
  return cudaSuccess;
}
