"""Kernels of our own, written as one writes them for the chip; lesson ``05_kernels`` shows them.

``vector_add`` (a row at a time, then tiles), ``matmul`` (basic, tiled, hoisted loads, blocked,
fully blocked), ``softmax`` (step by step, then fused), ``attention`` (three kernels, then one),
``selective_scan`` (the three kernels whose device times AWS published), ``suspects`` (one of them
reads what nobody wrote).
"""
