"""Names of torch_xla and torch_neuronx that are not built, and what to take instead."""

__all__ = ["ELSEWHERE", "NOT_BUILT"]

_RANKS = "let each NeuronCore have a process (torchrun) and gradients their mean: xm.optimizer_step"
_SHARDED = "ZeroRedundancyOptimizer shards an optimiser's state, and " + _RANKS
_GATHER = "xm.all_gather gives every rank the tensors of all, of which it takes its part"
_ONE_BY_ONE = "call xm.all_gather or xm.reduce_scatter for each tensor"
_HLO = "the run's graph and its timing are in the report: run --report DIR"
_INFERENCE = "trace the model for each shape and each set of weights: torch_neuronx.trace"
_PLACED = dict.fromkeys(
    ("multicore_context", "neuron_cores_context", "set_multicore", "set_neuron_cores"),
    "models that threads call are on the NeuronCores in turn; torch_neuronx.DataParallel takes all",
)  # fmt: skip
_PROFILE = "the run's timeline is in the report: run --report DIR"
_OWN = "it is of the real package's inside; tensors move with .to(device) and .cpu()"

_HELPER = "it is a helper of the real package's own; what it does takes a line or two of Python"

#: Module → name → what to do instead.
NOT_BUILT: dict[str, dict[str, str]] = {
    "torch_xla": {
        "set_custom_compile_options": "set NEURON_CC_FLAGS",
        "save_as_stablehlo": _HLO, "save_torch_model_as_stablehlo": _HLO,
    },
    "torch_xla.core.xla_model": {
        "CoalescingBuckets": _ONE_BY_ONE, "all_gather_bucketized": _ONE_BY_ONE,
        "reduce_scatter_bucketized": _ONE_BY_ONE, "send": _GATHER, "recv": _GATHER,
        "all_reduce_bucketized_gradients": "xm.reduce_gradients(optimizer) does it",
        "get_stablehlo": _HLO, "get_stablehlo_bytecode": _HLO,
        "xla_replication_devices": _RANKS, "CollectiveContext": _RANKS,
        "DeviceContext": _OWN, "ToXlaTensorArena": _OWN, "check_view_sharing": _OWN,
        "MemoryInfo": "xm.get_memory_info() returns a plain dict", "parse_xla_device": _HELPER,
        "xla_rendezvous": "xm.rendezvous(tag, payload) meets all ranks",
    },
    "torch_xla.core.functions": {
        "distributed_mm": _GATHER, "nms": "torchvision.ops.nms on the CPU has the boxes to keep",
    },
    "torch_xla.distributed.spmd": dict.fromkeys(
        ("Mesh", "get_global_mesh", "mark_sharding", "set_global_mesh"), _RANKS),
    "torch_xla.distributed.fsdp": dict.fromkeys(
        ("XlaFullyShardedDataParallel", "checkpoint_module"), _SHARDED),
    "torch_xla.distributed.fsdp.wrap": dict.fromkeys(
        ("recursive_wrap", "size_based_auto_wrap_policy", "transformer_auto_wrap_policy"),
        _SHARDED),
    "torch_xla.experimental": {"eager_mode": "set NEURON_USE_EAGER_DEBUG_MODE=1"},
    "torch_xla.distributed.xla_multiprocessing": {"create_optimized_replica_groups": _RANKS},
    "torch_xla.utils.utils": dict.fromkeys(
        ("Cleaner", "DataWrapper", "FnDataGenerator", "LazyProperty", "TmpFolder",
         "for_each_instance", "for_each_instance_rewrite"), _OWN) | dict.fromkeys(
        ("as_list", "check_env_flag", "flatten_nested_tuple", "get_free_tcp_ports", "get_print_fn",
         "list_copy_append", "null_print", "parallel_work", "shape", "timed"), _HELPER),
    "torch_xla.runtime": dict.fromkeys(
        ("get_master_ip", "global_runtime_device_attributes", "requires_pjrt",
         "runtime_device_attributes", "set_device_type"), _HELPER),
    "torch_xla.utils.serialization": {"TensorReference": _OWN},
    "torch_xla.test.test_utils": {"mp_test": _RANKS},
    "torch_xla.debug.profiler": dict.fromkeys(
        ("get_tracer_marked_step", "set_tracer_marked_step"), _PROFILE),
    "torch_neuronx": dict.fromkeys(
        ("BucketModelConfig", "PartitionerConfig", "analyze", "bucket_model_trace",
         "replace_weights"), _INFERENCE) | _PLACED,
    "torch_neuronx.experimental": _PLACED,
}  # fmt: skip

#: Beginning of a module's name → what to do instead.
ELSEWHERE = {
    "torch_xla.distributed.fsdp": _SHARDED,
    "torch_xla.distributed.spmd": _RANKS,
    "torch_xla.distributed.data_parallel": _RANKS,
    "torch_xla.experimental": "only what training on Trn1 takes is, from torch_xla.core.xla_model",
    "torch_xla.stablehlo": _HLO,
    "torch_xla.core.xla_builder": _HLO,
    "torch_xla.core": "torch_xla.core.xla_model and .functions are",
    "torch_xla.utils": "torch_xla.utils.utils, .checkpoint and .serialization are",
    "torch_xla.debug": "torch_xla.debug.metrics and .profiler are",
    "torch_xla.distributed": "torch_xla.distributed.xla_multiprocessing, .parallel_loader and "
                             ".xla_backend are",
    "neuronx_distributed": _SHARDED,
    "neuronx_distributed_training": _SHARDED,
    "optimum": "transformers.Trainer trains on this device",
    "torch_neuronx": "torch_neuronx.trace and torch_neuronx.utils are",
}  # fmt: skip
