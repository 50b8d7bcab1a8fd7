"""What a kernel works with: tensors, patterns, registers, dtypes, enums."""
