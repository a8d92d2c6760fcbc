// Declared by kgrade where the toolkit has no cublasLt: what PyTorch's own headers name.
#pragma once
#include <cublas_v2.h>

using cublasLtHandle_t = struct cublasLtContext*;
