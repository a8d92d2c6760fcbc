// Instead of PyTorch's torch/extension.h, whose C++ frontend and bindings take nvcc three times as long to read as its
// tensors. Sources that need more than these are compiled once more, with the whole of it.
#pragma once
#include <torch/types.h>
#include <torch/library.h>
