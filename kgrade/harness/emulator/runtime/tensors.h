// Memory of tensors, as the checks of an extension know it. PyTorch allocates it, and code that is not watched writes it.
#pragma once
#include <cstddef>

namespace emu {

enum class Tensor : int { allocated, freed, forgotten };

// Bytes on both sides of a tensor in which every access is a fault.
constexpr size_t kTensorGuard = 1 << 16;

// Whether tensors come from the allocator that tells about them. Then memory that is unknown is somebody else's.
bool tensors_watched();
void know_tensors_again();  // after everything was forgotten

// Of the allocator: what all extensions of this process are told, and memory that is kept as long as it may be misused.
void tell_tensor(const void* address, size_t bytes, Tensor what);
void keep_freed_tensor(void* start, const void* address, size_t bytes);
void release_freed_tensors();

}  // namespace emu
