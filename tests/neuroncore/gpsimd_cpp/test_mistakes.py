"""Bad C++ and bad programs: one sentence with the line; judge: the line where it was put."""

import errno
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import psutil
import pytest

from trainium_edu.neuroncore import NeuronCore, gpsimd_cpp
from trainium_edu.neuroncore.gpsimd_cpp import CompileError, OperatorError, worker
from trainium_edu.neuroncore.gpsimd_cpp import compiler as compilers
from trainium_edu.specs.errors import NkiValidationError

X = np.arange(64, dtype=np.float32)
HEAD = """#include <torch/torch.h>
#include <neuron/neuron-utils.hpp>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static __attribute__((noinline)) void ones(float *p, size_t count) {
  for (size_t i = 0; i < count; i++) p[i] = 1;
}
static int depth(int n) {
  volatile char room[512];
  room[n & 511] = (char)n;
  return n == 0 ? room[0] : depth(n - 1) + room[1];
}
"""
RAW_FORK = "syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)"  # what no stub of ours refuses
FROM_HEAP = "float *p = (float *)malloc(n * 4); "
SLOW = "it ran for 1 s without an end"
WAITED = "it waited for 2 s without an end (it ran for 0."
BODIES = {
    "index outside": (
        "auto in = x.accessor<float, 1>(); float s = in[n];",
        "index 64 is outside axis 0, which has 64 elements",
    ),
    "negative index": (
        "auto in = x.accessor<float, 1>(); float s = in[-1];",
        "index -1 is outside axis 0, which has 64 elements",
    ),
    "wrong dimensions": (
        "auto in = x.accessor<float, 2>();", "an accessor of 2 dimensions, and the tensor has 1"
    ),
    "wrong dtype": (
        "auto in = x.accessor<int32_t, 1>();",
        "an accessor of torch::kInt data, and the tensor is of torch::kFloat",
    ),
    "double": ("auto in = torch::zeros({3}, torch::kDouble);", "torch::kDouble is no dtype"),
    "stream ends": (
        "auto in = x.read_stream_accessor<float>(); for (size_t i = 0; i <= n; i++) in.read();",
        "a stream reads past the end of its tensor of 64 elements",
    ),
    "stream closed": (
        "auto in = x.read_stream_accessor<float>(); in.close(); in.read();",
        "read() on a stream that is closed",
    ),
    "incoherent streams": (
        "auto a = y.write_stream_accessor<float>(); auto b = y.read_stream_accessor<float>();",
        "a read stream is opened while a stream on the same tensor holds a part of it in TCM",
    ),
    "incoherent element": (
        "auto e = y.accessor<float, 1>(); auto a = y.write_stream_accessor<float>(); e[0] = 1;",
        "an element accessor touches it while a stream on the same tensor",
    ),
    "copy outside the tensor": (
        "void *b = torch::neuron::tcm_malloc(512); x.tcm_accessor().tensor_to_tcm((float *)b, 8, "
        "64);", "tensor_to_tcm of 64 elements from element 8 on, and the tensor has 64",
    ),
    "copy outside the buffer": (
        "void *b = torch::neuron::tcm_malloc(128); x.tcm_accessor().tensor_to_tcm((float *)b, 0, "
        "64);", "tensor_to_tcm of 256 bytes at byte 0 of a TCM buffer of 128 bytes",
    ),
    "past a buffer": (
        "volatile float *b = (float *)torch::neuron::tcm_malloc(128); b[32] = 1;",
        "it touches byte 128 of a TCM buffer of 128 bytes (tcm_malloc at line {line})",
    ),
    "before a buffer": (
        "volatile char *b = (char *)torch::neuron::tcm_malloc(4096); b[-1] = 1;",
        "it touches byte -1 of a TCM buffer of 4096 bytes (tcm_malloc at line {line})",
    ),
    "freed": (
        "volatile float *b = (float *)torch::neuron::tcm_malloc(128); torch::neuron::tcm_free("
        "(void *)b); b[0] = 1;", "it touches byte 0 of a TCM buffer of 128 bytes that was freed",
    ),
    "freed twice": (
        "void *b = torch::neuron::tcm_malloc(64); torch::neuron::tcm_free(b); "
        "torch::neuron::tcm_free(b);", "tcm_free of memory that was freed already",
    ),
    "freed what is not TCM": ("int i; torch::neuron::tcm_free(&i);", "did not return"),
    "heap for TCM": (
        "x.tcm_accessor().tensor_to_tcm((float *)malloc(256), 0, 64);", "a pointer that is not TCM"
    ),
    "full pool": (
        "void *a = torch::neuron::tcm_malloc(12000); float *b = (float *)torch::neuron::tcm_malloc("
        "8000); x.tcm_accessor().tensor_to_tcm(b, 0, 64);",
        "tensor_to_tcm with a null pointer: tcm_malloc at line {line} found the pool of 16 KB full "
        "(12000 bytes are taken)",
    ),
    "full pool, used": (
        "volatile float *b = (float *)torch::neuron::tcm_malloc(20000); b[3] = 1;",
        "it uses a null pointer: tcm_malloc at line {line} found the pool of 16 KB full (0 bytes",
    ),
    "endless loop": ("volatile int on = 1; while (on) {}", SLOW),
    "endless copies": ("for (;;) y = x;", SLOW),
    "endless curves": ("volatile double q = 0; for (;;) q = sin(q) + exp(q * 0.01);", SLOW),
    "endless containers": ("std::map<int, int> m; for (int i = 0;; i++) m[i % 100] = i;", SLOW),
    "endless library": ("for (;;) torch::exp_out(y, x);", SLOW),
    "endless printf": ('for (;;) printf("%d\\n", 3);', SLOW),
    "endless sleep": ("for (;;) sleep(1);", WAITED),
    "sleep that a signal ends": ("sleep(100000);", WAITED),  # POSIX: it returns what is left
    "pause that a signal ends": ("pause();", WAITED),  # POSIX: it returns -1, EINTR
    "a stop": ("raise(SIGSTOP);", WAITED),  # POSIX: cannot be caught; SIGKILL still ends it
    "deaf to signals": (
        "sigset_t all; sigfillset(&all); sigprocmask(SIG_BLOCK, &all, nullptr); sleep(100000);",
        WAITED,
    ),
    "a program that waits": (f"if ({RAW_FORK} == 0) for (;;) {{}} for (;;) pause();", WAITED),
    "deep recursion": ("depth(100000);", "its stack needs more than 8192 bytes"),
    "large array": (
        "volatile char all[30000]; for (size_t i = 0; i < 30000; i++) all[i] = (char)n;",
        "its stack needs more than 8192 bytes",
    ),
    "division": ("volatile int z = 0; y.fill_(7 / z);", "it divides an integer by zero"),
    "assertion": ("assert(n == 3);", "its assertion failed: n == 3"),
    "null": ("volatile int *p = nullptr; *p = 1;", "it uses a null pointer"),
    "null, a field": ("struct S { float a[4], b[4]; } *s = nullptr; s->b[n & 3] = 1; "
                      "y.fill_(s->b[1]);",
                      "it uses a null pointer"),
    "wild": ("volatile int *p = (int *)0x123456789000; *p = 1;", "memory that is not its own"),
    "past an argument": (
        "auto in = x.accessor<float, 1>(); volatile const float *p = &in[0]; "
        "volatile float s = p[64];",
        "it touches byte 256 of argument 0, which has 256 bytes",
    ),
    "past a tensor": (
        "torch::Tensor z = torch::ones({5}, torch::kFloat); auto a = z.accessor<float, 1>(); "
        "volatile float *p = &a[0]; for (int i = 0; i < 6; i++) p[i] = 1;",
        "it touches byte 20 of the tensor made at line {line}, which has 20 bytes",
    ),
    "before a tensor": (
        "torch::Tensor z = torch::ones({5}, torch::kFloat); auto a = z.accessor<float, 1>(); "
        "volatile float *p = &a[0]; p[-1] = 1;",
        "the program writes before the beginning of the tensor made at line {line}",
    ),
    "before a short buffer": (
        "volatile float *b = (float *)torch::neuron::tcm_malloc(8); b[-1] = 1;",
        "the program writes before the beginning of a TCM buffer",
    ),
    "past a plain array": ("float a[8]; for (size_t i = 0; i < n; i++) a[i] = 1; y.fill_(a[3]);",
                           "index 8 is outside an array of type 'float[8]'"),
    "before a plain array": ("float a[8] = {}; int i = -(int)n; y.fill_(a[i]);",
                             "index -64 is outside an array of type 'float[8]'"),
    "past a table": ("static const float table[] = {1, 2, 3}; y.fill_(table[n]);",
                     "index 64 is outside an array of type"),
    "past an inner array": ("float a[4][4] = {}; y.fill_(a[n & 3][n]);",
                            "index 64 is outside an array of type 'float[4]'"),
    "past an array in a struct": (
        "struct S { float a[4], b[4]; } s = {}; for (size_t i = 0; i < n; i++) s.a[i] = 1; "
        "y.fill_(s.b[0]);", "index 4 is outside an array of type 'float[4]'",
    ),
    "past an array by a pointer": (
        "float a[8]; float *p = a; for (size_t i = 0; i < n; i++) p[i] = 1; y.fill_(p[n & 7]);",
        "a pointer to 'float' reaches outside the array that it points into",
    ),
    "a stack that another function breaks": (
        "float a[8]; ones(a, 12); y.fill_(a[n & 7]);",
        "the function that ends here wrote past the end of an array on its stack",
    ),
    "memset": ("char a[8]; memset(a, 0, n); y.fill_(a[n & 7]);",
               "memset, strcpy or the like would write past the end of an array"),
    "past malloc": (f"{FROM_HEAP}volatile float *q = p; q[n] = 1;",
                    "it touches byte 256 of memory of 256 bytes from the heap (allocated at "
                    "kernel.cpp:{line})"),
    "past new": ("volatile float *p = new float[n]; p[n + 1] = 1;", "byte 260 of memory of 256"),
    "past calloc": ("volatile float *p = (float *)calloc(n, 4); p[n] = 1;",
                    "byte 256 of memory of 256"),
    "past a vector": ("std::vector<float> v(n); volatile float *p = v.data(); p[n] = 1;",
                      "it touches byte 256 of memory of 256 bytes from the heap"),
    "past what realloc gave": (f"{FROM_HEAP}p = (float *)realloc(p, 2 * n); y.fill_(p[n / 2]);",
                               "it touches byte 128 of memory of 128 bytes from the heap"),
    "before malloc": (f"{FROM_HEAP}volatile float *q = p; q[-1] = 1; free(p);",
                      "it wrote before the beginning of memory of 256 bytes from the heap"),
    "before malloc, never freed": (f"{FROM_HEAP}volatile float *q = p; q[-1] = 1;",
                                   "it wrote before the beginning of memory of 256 bytes"),
    "after free": (f"{FROM_HEAP}volatile float *q = p; free(p); y.fill_(q[1]);",
                   "it touches byte 4 of memory of 256 bytes from the heap that was freed"),
    "after delete": ("float *p = new float[n]; volatile float *q = p; delete[] p; q[0] = 1;",
                     "it touches byte 0 of memory of 256 bytes from the heap that was freed"),
    "free twice": (f"{FROM_HEAP}void *volatile q = p; free(q); free(q);",
                   "free of memory that was freed already (allocated at kernel.cpp:{line})"),
    "delete twice": ("float *p = new float[n]; float *volatile q = p; delete[] q; delete[] q;",
                     "delete[] of memory that was freed already"),
    "free twice, for nothing": (f"{FROM_HEAP}free(p); free(p);",
                                "free of memory that was freed already (allocated at kernel"),
    "delete of an array": ("float *p = new float[n]; delete p;",
                           "delete of memory that new[] gave; free goes with malloc, delete with"),
    "free of new": ("free(new float);", "free of memory that new gave"),
    "no return": ("auto f = [](float v) -> float { if (v > 99) return v; }; y.fill_(f(n));",
                  "a function that returns a value ends without a return statement"),
    "free of the middle": (f"{FROM_HEAP}float *volatile q = p; free(q + 1);",
                           "free of a pointer to byte 4 of memory of 256 bytes from the heap"),
    "free of the stack": ("int i[4]; void *volatile p = i; free(p);",
                          "free of memory that neither malloc nor new gave"),
    "free of TCM": ("free(torch::neuron::tcm_malloc(64));",
                    "free of memory that neither malloc nor new gave"),
    "thread": ("std::thread t([] {}); t.join();", "it starts a thread (pthread_create), and a "),
    "fork": ("fork();", "it starts a program (fork), and processors have no operating system"),
    "system": ('if (system("true")) return;', "it starts a program (system)"),
    "file": ('fopen("x", "w");', "it opens a file or a connection (fopen"),
    "stream of a file": ('std::ifstream f("x");', "it opens a file or a connection (fopen"),
    "descriptor": ('if (open("x", O_RDONLY)) return;', "it opens a file or a connection (open"),
    "socket": ("socket(AF_INET, SOCK_STREAM, 0);", "it opens a file or a connection (socket)"),
    "null function": ("void (*volatile f)() = nullptr; f();", "it uses a null pointer"),
    "abort": ("abort();", "it aborts"),
    "exit": ("exit(3);", "it ends its own process; a kernel returns a tensor"),
    "exception": ("throw 1;", "it throws an exception"),
    "named exception": ('throw std::runtime_error("no way");', "it throws an exception: no way"),
    "library's exception": ("std::vector<int> v(3); v.at(n) = 1;",
                            "it throws an exception: vector"),
    "memory": (
        "for (volatile long i = 0;; i++) *(volatile char *)new char[1 << 30];",
        "asks for more memory than",
    ),
    "much": (
        "torch::Tensor z = torch::zeros({2000000000}, torch::kFloat);",
        "no memory left for a tensor of 2000000000 elements",
    ),
    "too much": (
        "torch::Tensor z = torch::zeros({2000000000, 3}, torch::kFloat);",
        "a tensor of 6000000000 elements; a NeuronCore has 16 GiB of HBM",
    ),
}  # fmt: skip
NO_LINE = {
    "before an argument": (
        "auto in = x.accessor<float, 1>(); float *p = (float *)&in[0]; p[-1] = 1;",
        "wrong: the program writes before the beginning of argument 0",
    ),
    "other result": ("y = torch::zeros({3}, torch::kFloat);",
                     "the kernel function wrong returns float32[3], and the shape function said "
                     "float32[64]"),
}  # fmt: skip


