"""Reads and checks the header of a GGUF file without llama.cpp and without trusting the file.

llama.cpp ends the process on many values that it does not expect, so they are turned away here. The format: magic,
version, counts, typed key-value pairs, one record for each tensor, then the tensors' data, aligned (the GGUF
specification of the ggml project). What each bound follows from is named beside it, by llama.cpp's source file.
"""

from atomr_local.gguf.checks import check_adapter, check_adapters, check_model
from atomr_local.gguf.header import GgufHeader, read_header

__all__ = ["GgufHeader", "check_adapter", "check_adapters", "check_model", "read_header"]
