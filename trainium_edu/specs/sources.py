"""Who says so: every document that a fact may cite, with the edition we read.

A documentation page changes; a figure belongs to one edition of it.  Pages of the public repository
``aws-neuron/aws-neuron-sdk`` therefore carry the commit at which they were read, and ``url`` leads
to exactly that text.
"""

from dataclasses import dataclass
from typing import Any

from trainium_edu.specs.fact import Fact, Kind
from trainium_edu.specs.signatures import checked

__all__ = ["SOURCES", "Source"]

_SDK = "https://github.com/aws-neuron/aws-neuron-sdk/blob/"
_DOCS = "https://awsdocs-neuron.readthedocs-hosted.com/en/"


@dataclass(frozen=True, slots=True)
class Source:
    """One document, in one edition."""

    key: str
    title: str
    publisher: str
    date: str  #: ISO date, month or year of the edition we read
    url: str  #: where the public finds it; "" for our own reasons and for memory
    kind: Kind = Kind.DOCUMENTED  #: what a fact from here is unless it says otherwise

    @property
    def slug(self) -> str:
        """Its cell in the glossary: lessons link ``glossary.ipynb#cell-id=source-SLUG``."""
        return self.key.replace(".", "-")

    @property
    def cited(self) -> str:
        """How prose names it: how we know, and the key as a link to the document."""
        return f"{self.kind}: [{self.key}]({self.url})"

    @property
    def markdown(self) -> str:
        """The source as its cell in ``notebooks/glossary.ipynb`` shows it, in two lines."""
        title = f"[{self.title}]({self.url})" if self.url else self.title
        return f"`{self.key}`: {title}<br><small>{self.publisher}, {self.date}</small>"

    @checked
    def says(
        self, value: Any, unit: str, locator: str, note: str = "", *, kind: Kind | None = None
    ) -> Fact:
        """Make a fact that this source states at ``locator``.

        Examples
        --------
        >>> print(SOURCES["nki-trn1-arch"].says(128, "partitions", "NeuronCore-v2 Compute Engines"))
        128 partitions (documented: nki-trn1-arch, NeuronCore-v2 Compute Engines, 2026-07-17)
        """
        return Fact(value, unit, self.key, locator, kind or self.kind, self.date, note)


def _sdk(key, title, commit, date, path, publisher="AWS Neuron SDK documentation"):
    return Source(key, title, publisher, date, f"{_SDK}{commit}/{path}")