ALL = {what: body for what, (body, _) in {**BODIES, **NO_LINE}.items()}
FIRST = 1 + HEAD.count("\n")
FUNCTION = (
    "static __attribute__((noinline)) void body{i}(const torch::Tensor& x, torch::Tensor& y, "
    "size_t n) {{ {body} }}\n"
)


def _kernel(*bodies):
    """Return a kernel that runs one of some bodies; each stands on one line, from FIRST on."""
    functions = "".join(FUNCTION.format(i=i, body=body) for i, body in enumerate(bodies))
    cases = "".join(f"  if (which == {i}) body{i}(x, y, x.numel());\n" for i in range(len(bodies)))
    return (
        f"{HEAD}{functions}torch::Tensor wrong(const torch::Tensor& x, double which) {{\n"
        "  torch::Tensor y = torch::zeros(x.sizes(), torch::kFloat);\n"
        f"{cases}  return y;\n}}\n"
    )


WRONG = "torch::Tensor x, double which"


@pytest.fixture
def wrong(build):
    return build(_kernel(*ALL.values()), wrong=WRONG, cpu_seconds=1)


@pytest.mark.parametrize("what", BODIES)
def test_a_mistake_is_one_sentence_with_its_line_and_python_lives_on(wrong, what):
    number = list(ALL).index(what)
    deep = next(i for i, text in enumerate(HEAD.splitlines()) if "room[n" in text)
    lines = (deep, deep + 1) if what == "deep recursion" else (FIRST + number,)
    for _ in range(1 if BODIES[what][1] in (SLOW, WAITED) else 2):
        with pytest.raises(OperatorError) as told:
            wrong(X, number)
        said = str(told.value).replace("float [", "float[")  # as clang has it
        line = told.value.line
        assert line in lines, said
        assert said.startswith(f"kernel.cpp:{line}: "), said
        assert BODIES[what][1].replace("{line}", str(line)) in said, said
        assert "\n" not in said


