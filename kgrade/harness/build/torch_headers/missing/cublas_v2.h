// Declared by kgrade where the toolkit has no cublas: what PyTorch's own headers name, and no function of the library.
#pragma once
#include <cuda_runtime.h>

enum cublasStatus_t : int { CUBLAS_STATUS_SUCCESS = 0, CUBLAS_STATUS_NOT_INITIALIZED = 1, CUBLAS_STATUS_INVALID_VALUE = 7 };
using cublasHandle_t = struct cublasContext*;
