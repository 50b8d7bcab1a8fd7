"""What a kernel holds in its hands: tensors, patterns, registers, dtypes, enums."""