UNSET = {
    "index": ("int i; y.accessor<float, 1>()[i] = 1;",
              "index -[0-9]{8,} is outside axis 0, .*; a variable that nobody set|"
              "'i' is (used )?uninitialized"),
    "array": ("float a[4]; a[n & 1] = 1; y.fill_(a[2]);", "'a' is used uninitialized"),
    "array of a function": (
        "auto f = [](float v) -> float * { float a[2] = {v, v}; return a; }; y.fill_(f(n)[1]);",
        "address of (local|stack memory associated with local) 'a' returned",
    ),
    "reference": ("auto f = []() -> const float & { float v = 3; return v; }; y.fill_(f());",
                  "reference to (local|stack memory associated with local) 'v' returned"),
}  # fmt: skip


@pytest.mark.parametrize("what", UNSET)
def test_what_nobody_set_or_is_gone_is_told_or_is_no_number_of_use(build, compiler, what):
    """What compilers are not sure of runs: an index is far outside, a float NaN or -1.7e38."""
    body, text = UNSET[what]
    if what in ("index", "array") and not any("var-init" in flag for flag in compiler.counting):
        pytest.skip("this compiler does not fill variables that nobody set")
    try:
        first = build(_kernel(body), wrong=WRONG)(X, 0)[0]
    except OperatorError as told:
        said = str(told).replace("‘", "'").replace("’", "'")
        said = said.replace("the C++ compiler says: ", "").replace("variable '", "'", 1)
        assert re.match(rf"kernel\.cpp:{FIRST}: ({text})", said), said
    else:
        assert what == "array"
        assert np.isnan(first) or first < -1e38