_ARCH = "about-neuron/arch"
_OLD_TRN1 = "general/arch/neuron-hardware/trn1-arch.rst"
_ALL = (
    # the core and its kernel interface
    _sdk("nki-trn1-arch", "Trainium/Inferentia2 Architecture Guide for NKI", "fb4ce106",
         "2026-07-17", "nki/guides/architecture/trainium_inferentia2_arch.rst"),
    _sdk("nki-trn3-arch", "Trainium3 Architecture Guide for NKI", "b4c4f417", "2026-03-10",
         "nki/guides/architecture/trainium3_arch.rst"),
    _sdk("nki-perf-guide", "NKI Performance Optimizations", "fb4ce106", "2026-07-17",
         "nki/deep-dives/nki_perf_guide.rst"),
    _sdk("nki-dma-guide", "Guideline to Avoid Under-Utilizing DMA Bandwidth", "8255619d",
         "2026-04-13", "nki/deep-dives/nki-dma-bandwidth-guide.rst"),
    _sdk("nki-dma-overview", "Introduction to Direct Memory Access (DMA) with NKI", "fb4ce106",
         "2026-07-17", "nki/get-started/about/nki-dma-overview.rst"),
    _sdk("nki-isa", "NKI ISA reference (NKI 0.6.0)", "a3247f5b", "2026-08-17",
         "nki/api/nki/isa/__init__.py"),
    _sdk("nki-isa-shared", "NKI ISA API Common Fields (NKI 0.6.0)", "a3247f5b", "2026-08-17",
         "nki/api/nki.api.shared.rst"),
    _sdk("nki-isa-2.26", "NKI ISA reference, SDK 2.26, the last edition with instruction costs",
         "49ee15c5", "2025-09-18", "general/nki/api/nki/isa/__init__.py"),
    _sdk("nki-allocation-2.26", "NKI Direct Allocation Developer Guide, SDK 2.26", "49ee15c5",
         "2025-09-18", "general/nki/nki_direct_allocation_guide.rst"),
    _sdk("nki-simulator", "NKI CPU Simulator", "a3247f5b", "2026-08-17",
         "nki/guides/nki_simulator.rst"),
    _sdk("nki-release-notes", "Release Notes: Neuron Kernel Interface", "a3247f5b", "2026-08-17",
         "release-notes/components/nki.rst"),
    Source("nki-release-notes-0.7", "Release Notes: Neuron Kernel Interface, first paragraphs",
           "AWS Neuron SDK documentation", "2026-10-19",
           f"{_DOCS}v2.33.1/release-notes/components/nki.html"),
    Source("nki-migration-0.7", "NKI Migration Guides, first paragraphs",
           "AWS Neuron SDK documentation", "2026-10-19",
           f"{_DOCS}v2.33.1/nki/migration/index.html"),
    _sdk("nki-lnc", "Using Logical Neuron Cores (LNC)", "a3247f5b", "2026-08-17",
         "nki/get-started/about/lnc.rst"),
    _sdk("aws-lnc", "Logical NeuronCore configuration", "a3247f5b", "2026-08-17",
         f"{_ARCH}/neuron-features/logical-neuroncore-config.rst"),
    _sdk("nki-mamba-tutorial", "Fused Mamba tutorial", "fb4ce106", "2026-07-17",
         "nki/guides/tutorials/fused_mamba.rst"),
    _sdk("nki-matmul-tutorial", "Matrix Multiplication tutorial", "9e682577", "2026-06-10",
         "nki/guides/tutorials/matrix_multiplication.rst"),
    _sdk("nki-matmul-tutorial-2.26", "Matrix multiplication tutorial, SDK 2.26", "49ee15c5",
         "2025-09-18", "general/nki/tutorials/matrix_multiplication.rst"),
    # chips, instances, formats
    _sdk("aws-neuroncore-v2", "NeuronCore-v2 Architecture", "1db4d74e", "2025-10-17",
         f"{_ARCH}/neuron-hardware/neuron-core-v2.rst"),
    _sdk("aws-trainium-page", "Trainium Architecture", "1db4d74e", "2025-10-17",
         f"{_ARCH}/neuron-hardware/trainium.rst"),
    _sdk("aws-trn1-page-early", "AWS Trn1 Architecture (SDK 2.3)", "7060a1c6", "2022-10-10",
         _OLD_TRN1),
    _sdk("aws-trn1-page-middle", "AWS Trn1/Trn1n Architecture (after SDK 2.10)", "db2caca2",
         "2023-05-26", _OLD_TRN1),
    _sdk("aws-trn1-page", "Amazon EC2 Trn1/Trn1n Architecture", "1db4d74e", "2025-10-17",
         f"{_ARCH}/neuron-hardware/trn1-arch.rst"),
    _sdk("aws-inf2-page", "Amazon EC2 Inf2 Architecture", "1db4d74e", "2025-10-17",
         f"{_ARCH}/neuron-hardware/inf2-arch.rst"),
    _sdk("aws-inferentia2-page", "Inferentia2 Architecture", "1db4d74e", "2025-10-17",
         f"{_ARCH}/neuron-hardware/inferentia2.rst"),
    _sdk("aws-trn2-page", "Amazon EC2 Trn2 Architecture", "1db4d74e", "2025-10-17",
         f"{_ARCH}/neuron-hardware/trn2-arch.rst"),
    _sdk("aws-data-types", "Neuron Data Types", "a3247f5b", "2026-08-17",
         f"{_ARCH}/neuron-features/data-types.rst"),
    _sdk("aws-rounding-modes", "Neuron Rounding Modes", "1db4d74e", "2025-10-17",
         f"{_ARCH}/neuron-features/rounding-modes.rst"),
    _sdk("aws-runtime-guide", "Neuron Runtime developer guide", "a3247f5b", "2026-08-17",
         "neuron-runtime/guides/nrt-developer-guide.rst"),
    _sdk("aws-torch-variables", "PyTorch NeuronX Environment Variables", "a3247f5b", "2026-08-17",
         "archive/nxd-training/torch-neuron-envvars.rst"),
    _sdk("aws-glossary", "Neuron Glossary", "4ca2e9c1", "2026-07-22", f"{_ARCH}/glossary.rst"),
    _sdk("aws-training-faq", "Neuron training FAQ", "9b9eeed9", "2026-07-23",
         "about-neuron/faq/training/neuron-training.rst"),
    _sdk("aws-multinode-setup", "Trn1 multi-node setup", "539a73c5", "2026-04-03",
         "frameworks/torch/torch-neuronx/setup-trn1-multi-node-execution.rst"),
    _sdk("aws-trn1-benchmarks", "Trn1 training benchmarks (table of 2024)", "1db4d74e",
         "2025-10-17", "about-neuron/benchmarks/trn1/trn1_trn1n_nlp_data.csv"),
    Source("aws-trn1-benchmark-history", "Trn1 training benchmarks, all editions of the tables",
           "AWS Neuron SDK documentation", "2026-02-26",
           "https://github.com/aws-neuron/aws-neuron-sdk/commits/master/about-neuron/benchmarks/"
           "trn1", Kind.MEASURED),
    _sdk("aws-trn1-rates", "Effective hourly rates behind the Trn1 benchmarks", "1db4d74e",
         "2025-10-17", "about-neuron/benchmarks/trn1/trn1_instance_prices.csv"),
    _sdk("aws-inf2-rates", "Effective hourly rates behind the Inf2 benchmarks", "1db4d74e",
         "2025-10-17", "about-neuron/benchmarks/inf2/inf2_instance_prices.csv"),
    _sdk("aws-torch-guide", "PyTorch NeuronX developer guide for training", "a3247f5b",
         "2026-08-17", "archive/nxd-training/pytorch-neuron-programming-guide.rst"),
    _sdk("aws-torch-trace", "PyTorch NeuronX Tracing API for Inference", "ee7d6e00", "2026-07-07",
         "frameworks/torch/torch-neuronx/api-reference-guide/inference/api-torch-neuronx-trace.rst"),
    _sdk("aws-model-fit", "Model Architecture Fit Guidelines", "4a4f4cca", "2023-02-25",
         "general/arch/model-architecture-fit.rst"),
    _sdk("aws-caching", "Neuron Persistent Cache", "539a73c5", "2026-04-03",
         f"{_ARCH}/neuron-features/neuron-caching.rst"),
    _sdk("aws-parallel-compile", "PyTorch NeuronX neuron_parallel_compile CLI", "539a73c5",
         "2026-04-03", "frameworks/torch/torch-neuronx/api-reference-guide/training/"
         "pytorch-neuron-parallel-compile.rst"),
    _sdk("aws-torch-debug", "How to debug models in PyTorch NeuronX", "a3247f5b", "2026-08-17",
         "archive/nxd-training/pytorch-neuron-debug.rst"),
    _sdk("aws-torchneuron", "Native PyTorch for AWS Trainium", "0fae2f1c", "2025-12-02",
         "frameworks/torch/pytorch-native-overview.rst"),
    _sdk("aws-compiler-cli", "Neuron Compiler CLI Reference Guide (neuronx-cc)", "a3247f5b",
         "2026-08-17", "compiler/neuronx-cc/api-reference-guide/index.rst"),
    _sdk("aws-compiler-notes", "Component Release Notes for Neuron Graph Compiler", "a3247f5b",
         "2026-08-17", "release-notes/components/compiler.rst"),
    _sdk("aws-release-notes", "Previous Release Notes (Neuron 2.x)", "2ae3525e", "2025-04-03",
         "release-notes/prev/rn.rst"),
    _sdk("aws-torch-notes", "PyTorch Neuron (torch-neuronx) release notes", "2ae3525e",
         "2025-04-03", "release-notes/torch/torch-neuronx/index.rst"),
    _sdk("aws-mixed-precision", "Mixed Precision and Performance-accuracy Tuning (neuronx-cc)",
         "b207f98b", "2026-07-21",
         "archive/appnotes/neuronx-cc/neuronx-cc-training-mixed-precision.rst"),
    # operators in C++
    _sdk("aws-customop-guide", "Neuron Custom C++ Operators Developer Guide", "3b6f6864",
         "2025-12-03", "neuron-customops/programming-guide/custom-c++-operators-devguide.rst"),
    _sdk("aws-customop-api", "Custom Operators API Reference Guide", "a3247f5b", "2026-08-17",
         "neuron-customops/api-reference-guide/custom-ops-ref-guide.rst"),
    _sdk("aws-customop-training", "Neuron Custom C++ Operators in MLP Training", "a3247f5b",
         "2026-08-17", "neuron-customops/tutorials/customop-mlp-training.rst"),
    _sdk("aws-customop-perf", "Neuron Custom C++ Operators Performance Optimization", "a3247f5b",
         "2026-08-17", "neuron-customops/tutorials/customop-mlp-perf-opt.rst"),
    Source("aws-customop-samples", "The tutorials' programs: customop_mlp", "AWS Neuron samples",
           "2023-05-02", "https://github.com/aws-neuron/aws-neuron-samples/tree/da789e6/"
           "torch-neuronx/inference/customop_mlp"),
    # collectives and tools
    _sdk("aws-intranode", "Intra-node Collective Communications with AWS Neuron", "3afa0fdf",
         "2026-05-21", "neuron-runtime/explore/intranode-collective-comm.rst"),
    _sdk("aws-internode", "Inter-node Collective Communications with AWS Neuron", "3afa0fdf",
         "2026-05-21", "neuron-runtime/explore/internode-collective-comm.rst"),
    _sdk("aws-collectives", "What is Neuron Collective Communication?", "3afa0fdf", "2026-05-21",
         "neuron-runtime/about/collectives.rst"),
    _sdk("nccom-test-guide", "NCCOM-TEST User Guide", "a3247f5b", "2026-08-17",
         "tools/neuron-sys-tools/nccom-test.rst"),
    _sdk("aws-neuron-ls", "Neuron LS User Guide", "a3247f5b", "2026-08-17",
         "tools/neuron-sys-tools/neuron-ls.rst"),
    _sdk("aws-neuron-ls-trn1", "Neuron LS User Guide (SDK 2.8), with a Trn1 instance", "93e9f5d8",
         "2023-02-24", "tools/neuron-sys-tools/neuron-ls.rst"),
    _sdk("aws-neuron-top", "Neuron Top User Guide", "a3247f5b", "2026-08-17",
         "tools/neuron-sys-tools/neuron-top-user-guide.rst"),
    _sdk("aws-neuron-monitor", "Neuron Monitor User Guide", "a3247f5b", "2026-08-17",
         "tools/neuron-sys-tools/neuron-monitor-user-guide.rst"),
    _sdk("aws-neuron-monitor-trn1", "Neuron Monitor User Guide (SDK 2.8)", "93e9f5d8", "2023-02-24",
         "tools/neuron-sys-tools/neuron-monitor-user-guide.rst"),
    _sdk("aws-neuron-profile", "Neuron Profiler User Guide (archived)", "3afa0fdf", "2026-05-21",
         "archive/profiler/neuron-profile-user-guide.rst"),
    _sdk("aws-profile-schema", "Neuron Explorer: Profile Schema Reference", "45eb63f7",
         "2026-08-10", "tools/neuron-explorer/profile-schema-reference.rst"),
    _sdk("aws-neuron-explorer", "Capture Profiles with Neuron Explorer", "a3247f5b", "2026-08-17",
         "tools/neuron-explorer/how-to-profile-workload.rst"),
    _sdk("aws-training-quickstart", "Quickstart: Train a Model on Trainium", "a3247f5b",
         "2026-08-17", "about-neuron/quick-start/training-quickstart.rst"),
    _sdk("aws-inference-quickstart", "Quickstart: Run Inference on Inferentia", "a3247f5b",
         "2026-08-17", "about-neuron/quick-start/inference-quickstart.rst"),
    _sdk("aws-runtime-tips", "Best Practices: Neuron Runtime Performance", "db1586c3",
         "2025-12-01", "neuron-runtime/explore/runtime-performance-tips.rst"),
    _sdk("aws-torch-envvars", "PyTorch NeuronX Environment Variables (archived)", "a3247f5b",
         "2026-08-17", "archive/nxd-training/torch-neuron-envvars.rst"),
    _sdk("aws-nxdi-features", "NxD Inference Features Configuration Guide", "86a92868",
         "2026-02-25", "libraries/nxd-inference/developer_guides/feature-guide.rst"),
    # announcements, press, posts
    Source("aws-news-trn1-launch",
           "Amazon EC2 Trn1 Instances for High-Performance Model Training are Now Available",
           "AWS News Blog", "2022-10-10", "https://aws.amazon.com/blogs/aws/amazon-ec2-trn1-"
           "instances-for-high-performance-model-training-are-now-available/"),
    Source("aws-ml-blog-sagemaker", "Maximize performance and reduce your deep learning training "
           "cost with AWS Trainium and Amazon SageMaker", "AWS Machine Learning Blog", "2023-03",
           "https://aws.amazon.com/blogs/machine-learning/maximize-performance-and-reduce-your-"
           "deep-learning-training-cost-with-aws-trainium-and-amazon-sagemaker/"),
    Source("sagemaker-training-toolkit", "SageMaker Training Toolkit: mapping.py, environment.py, "
           "torch_distributed.py", "AWS (public repository)", "2025-09-19",
           "https://github.com/aws/sagemaker-training-toolkit/tree/33839372/src/"
           "sagemaker_training"),
    Source("sagemaker-variables", "SageMaker Training Toolkit: environment variables",
           "AWS (public repository)", "2022-10-13", "https://github.com/aws/"
           "sagemaker-training-toolkit/blob/771af746/ENVIRONMENT_VARIABLES.md"),
    Source("sagemaker-inference-toolkit", "SageMaker PyTorch Inference Toolkit: "
           "default_pytorch_inference_handler.py", "AWS (public repository)", "2023-10-09",
           "https://github.com/aws/sagemaker-pytorch-inference-toolkit/blob/1fbd3f7f/src/"
           "sagemaker_pytorch_serving_container/default_pytorch_inference_handler.py"),
    Source("aws-nemo-megatron", "neuronx-nemo-megatron: nemo/examples/nlp/language_modeling",
           "AWS (public repository)", "2024-12-19", "https://github.com/aws-neuron/"
           "neuronx-nemo-megatron/tree/f4743cef/nemo/examples/nlp/language_modeling"),
    Source("aws-nxd-examples", "neuronx-distributed: examples/training/llama", "AWS (public "
           "repository)", "2024-09-16", "https://github.com/aws-neuron/neuronx-distributed/tree/"
           "4f954715/examples/training/llama"),
    Source("aws-bert-log", "aws-neuron-eks-samples: dp_bert_hf_pretrain, a log", "AWS (public "
           "repository)", "2022-12-21", "https://github.com/aws-neuron/aws-neuron-eks-samples/blob/"
           "b8e60cc/dp_bert_hf_pretrain/README.md", Kind.MEASURED),
    Source("aws-llama2-log", "aws-neuron-parallelcluster-samples: Llama 2 fine-tuning, a log",
           "AWS (public repository)", "2024-04-01", "https://github.com/aws-neuron/"
           "aws-neuron-parallelcluster-samples/blob/88772ab/examples/jobs/finetuning/"
           "neuronx-nemo-megatron-llamav2-finetuning-job.md", Kind.MEASURED),
    Source("aws-llama3-log", "awsome-distributed-training: Llama 3 70B on Trainium, a log",
           "AWS (public repository)", "2025-02-19", "https://github.com/aws-samples/"
           "awsome-distributed-training/blob/f5276b1/3.test_cases/neuronx-distributed/llama3/slurm/"
           "README.md", Kind.MEASURED),
    Source("aws-megatron-reference", "aws-neuron-reference-for-megatron-lm: examples",
           "AWS (public repository)", "2023-08-28", "https://github.com/aws-neuron/"
           "aws-neuron-reference-for-megatron-lm/tree/868d46c/examples"),
    Source("pytorch-xla", "PyTorch/XLA: its own source", "PyTorch/XLA (public repository)",
           "2025-12-02", "https://github.com/pytorch/xla/tree/1815bb93"),
    Source("nextplatform-reinvent-2021", "AWS Sizes Trainium for AI/ML Model Boom",
           "The Next Platform", "2021-12-02",
           "https://www.nextplatform.com/2021/12/02/aws-sizes-trainium-for-ai-ml-model-boom/"),
    Source("inferentia2-training-post", "Deep Learning Training on AWS Inferentia",
           "Towards Data Science", "2023-08-30",
           "https://towardsdatascience.com/dl-training-on-aws-inferentia-53e103597a03"),
    Source("third-party-prices", "EC2 on-demand prices as a price comparison had them (address "
           "not kept)", "price comparison pages", "2026",
           "https://aws.amazon.com/ec2/pricing/on-demand/"),
    Source("nvidia-a100-datasheet", "NVIDIA A100 Tensor Core GPU datasheet", "NVIDIA", "2021",
           "https://www.nvidia.com/content/dam/en-zz/Solutions/Data-Center/a100/pdf/"
           "nvidia-a100-datasheet-us-nvidia-1758950-r4-web.pdf"),
    Source("nvidia-v100-datasheet", "NVIDIA V100 Tensor Core GPU datasheet", "NVIDIA", "2020",
           "https://www.nvidia.com/en-us/data-center/v100/"),
    Source("gpu-instance-table", "Table of NVIDIA GPU instances on AWS", "Shashank Prasanna",
           "2023",
           "https://gist.github.com/shashankprasanna/10ebe6dc1ba1d8d93db17da4e2cc890e"),
    # measurements by others
    Source("course-traces", "Profiles of small kernels on trn1 that students of a course published "
           "(here stream_256k_fd1k.ntff and stream_256k_fd2k.ntff; others report like times)",
           "public repositories of course work", "2025",
           "https://github.com/waahm7/asst4-trainium/tree/"
           "a4d46766c8d473d0ed8766600e04977ae98f182d/part1", Kind.MEASURED),
    Source("accelopt-nkibench", "NKIBench: kernels and their profiles in AccelOpt", "zhang677 "
           "(public repository)", "2025", "https://github.com/zhang677/AccelOpt/tree/47e29a7c",
           Kind.MEASURED),
    Source("autocomp-traces", "Versions of three kernels that Autocomp optimised on trn1.2xlarge",
           "ucb-bar (public repository)", "2025-11-10",
           "https://github.com/ucb-bar/autocomp/tree/dd26a56/examples", Kind.MEASURED),
    Source("nki-samples-tests", "Unit tests of kernels, with limits for their latencies", "AWS "
           "(public repository nki-samples)", "2025",
           "https://github.com/aws-neuron/nki-samples/tree/8370e11/test/unit", Kind.MEASURED),
    # storage, and how often jobs fail
    Source("aws-instance-store", "Specifications for Amazon EC2 accelerated computing instances, "
           "instance store (its table as a copy in public code had it)", "Amazon EC2",
           "2025", "https://docs.aws.amazon.com/ec2/latest/instancetypes/ac.html"),
    Source("aws-fsx-ssd", "Performance characteristics of SSD and HDD storage classes",
           "Amazon FSx for Lustre", "2025",
           "https://docs.aws.amazon.com/fsx/latest/LustreGuide/ssd-storage.html"),
    Source("aws-fsx-performance", "Amazon FSx for Lustre performance (as others quote it)",
           "Amazon FSx for Lustre", "2025",
           "https://docs.aws.amazon.com/fsx/latest/LustreGuide/performance.html"),
    Source("aws-fsx-create", "CreateFileSystem: StorageCapacity", "Amazon FSx", "2025",
           "https://docs.aws.amazon.com/fsx/latest/APIReference/API_CreateFileSystem.html"),
    Source("aws-s3-patterns", "Performance design patterns for Amazon S3", "Amazon S3", "2023",
           "https://github.com/awsdocs/amazon-s3-userguide/blob/1992a1c0/doc_source/"
           "optimizing-performance-design-patterns.md"),
    Source("llama3-paper", "The Llama 3 Herd of Models", "arXiv", "2024-07-31",
           "https://arxiv.org/abs/2407.21783", Kind.MEASURED),
    Source("opt-paper", "OPT: Open Pre-trained Transformer Language Models", "arXiv",
           "2022-05-02", "https://arxiv.org/abs/2205.01068", Kind.MEASURED),
    Source("rsc-paper", "Revisiting Reliability in Large-Scale Machine Learning Research Clusters",
           "HPCA", "2024-10-29", "https://arxiv.org/abs/2410.21680", Kind.MEASURED),
    Source("lockwood-reliability", "Job reliability: uptime of HLAT and others", "Glenn Lockwood",
           "2025", "https://glennklockwood.com/garden/job-reliability", Kind.MEASURED),
    Source("young-1974", "A first order approximation to the optimum checkpoint interval",
           "Communications of the ACM 17(9)", "1974", "https://doi.org/10.1145/361147.361115"),
    Source("daly-2006", "A higher order estimate of the optimum checkpoint interval for restart "
           "dumps", "Future Generation Computer Systems 22(3)", "2006",
           "https://doi.org/10.1016/j.future.2004.11.016"),
    Source("vaidya-1997", "Impact of checkpoint latency on overhead ratio of a checkpointing "
           "scheme", "IEEE Transactions on Computers 46(8)", "1997",
           "https://doi.org/10.1109/12.609281"),
    Source("gumbel-1958", "Statistics of Extremes", "Columbia University Press", "1958",
           "https://doi.org/10.7312/gumb92958"),
    # the literature
    Source("gpt3-paper", "Language Models are Few-Shot Learners", "NeurIPS", "2020",
           "https://arxiv.org/abs/2005.14165"),
    Source("megatron-2019", "Megatron-LM: Training Multi-Billion Parameter Language Models Using "
           "Model Parallelism", "arXiv", "2019", "https://arxiv.org/abs/1909.08053", Kind.MEASURED),
    Source("megatron-2021", "Efficient Large-Scale Language Model Training on GPU Clusters Using "
           "Megatron-LM", "SC21", "2021", "https://arxiv.org/abs/2104.04473", Kind.MEASURED),
    Source("palm-2022", "PaLM: Scaling Language Modeling with Pathways", "arXiv", "2022",
           "https://arxiv.org/abs/2204.02311", Kind.MEASURED),
    Source("bert-paper", "BERT: Pre-training of Deep Bidirectional Transformers", "NAACL", "2018",
           "https://arxiv.org/abs/1810.04805"),
    Source("gpt2-code", "gpt-2: code and model card", "OpenAI (public repository)", "2019-11",
           "https://github.com/openai/gpt-2"),
    Source("llama2-card", "Llama 2: model cards and config.json", "Meta, on Hugging Face",
           "2023-07", "https://huggingface.co/meta-llama/Llama-2-7b-hf"),
    Source("llama3.1-card", "Llama 3.1: model cards and config.json", "Meta, on Hugging Face",
           "2024-07", "https://huggingface.co/meta-llama/Llama-3.1-8B"),
    Source("gpt-neox-paper", "GPT-NeoX-20B: An Open-Source Autoregressive Language Model", "ACL",
           "2022", "https://arxiv.org/abs/2204.06745"),
    Source("pythia-paper", "Pythia: A Suite for Analyzing Large Language Models", "ICML", "2023",
           "https://arxiv.org/abs/2304.01373"),
    Source("torchvision-vit", "torchvision.models.vit_b_16", "PyTorch documentation", "2023",
           "https://pytorch.org/vision/stable/models/generated/torchvision.models.vit_b_16.html"),
    Source("gupta-2015", "Deep Learning with Limited Numerical Precision", "ICML", "2015",
           "https://arxiv.org/abs/1502.02551"),
    Source("micikevicius-2022", "FP8 Formats for Deep Learning", "arXiv", "2022",
           "https://arxiv.org/abs/2209.05433"),
    Source("connolly-2021", "Stochastic Rounding and its Probabilistic Backward Error Analysis",
           "SIAM Journal on Scientific Computing 43(1), A566", "2021",
           "https://doi.org/10.1137/20M1334796"),
    Source("croci-2022", "Stochastic rounding: implementation, error analysis and applications",
           "Royal Society Open Science 9(3)", "2022", "https://doi.org/10.1098/rsos.211631"),
    Source("goyal-2017", "Accurate, Large Minibatch SGD: Training ImageNet in 1 Hour", "arXiv",
           "2017", "https://arxiv.org/abs/1706.02677"),
    Source("rajbhandari-2020", "ZeRO: Memory Optimizations Toward Training Trillion Parameter "
           "Models", "arXiv", "2020", "https://arxiv.org/abs/1910.02054"),
    Source("korthikanti-2022", "Reducing Activation Recomputation in Large Transformer Models",
           "arXiv", "2022", "https://arxiv.org/abs/2205.05198"),
    Source("megatron-memory", "Megatron-LM, theoretical_memory_usage.py", "NVIDIA (public "
           "repository)", "2025", "https://github.com/NVIDIA/Megatron-LM/blob/"
           "00caa53af30912914981c86f39db123961678bbd/megatron/training/"
           "theoretical_memory_usage.py"),
    Source("zamirai-2020", "Revisiting BFloat16 Training", "arXiv", "2021",
           "https://arxiv.org/abs/2010.06192"),
    Source("ozkara-2025", "Stochastic Rounding for LLM Training: Theory and Practice",
           "AISTATS, PMLR 258:4402", "2025", "https://arxiv.org/abs/2502.20566"),
    Source("salmon-2011", "Parallel random numbers: as easy as 1, 2, 3", "SC11", "2011",
           "https://doi.org/10.1145/2063384.2063405"),
    Source("ieee-754", "IEEE Standard for Floating-Point Arithmetic", "IEEE 754", "2019",
           "https://doi.org/10.1109/IEEESTD.2019.8766229"),
    Source("kung-1982", "Why Systolic Architectures?", "IEEE Computer 15(1)", "1982",
           "https://doi.org/10.1109/MC.1982.1653825"),
    Source("scale-sim", "SCALE-Sim: Systolic CNN Accelerator Simulator", "arXiv", "2018",
           "https://arxiv.org/abs/1811.02883"),
    Source("leighton-1992", "Introduction to Parallel Algorithms and Architectures",
           "Morgan Kaufmann", "1992", "https://openlibrary.org/isbn/1558601171"),
    Source("goodfellow-2016", "Deep Learning", "MIT Press", "2016",
           "https://www.deeplearningbook.org/"),
    Source("shannon-1948", "A Mathematical Theory of Communication",
           "Bell System Technical Journal 27", "1948",
           "https://doi.org/10.1002/j.1538-7305.1948.tb01338.x"),
    Source("huffman-1952", "A Method for the Construction of Minimum-Redundancy Codes",
           "Proceedings of the IRE 40(9)", "1952", "https://doi.org/10.1109/JRPROC.1952.273898"),
    Source("williams-2009", "Roofline: an insightful visual performance model",
           "Communications of the ACM 52(4)", "2009", "https://doi.org/10.1145/1498765.1498785"),
    Source("thakur-2005", "Optimization of Collective Communication Operations in MPICH",
           "International Journal of High Performance Computing Applications 19(1)", "2005",
           "https://doi.org/10.1177/1094342005051521"),
    Source("trace-event-format", "Trace Event Format", "Google (Chromium)", "2016-10",
           "https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU/"
           "preview"),
    Source("jax-scaling-book", "How to Scale Your Model", "Google DeepMind", "2025",
           "https://jax-ml.github.io/scaling-book/"),
    # ourselves
    Source("derived", "Arithmetic on other facts", "trainium_edu", "2026", "", Kind.DERIVED),
    Source("emulator", "A choice of this emulator", "trainium_edu", "2026", "", Kind.ASSUMED),
    Source("memory", "Quoted from memory, not verified in a source", "trainium_edu", "2026", "",
           Kind.ASSUMED),
)  # fmt: skip

#: Every source by its key.
SOURCES = {source.key: source for source in _ALL}
