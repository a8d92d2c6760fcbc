// Declared by kgrade where the toolkit has no cusolver: what PyTorch's own headers name.
#pragma once
#include <cusolver_common.h>

using cusolverDnHandle_t = struct cusolverDnContext*;