def test_the_line_of_a_failed_check_is_not_that_of_a_later_one(build):
    made = build(
        ONE.replace("#include", "#include <vector>\n#include", 1).replace(
            "  return torch::abs(x);",
            "  torch::Tensor y = torch::zeros(x.sizes(), torch::kFloat);\n"
            "  std::vector<float> v(x.numel());\n  v[x.numel()] = 1;\n  y.fill_(v[0]);\n"
            "  return y;",
        ),
        one="torch::Tensor x",
    )  # fmt: skip
    with pytest.raises(
        OperatorError, match=r"^kernel\.cpp:6: it aborts: an assertion of the C\+\+"
    ):
        made(X)


@pytest.mark.parametrize("what", NO_LINE)
def test_a_mistake_that_has_no_line_is_said_all_the_same(wrong, what):
    with pytest.raises(OperatorError) as told:
        wrong(X, list(ALL).index(what))
    assert NO_LINE[what][1] in str(told.value), str(told.value)


FINE = {
    "close twice": (
        "auto s = y.write_stream_accessor<float>(); s.write(3); s.close(); s.close();", 3
    ),
    "a child that never ends": (f"if ({RAW_FORK} == 0) for (;;) {{}} y.fill_(1);", 1),
    "both of a fork": (f"{RAW_FORK}; y.fill_(1);", 1),
    "what Python asks is not to be read": ("char c; y.fill_((int)read(0, &c, 1));", 0),
    "closed files": ("for (int i = 0; i < 100; i++) close(i); y.fill_(1);", 1),
    "its own catch": ("try { throw 5; } catch (int e) { y.fill_(e); }", 5),
    "many buffers": (
        "void *a = torch::neuron::tcm_malloc(8), *b = torch::neuron::tcm_malloc(8); "
        "for (int i = 0; i < 40000; i++) torch::neuron::tcm_free(torch::neuron::tcm_malloc(64)); "
        "torch::neuron::tcm_free(b); torch::neuron::tcm_free(a); y.fill_(1);", 1,
    ),
    "many tensors": (
        "for (int i = 0; i < 20000; i++) torch::Tensor z = torch::empty({4}, torch::kInt); "
        "y.fill_(1);", 1,
    ),
    "no buffer": ("torch::neuron::tcm_free(torch::neuron::tcm_malloc(0)); y.fill_(1);", 1),
    "a buffer of all": ("y.fill_(torch::neuron::tcm_malloc((size_t)-1) ? 1 : 0);", 0),
    "an integer that wraps": ("volatile int i = 2147483647; i = i + 1; y.fill_(i);", -(2.0**31)),
    "one past an array": ("float a[8]; for (float *p = a; p != &a[8]; p++) *p = 1; y.fill_(a[7]);",
                          1),
    "the last of each": (
        f"{FROM_HEAP}ones(p, n); float a[8]; ones(a, 8); float *q = new float[n]; ones(q, n); "
        "y.fill_(p[n - 1] + a[7] + q[n - 1]); free(p); delete[] q;", 3,
    ),
    "a lot of the heap": (
        "std::vector<float *> v; for (int i = 0; i < 20000; i++) v.push_back(new float[3]{1}); "
        "float s = 0; for (float *p : v) s += p[0]; for (float *p : v) delete[] p; y.fill_(s);",
        20000,
    ),
    "memory that grows": (
        "float *p = nullptr; for (int i = 1; i < 300; i++) { p = (float *)realloc(p, 4 * i); "
        "p[i - 1] = i; } y.fill_(p[100]); free(p);", 101,
    ),
    "zeros of the heap": ("float *p = (float *)calloc(n, 4); y.fill_(p[n - 1]); free(p);", 0),
    "nothing of the heap": ("free(malloc(0)); free(nullptr); delete[] new char[0]; y.fill_(1);", 1),
    "containers": (
        "std::map<int, std::string> m; for (int i = 0; i < 500; i++) m[i] = std::string(99, 'a'); "
        "auto p = std::make_shared<int>(m.size()); y.fill_(*p);", 500,
    ),
    "what the C library made": ('char *s = strdup("abc"); y.fill_((int)strlen(s)); free(s);', 3),
    "an exception with a text": (
        "try { throw std::runtime_error(std::string(99, 'a')); } catch (std::exception &e) { "
        "y.fill_((int)strlen(e.what())); }", 99,
    ),
    "a struct that ends with an array": (
        "struct S { int n; float d[1]; }; S *s = (S *)malloc(sizeof(S) + 36); "
        "for (int i = 0; i < 10; i++) s->d[i] = i; y.fill_(s->d[n & 9]); free(s);", 0,
    ),
    "two dimensions as one": (
        "float m[4][4]; float *p = &m[0][0]; for (int i = 0; i < 16; i++) p[i] = i; "
        "y.fill_(p[n - 49]);", 15,
    ),
    "from the middle back": (
        "float a[8] = {1, 2, 3}; float *c = a + 4; int i = (int)n - 66; y.fill_(c[i]);", 3
    ),
    "from a field to its struct": (
        "struct S { float a, b; } s = {7, 2}; y.fill_(*(float *)((char *)&s.b - 4));", 7
    ),
    "a union": (
        "union { float f[2]; unsigned char b[8]; } u; for (int i = 0; i < 8; i++) u.b[i] = 0; "
        "u.f[1] = 8; y.fill_(u.f[n - 63]);", 8,
    ),
    "an array as long as asked": ("float a[n]; ones(a, n); y.fill_(a[n - 1]);", 1),
    "a pool of its own": (
        "char *pool = (char *)malloc(1000); double *d = (double *)(pool + 200); "
        "ones((float *)pool, 50); d[99] = 5; y.fill_(d[99] + *(float *)pool); free(pool);", 6,
    ),
    "aligned memory": (
        "void *p = nullptr; if (posix_memalign(&p, 64, 4 * n)) return; ones((float *)p, n); "
        "y.fill_(((float *)p)[n - 1]); free(p);", 1,
    ),
    "heap that nobody wrote": (f"{FROM_HEAP}volatile float *q = p; y.fill_(q[3]);", np.nan),
    "TCM that nobody wrote": (
        "float *b = (float *)torch::neuron::tcm_malloc(256); "
        "y.tcm_accessor().tcm_to_tensor(b, 0, n);", np.nan,
    ),
}  # fmt: skip


