"""Kernels of our own, written as one writes them for the chip; lesson ``05_kernels`` shows them.

``vector_add`` (a row at a time, then tiles), ``matmul`` (basic, tiled, hoisted loads, blocked,
fully blocked), ``softmax`` (step by step, then fused), ``attention`` (three kernels, then one),
``selective_scan`` (five kernels whose device times were published, three of them by AWS),
``suspects`` (one of them reads what nobody wrote).
"""
