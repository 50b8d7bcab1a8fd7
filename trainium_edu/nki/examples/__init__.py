"""Kernels of our own, written as one writes them for the chip; lesson ``05_kernels`` walks through them.

``vector_add`` (a row at a time, then tiles), ``matmul`` (basic, tiled, hoisted loads, blocked, fully
blocked), ``softmax`` (step by step, then fused) and ``attention`` (three kernels, then one).
"""