def test_what_is_no_mistake_or_harmless_leaves_the_process_as_it_was(build):
    made = build(_kernel(*(body for body, _ in FINE.values())), cpu_seconds=10, wrong=WRONG)
    for number, (what, (_, first)) in enumerate(FINE.items()):
        for _ in range(2):
            np.testing.assert_equal(made(X, number)[0], np.float32(first), err_msg=what)


@pytest.mark.parametrize(
    "body", ["static int once = [] { exit(1); return 1; }();",
             "static int once = [] { for (volatile int i = 1; i;) {} return 1; }();"]
)  # fmt: skip
def test_a_program_that_never_begins(build, monkeypatch, body):
    monkeypatch.setattr(worker, "START_S", 1.0)
    with pytest.raises(
        OperatorError, match="does not get as far as its functions; look at what the"
    ):
        build(ONE.replace("torch::Tensor one", f"{body}\ntorch::Tensor one"), one="torch::Tensor x")


def test_what_a_program_prints_before_it_begins_is_no_answer(build):
    kernel = ONE.replace(
        "torch::Tensor one", 'static int once = printf("9\\n");\ntorch::Tensor one'
    )
    np.testing.assert_array_equal(build(kernel, one="torch::Tensor x")(-X), X)


def test_policies_of_coherence_warn_or_say_nothing(build, capsys):
    body = (
        "y.set_accessor_coherence_policy(torch::CoherencyEnforcer::Policy::{});"
        "auto a = y.write_stream_accessor<float>(); a.write(5); auto e = y.accessor<float, 1>();"
        "float stale = e[0]; a.close(); e[1] = stale; e[2] = e[0];"
    )
    for policy, warned in (("INCOHERENT_VERBOSE", True), ("INCOHERENT_QUIET", False)):
        y = build(_kernel(body.format(policy)), wrong=WRONG)(X, 0)
        assert y[:3].tolist() == [5, 0, 5]  # what the stream wrote was in TCM until it closed
        assert (f"warning: kernel.cpp:{FIRST}: an element" in capsys.readouterr().out) is warned


