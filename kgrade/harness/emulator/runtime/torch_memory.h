// The allocator of CPU tensors under the checks: it tells them what belongs to whom, and leaves room between tensors.
#pragma once
#ifdef EMU_CHECKS
#include <c10/core/Allocator.h>

#include <cstdlib>
#include <cstring>

#include "tensors.h"

namespace emu {

class TensorAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    auto* start = static_cast<unsigned char*>(aligned_alloc(64, (kTensorGuard + bytes + kTensorGuard + 63) / 64 * 64));
    if (start == nullptr) throw std::bad_alloc();
    unsigned char* address = start + kTensorGuard;
    memcpy(start, &bytes, sizeof bytes);
    tell_tensor(address, bytes, Tensor::allocated);
    return {address, address, &freed, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &freed; }
  void copy_data(void* to, const void* from, size_t bytes) const override { memcpy(to, from, bytes); }

 private:
  static void freed(void* address) {
    if (address == nullptr) return;
    auto* start = static_cast<unsigned char*>(address) - kTensorGuard;
    size_t bytes;
    memcpy(&bytes, start, sizeof bytes);
    tell_tensor(address, bytes, Tensor::freed);
    keep_freed_tensor(start, address, bytes);
  }
};

}  // namespace emu

// Only the first extension of a process is asked to: there is one allocator, and it tells all of them.
extern "C" __attribute__((visibility("default"), weak)) void kgrade_emulator_watch_tensors() {
  c10::SetAllocator(c10::DeviceType::CPU, new emu::TensorAllocator, 255);
}
#endif
