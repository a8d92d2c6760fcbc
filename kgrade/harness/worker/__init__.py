"""What runs behind the wall. It imports nothing of kgrade but itself, and needs numpy and the kernel's framework.

The one exception: Triton's interpreter needs ml_dtypes for bfloat16 and float8. Kept to the syntax of Python 3.9,
because it runs in whatever Python a site's own torch, JAX or Neuron lives in.
"""