def test_a_larger_stack_is_granted_up_to_400_kb(build):
    body = (
        "volatile char all[30000]; for (size_t i = 0; i < 30000; i++) all[i] = 1; y.fill_(all[9]);"
    )
    made = build(_kernel(body), wrong=WRONG, flags=["-DSTACK_SIZE=40000"])
    run = made.run(X, 0)
    assert (run.outputs == 1).all()
    assert "slow stack" in [advice.kind for advice in run.advice]
    with pytest.raises(OperatorError, match="the largest stack has 400000 bytes"):
        build(_kernel(body), wrong=WRONG, flags=["-DSTACK_SIZE=500000"])


ONE = """#include <torch/torch.h>
torch::Tensor one(const torch::Tensor& x) {
  return torch::abs(x);
}
"""


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("abs(x);", "abs(x)", "kernel.cpp:3: the C++ compiler says: expected ';'"),
        ("torch::abs(x)", "torch::zeros({3})",
         "a tensor must be given a dtype, as in torch::zeros({n}, torch::kFloat)"),
        ("return", "x.accessor<float, 1>()[0] = 1; return",
         "a tensor that is const is only read: write to one that the kernel makes"),
        ("return", "auto w = x.write_stream_accessor<float>(); return",
         "a tensor that is const is only read: write to one that the kernel makes"),
        ("return", "} torch::Tensor one(torch::Tensor x, double b) { return",
         "cannot be called: there are several functions of this name; give each a name of its own"),
        ("return", "auto [a, b] = 3; return", "kernel.cpp:3: the C++ compiler says: "),
        ("abs", "sort", "kernel.cpp:3: the C++ compiler says: 'sort' is not a member of 'torch'"),
        ("abs", "relu", "'relu' is not a member of 'torch'; the processors' tensor library has"),
        ("torch::abs(x)", "*x.data_ptr<float>()", "'data_ptr'; a tensor's data are reached by acc"),
        ("torch.h>", "extension.h>", "torchneuron/register.h"),
        ("return", "x.tcm_accessor().tcm_to_tensor((float *)0, 0, 1); return",
         "kernel.cpp:3: the C++ compiler says: this tensor is const"),
        ("return", "x.accessor<double, 1>(); return",
         "kernel.cpp:3: the C++ compiler says: accessors are of float"),
        ("torch::Tensor one(", "torch::Tensor two(",
         "kernel.cpp has no kernel function one, which the library registers"),
        ("torch::Tensor& x", "torch::Tensor& x, int n",
         "the kernel function one of kernel.cpp: an operator takes torch::Tensor, torch::Scalar"),
        ("torch::Tensor one(", "void one(", "kernel.cpp"),
        ("torch::Tensor& x", "torch::Tensor& x, double by",
         "the shape function of one takes a tensor, and its kernel function one takes a tensor, a "
         "number; both have the same arguments"),
        ("torch::abs(x)", "hidden()", "kernel.cpp:3: the C++ compiler says: 'hidden'"),
    ],
)  # fmt: skip
def test_cpp_that_does_not_fit_is_one_sentence(build, compiler, old, new, text):
    with pytest.raises(OperatorError) as told:
        build(ONE.replace(old, new), one="torch::Tensor x")
    if compiler.is_gcc:
        said = str(told.value).replace("‘", "'").replace("’", "'")
        assert text in said, said
    assert "\n" not in str(told.value)


