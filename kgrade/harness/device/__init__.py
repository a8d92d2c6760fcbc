"""The GPUs of this machine: which are there, what they do while a kernel is timed, and whose turn it is on one."""
