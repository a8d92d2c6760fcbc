// For extensions of PyTorch: its headers, as the CPU build has them, before the runtime makes this look like CUDA.
//
// Instead of torch/extension.h, which brings the whole C++ frontend: tensors, operators, the library, the bindings.
#pragma once
#pragma push_macro("__CUDA_ARCH__")
#undef __CUDA_ARCH__
#include <ATen/ATen.h>
#include <torch/types.h>
#include <torch/library.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/utils/pybind.h>
#pragma pop_macro("__CUDA_ARCH__")

#include "cuda_emulator.h"
#include "torch_device.h"
#include "torch_memory.h"