def test_a_function_that_nobody_defines(build):
    kernel = ONE.replace("torch::Tensor one", "float later(float);\ntorch::Tensor one")
    with pytest.raises(CompileError, match=r"later\(float\) is declared and used, but none"):
        build(kernel.replace("return", "later(1); return"), one="torch::Tensor x")


SHAPE = """#include <torch/torch.h>
#include "torchneuron/register.h"
torch::Tensor shape(torch::Tensor x) {{
  {body}
}}
{register}
"""
ONCE = 'NEURON_LIBRARY(ops, m) { m.def("one", &shape, "one"); }'


@pytest.mark.parametrize(
    ("body", "register", "text"),
    [
        ("return x;", "", "registers no operator; write NEURON_LIBRARY"),
        ("return x;", f"{ONCE} {ONCE.replace('ops', 'more').replace('one', 'two', 1)}",
         "the libraries ops and more; a model can have one"),
        ("return x;", "NEURON_LIBRARY(ops, m) {" + "".join(
            f'm.def("f{i}", &shape, "one");' for i in range(11)) + "}",
         "the library ops of shape.cpp registers 11 functions; it can have 10"),
        ("return x;", ONCE.replace("}", 'm.def("one", &shape, "one"); }'), "registers one twice"),
        ("return 3;", ONCE, "shape.cpp:4: the C++ compiler says: "),
    ],
)  # fmt: skip
def test_libraries_that_do_not_register_what_they_should(build, body, register, text):
    with pytest.raises(OperatorError) as told:
        build(ONE, shape=SHAPE.format(body=body, register=register))
    assert text in str(told.value)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("auto a = x.accessor<float, 1>(); return x;",
         "shape.cpp:4: a shape function looks at data; when a graph is compiled there are none"),
        ("return torch::zeros({-1}, torch::kFloat);", "shape.cpp:4: a dimension of -1"),
        ("return torch::zeros({1, 1, 1, 1, 70000}, torch::kFloat);",
         "shape.cpp:4: a dimension of 70000; a tensor of 5 dimensions has at most 65535 in each"),
        ("return torch::zeros({4}, torch::kLong);", "shape.cpp:4: torch::kLong is no dtype"),
        ("for (;;) x = x;", "shape.cpp:4: it ran for 2 s without an end"),
        ("throw 3;", "shape.cpp:4: it throws an exception"),
    ],
)  # fmt: skip
def test_shape_functions_that_do_not_give_a_shape(build, body, text):
    made = build(ONE, shape=SHAPE.format(body=body, register=ONCE))
    with pytest.raises(OperatorError) as told:
        made(X)
    assert text in str(told.value), str(told.value)


def test_arguments_that_an_operator_does_not_take(build):
    one = build(ONE, one="torch::Tensor x")
    with pytest.raises(TypeError, match="one takes a tensor, and was given 2 arguments"):
        one(X, X)
    with pytest.raises(OperatorError, match="of dtype float64, which operators do not know; cast"):
        one(X.astype(np.float64))
    with pytest.raises(TypeError, match=r"argument 0 of one is 'x'; it must be an array"):
        one("x")
    with pytest.raises(OperatorError, match="up to 8 dimensions"):
        one(np.zeros((1,) * 9, np.float32))
    with pytest.raises(OperatorError, match="one is called in a kernel, with a tile"):
        one(NeuronCore().sbuf((128, 4)))
    assert issubclass(OperatorError, NkiValidationError)


def test_files_and_names(compiler, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no file none.cpp \(compute_srcs\)"):
        gpsimd_cpp.load("x", ["none.cpp"], ["none.cpp"])
    with pytest.raises(TypeError, match=r"compute_srcs is 'relu.cpp'; it must be a list"):
        gpsimd_cpp.load("x", "relu.cpp", ["shape.cpp"])
    with pytest.raises(OperatorError, match="cannot be named builtin"):
        gpsimd_cpp.load("builtin", ["a.cpp"], ["b.cpp"])
    with pytest.raises(FileNotFoundError, match=r"there is no library libx\.so"):
        gpsimd_cpp.load_library(tmp_path / "libx.so")
    (tmp_path / "libx.so").write_bytes(b"\x7fELF")
    with pytest.raises(ValueError, match=r"libx.so is no library of custom operators that this"):
        gpsimd_cpp.load_library(tmp_path / "libx.so")


def test_accessors_that_several_processors_cannot_use(build):
    for line, text in (
        ("x.accessor<float, 1>();", "an element accessor on several processors"),
        ("x.read_stream_accessor<float>();", "a streaming accessor on several processors"),
        ("", "wrong runs on several processors and never calls get_dst_tensor()"),
    ):
        with pytest.raises(OperatorError) as told:
            build(_kernel(line), wrong=WRONG, multicore=True)(X, 0)
        assert text in str(told.value)


def test_without_a_compiler_the_sentence_says_what_to_install(monkeypatch):
    from trainium_edu.neuroncore.gpsimd_cpp import compiler

    monkeypatch.setattr(compiler.shutil, "which", lambda name: None)
    monkeypatch.setattr(compiler.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(gpsimd_cpp.NoCompilerError, match="pip install 'trainium_edu"):
        compiler.find_compiler.__wrapped__()


# -- limits of the compiler, of killed sessions and of full memory ------------------------------

#: 2^24 different types, which C++ says are instantiated one by one
BOMB = """template<int N, long M> struct B {
  static const int v = B<N - 1, 2 * M>::v ^ B<N - 1, 2 * M + 1>::v;
};
template<long M> struct B<0, M> { static const int v = M; };
static const int many = B<24, 1>::v;
"""


@pytest.mark.parametrize(
    ("limit", "value", "told"),
    [("MOST_S", 2, "more than 2 s for kernel.cpp"),
     ("MOST_BYTES", 1 << 29, "more than 0.5 GiB for kernel.cpp")],
)  # fmt: skip
def test_template_without_end_stops_compiling_in_a_sentence(build, monkeypatch, limit, value, told):
    build(ONE, one="torch::Tensor x")  # the runtime is compiled once, without these limits
    monkeypatch.setattr(compilers, limit, value)
    with pytest.raises(CompileError, match=told) as caught:
        build(BOMB + ONE, one="torch::Tensor x")
    assert "\n" not in str(caught.value)


def _session(tmp_path, then=""):
    """Start Python that builds what `build` wrote last."""
    script = (
        "import numpy as np; from trainium_edu.neuroncore import gpsimd_cpp\n"
        f"made = gpsimd_cpp.load('made', [r'{tmp_path}/kernel.cpp'], [r'{tmp_path}/shape.cpp'])\n"
    )
    return subprocess.Popen(
        [sys.executable, "-c", script + then], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip


def _started(child, name):
    """Return the child's processes, once one of them has a name."""
    end, below = time.monotonic() + 60, []
    while not any(name in process.name() for process in below):
        assert time.monotonic() < end
        time.sleep(0.05)
        below = psutil.Process(child.pid).children(recursive=True)
    return below


def test_ctrl_c_ends_compiling_with_all_that_the_compiler_started(build, tmp_path):
    build(ONE, one="torch::Tensor x")
    (tmp_path / "kernel.cpp").write_text(BOMB + ONE)
    with _session(tmp_path) as child:
        below = _started(child, "cc1plus" if compilers.find_compiler().is_gcc else "zig")
        child.send_signal(signal.SIGINT)
        sent = time.monotonic()
        _, told = child.communicate(timeout=30)
    assert time.monotonic() - sent < 10
    assert "KeyboardInterrupt" in told
    assert not psutil.wait_procs(below, timeout=5)[1]


@pytest.mark.skipif(not os.path.isdir("/dev/shm"), reason="a file system that is memory")
def test_killed_session_leaves_nothing_in_shared_memory(build, tmp_path):
    build(ONE, one="torch::Tensor x")
    before = set(os.listdir("/dev/shm"))
    call = "print(made(np.ones(1 << 20, np.float32))[:2], flush=True); input()"
    with _session(tmp_path, call) as child:
        assert child.stdout.readline() == "[1. 1.]\n"
        below = _started(child, "kernel")
        child.kill()
    assert not psutil.wait_procs(below, timeout=5)[1]
    assert set(os.listdir("/dev/shm")) <= before


def test_full_shared_memory_is_an_error_that_names_it_and_the_next_call_works(build, monkeypatch):
    made = build(ONE, one="torch::Tensor x")

    def full(file, offset, length):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "posix_fallocate", full, raising=False)
        with pytest.raises(OSError, match=r"No space left on device: '/.+'"):
            made(-X)
    np.testing.assert_array_equal(made(-X), X)


def test_operator_that_stops_the_process_which_waits_for_it(build, monkeypatch):
    monkeypatch.setattr(worker, "_SLACK_S", 1.0)
    made = build(_kernel("kill(getppid(), SIGSTOP); sleep(9);"), wrong=WRONG, cpu_seconds=1)
    with pytest.raises(OperatorError, match="it stopped the process that waits for it"):
        made(X, 0)
