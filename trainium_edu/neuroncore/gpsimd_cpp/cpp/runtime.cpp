// The process that an operator runs in: waits for calls, forks one process for each processor that
// runs the program, counts, and says in one sentence what went wrong.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <unwind.h>

#include <exception>

#include "neuron_edu/bind.h"
#include "neuron_edu/guards.h"

#ifdef __linux__
extern "C" char __executable_start;
#else
static char __executable_start;  // no lines are known there
#endif

namespace neuron_edu {

Here here;
Call *call_;

namespace {

constexpr int64_t TCM_BYTES = 16384;  // what programs may allocate of a processor's memory
constexpr int MAX_ENTRIES = 64, MAX_BLOCKS = 32768, FRESH_INTEGER = 4;
constexpr char SLACK = (char)0xa5;  // before what begins in the middle of a page

Entry entries[MAX_ENTRIES];
int entry_count;
char *base;  // of the shared file
uintptr_t stack_top, stack_floor;
int64_t nowhere, *last_pc = &nowhere;
constexpr uintptr_t CODE = 1 << 18;  // bytes of the program in which blocks are told apart
uint32_t times[CODE / 4];            // that each ran
pid_t own;      // the process that runs the program, not one that it forks
int protocol;   // where answers to Python go
int files[3];   // Python's, without names: the call, and what the program prints to two streams
bool is_slow;   // the time is up, and stacks are sampled
bool is_over;   // and the process that hears no signal was killed
at::TensorBody *dst;  // what get_dst_tensor gave

enum What { TCM, STREAM, MADE, ARGUMENT };
struct Block {  // some memory; it ends with a page, between two pages that nobody may touch
  char *begin, *guard_begin, *guard_end;
  size_t bytes;
  bool is_live;
  What what;
  const char *file;
  int line;  // where it was made; of an argument its number
} blocks[MAX_BLOCKS];
int block_count;
int64_t tcm_used;
size_t page;

const char *SIZE_NAMES[] = {"kFloat", "kBFloat16", "kHalf", "kInt", "kChar", "kShort", "kByte",
                            "kLong", "kDouble", "kBool", "an undefined dtype"};
const size_t ITEM_SIZES[] = {4, 2, 2, 4, 1, 2, 1, 8, 8, 1, 0};

int file_number(const char *file) {  // a name's offset in Call.names
  if (!file) file = "";
  for (int at = 0; at < call_->names_end; at += (int)strlen(call_->names + at) + 1)
    if (!strcmp(call_->names + at, file)) return at;
  int at = call_->names_end, length = (int)strlen(file) + 1;
  if (at + length > (int)sizeof call_->names) return 0;
  memcpy(call_->names + at, file, (size_t)length);
  call_->names_end = at + length;
  return at;
}

void put_down() {  // counts and lines, for Python to read
  Processor &out = call_->of[here.processor];
  here.counts.stack_bytes =
      here.counts.stack_bytes > 0 ? (int64_t)stack_top - here.counts.stack_bytes : 0;
  out.counts = here.counts;
  out.ran = 1;
  for (Hot &hot : out.hot) {  // the most frequent, one after the other
    uint32_t *most = times;
    for (uint32_t *at = times; at < times + CODE / 4; at++)
      if (*at > *most) most = at;
    hot = {(int64_t)&__executable_start + (most - times) * 4, *most};
    *most = 0;
  }
  for (Line &line : here.lines) {
    if (!line.elements && !line.streamed && !line.copies) continue;
    if (out.sites == MAX_SITES) break;
    out.site[out.sites++] = {line.line,     file_number(line.file), line.elements,
                             line.streamed, line.copies,            line.copied_bytes};
  }
}

[[noreturn]] void stop(int status, const char *file, int line) {
  if (getpid() != own) _exit(1);
  call_->status = status;
  call_->processor = here.processor;
  call_->line = line;
  if (file) snprintf(call_->file, sizeof call_->file, "%s", file);
  fflush(stdout);
  _exit(1);
}

}  // namespace

void refuse(const char *file, int line, const char *format, ...) {
  va_list more;
  va_start(more, format);
  if (!call_) {
    vfprintf(stderr, format, more);
    _exit(2);
  }
  vsnprintf(call_->message, sizeof call_->message, format, more);
  va_end(more);
  stop(REFUSED, file, line);
}

void warn(const char *file, int line, const char *format, ...) {
  int room = (int)sizeof call_->warnings - call_->warnings_end;
  if (room < 600) return;
  char text[500];
  va_list more;
  va_start(more, format);
  vsnprintf(text, sizeof text, format, more);
  va_end(more);
  call_->warnings_end += snprintf(call_->warnings + call_->warnings_end, (size_t)room, "%s:%d: %s\n",
                                  file ? file : "", line, text);
}

void outside(const Index &index, int64_t size, int axis) {
  if (axis < 0)
    refuse(index.file, index.line, "index %lld of sizes with %lld entries",
           (long long)index.value, (long long)size);
  auto low = (uint32_t)index.value;  // as compilers fill variables
  bool is_unset = low == 0xfefefefe || low == 0xaaaaaaaa;
  refuse(index.file, index.line, "index %lld is outside axis %d, which has %lld elements%s",
         (long long)index.value, axis, (long long)size,
         is_unset ? "; a variable that nobody set has such a value" : "");
}

size_t itemsize(c10::ScalarType dtype) { return ITEM_SIZES[(int)dtype]; }
const char *name_of(c10::ScalarType dtype) { return SIZE_NAMES[(int)dtype]; }

void wrong_dtype(const TensorBody *tensor, c10::ScalarType asked, const char *call, const char *file,
                 int line) {
  refuse(file, line, "%s of torch::%s data, and the tensor is of torch::%s", call, name_of(asked),
         name_of(tensor->dtype));
}

namespace {
void check_data(const TensorBody *tensor, const char *file, int line) {
  if (here.is_shape)
    refuse(file, line,
           "a shape function looks at data; when a graph is compiled there are none yet: give sizes "
           "and dtype only");
  (void)tensor;
}

void check_single(const char *what, const char *file, int line) {
  if (here.is_multicore)
    refuse(file, line,
           "%s on several processors: with multicore=True tensors can only be accessed through TCM "
           "accessors", what);
}
}  // namespace

void check_accessor(const TensorBody *tensor, int dims, c10::ScalarType dtype, const char *file,
                    int line) {
  check_data(tensor, file, line);
  check_single("an element accessor", file, line);
  if (dtype != tensor->dtype) wrong_dtype(tensor, dtype, "an accessor", file, line);
  if (dims != tensor->dims)
    refuse(file, line, "an accessor of %d dimensions, and the tensor has %d", dims, tensor->dims);
}

void incoherent(const TensorBody *tensor, const char *what, const char *file, int line) {
  if (tensor->policy == at::CoherencyEnforcer::INCOHERENT_QUIET) return;
  const char *format =
      "%s while a stream on the same tensor holds a part of it in TCM, so they may see different "
      "data: close() the stream first";
  if (tensor->policy == at::CoherencyEnforcer::COHERENT)
    refuse(file, line, format, what);
  static int last;
  if (last != line) warn(file, last = line, format, what);
}

// -- memory between guards ------------------------------------------------------------------------

namespace {
const char *name_of(const Block &block) {
  static char text[64];
  if (block.what == ARGUMENT && block.line == OUT) return "the result";
  if (block.what <= STREAM) return "a TCM buffer";
  snprintf(text, sizeof text,
           block.what == ARGUMENT ? "argument %d" : "the tensor made at line %d", block.line);
  return text;
}

// What was written before a block is seen when it is given back, or at the end.
void check_slack(const Block &block) {
  for (char *at = block.begin; --at >= block.guard_begin + page;)
    if (*at != SLACK)
      refuse(block.what == ARGUMENT ? nullptr : block.file, block.line,
             "the program writes before the beginning of %s", name_of(block));
}

void forget_dead() {
  int kept = 0;
  for (int i = 0; i < block_count; i++)
    if (blocks[i].is_live)
      blocks[kept++] = blocks[i];
    else
      munmap(blocks[i].guard_begin, (size_t)(blocks[i].guard_end - blocks[i].guard_begin));
  block_count = kept;
}

void note(char *guard_begin, size_t pages, size_t bytes, What what, const char *file, int line) {
  char *begin = guard_begin + page + pages - bytes;
  memset(guard_begin + page, SLACK, pages - bytes);
  blocks[block_count++] = {begin, guard_begin, guard_begin + pages + 2 * page, bytes, true, what, file,
                           line};
}

size_t whole_pages(size_t bytes) { return bytes ? (bytes + page - 1) / page * page : page; }

// Return memory with guards around it, or nullptr.
char *take(size_t bytes, What what, const char *file, int line) {
  if (block_count == MAX_BLOCKS) forget_dead();
  if (block_count == MAX_BLOCKS) return nullptr;
  size_t pages = whole_pages(bytes);
  char *all = (char *)mmap(nullptr, pages + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED) return nullptr;
  if (mprotect(all + page, pages, PROT_READ | PROT_WRITE)) {
    munmap(all, pages + 2 * page);
    return nullptr;
  }
  note(all, pages, bytes, what, file, line);
  return blocks[block_count - 1].begin;
}

// The guard behind an argument is also the one before the next: it is the former's.
Block *block_at(const char *pointer) {
  for (size_t before : {page, (size_t)0})
    for (int i = block_count; i-- > 0;)
      if (pointer >= blocks[i].guard_begin + before && pointer < blocks[i].guard_end)
        return &blocks[i];
  return nullptr;
}

}  // namespace
bool is_block(const char *pointer) { return block_at(pointer); }
namespace {

void guard_arguments() {
  auto protect = [](const TensorSlot &slot, int number) {
    size_t bytes = itemsize((c10::ScalarType)slot.dtype);
    for (int i = 0; i < slot.dims; i++) bytes *= (size_t)slot.sizes[i];
    size_t pages = whole_pages(bytes);
    char *guard_begin = base + slot.offset + bytes - pages - page;
    mprotect(guard_begin, page, PROT_NONE);
    mprotect(guard_begin + page + pages, page, PROT_NONE);
    note(guard_begin, pages, bytes, ARGUMENT, nullptr, number);
  };
  for (int i = 0; i < call_->arguments; i++)
    if (call_->argument[i].kind == TENSOR && !here.is_shape) protect(call_->argument[i].tensor, i);
  if (!here.is_shape) protect(call_->out, OUT);
}
}  // namespace

// -- TCM ------------------------------------------------------------------------------------------

void *take_tcm(size_t bytes, bool is_stream, const char *file, int line) {
  if (here.is_shape) refuse(file, line, "a shape function runs on the host, which has no TCM");
  if (bytes > (size_t)(TCM_BYTES - tcm_used)) {
    if (!is_stream) ++call_->tcm_failed, call_->line = line;
    return nullptr;
  }
  char *made = take(bytes, is_stream ? STREAM : TCM, file, line);
  if (!made) refuse(file, line, "the emulator's process has no memory left for TCM");
  memset(made, 0xff, bytes);  // floats are NaN until somebody writes them
  tcm_used += (int64_t)bytes;
  if (tcm_used > here.counts.tcm_bytes) here.counts.tcm_bytes = tcm_used;
  return made;
}

void give_tcm(void *pointer, const char *file, int line) {
  if (!pointer) return;
  for (int i = block_count; i-- > 0;) {
    Block &block = blocks[i];
    if (block.begin != pointer || block.what > STREAM) continue;
    if (!block.is_live)
      refuse(file, line, "tcm_free of memory that was freed already");
    check_slack(block);
    block.is_live = false;
    tcm_used -= (int64_t)block.bytes;
    size_t size = (size_t)(block.guard_end - block.guard_begin);
    mmap(block.guard_begin, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    return;
  }
  refuse(file, line, "tcm_free of a pointer that tcm_malloc did not return");
}

namespace {
// Mark who read or wrote elements of a tensor that all processors share.
void touch(const TensorBody *tensor, int64_t first, int64_t count, bool is_write, const char *file,
           int line) {
  if (!here.is_multicore || tensor->slot < 0) return;
  const TensorSlot &slot = tensor->slot == OUT ? call_->out : call_->argument[tensor->slot].tensor;
  uint8_t *map = (uint8_t *)base + slot.touched + (is_write ? tensor->numel : 0);
  uint8_t bit = (uint8_t)(1 << here.processor);
  for (int64_t i = first; i < first + count; i++) map[i] |= bit;
  if (tensor->slot == call_->watch_tensor && first <= call_->watch_element &&
      call_->watch_element < first + count) {
    Processor &out = call_->of[here.processor];
    (is_write ? out.write_line : out.read_line) = line;
    (is_write ? out.write_file : out.read_file) = file_number(file);
  }
}
}  // namespace

void copy_tcm(const TensorBody *tensor, void *tcm, size_t offset, size_t count, size_t size,
              bool to_tensor, const char *file, int line) {
  const char *name = to_tensor ? "tcm_to_tensor" : "tensor_to_tcm";
  check_data(tensor, file, line);
  size_t bytes = count * size;
  if (offset > (size_t)tensor->numel || count > (size_t)tensor->numel - offset)
    refuse(file, line, "%s of %llu elements from element %llu on, and the tensor has %lld", name,
           (unsigned long long)count, (unsigned long long)offset, (long long)tensor->numel);
  if (!tcm)
    refuse(file, line,
           call_->tcm_failed ? "%s with a null pointer: tcm_malloc at line %d found the pool of 16 "
                               "KB full (%lld bytes are taken); look at what it returns"
                             : "%s with a null pointer",
           name, call_->line, (long long)tcm_used);
  char *pointer = (char *)tcm;
  Block *block = block_at(pointer);
  if (block && block->what <= STREAM) {
    if (!block->is_live) refuse(file, line, "%s with TCM that was freed", name);
    if (pointer < block->begin || pointer + bytes > block->begin + block->bytes)
      refuse(file, line, "%s of %llu bytes at byte %lld of a TCM buffer of %llu bytes", name,
             (unsigned long long)bytes, (long long)(pointer - block->begin),
             (unsigned long long)block->bytes);
  } else if ((uintptr_t)pointer > stack_top || (uintptr_t)pointer < stack_top - (8u << 20)) {
    refuse(file, line, "%s with a pointer that is not TCM: take it from tcm_malloc", name);
  }
  char *data = tensor->data + offset * size;
  if (to_tensor)
    memcpy(data, tcm, bytes);
  else
    memcpy(tcm, data, bytes);
  touch(tensor, (int64_t)offset, (int64_t)count, to_tensor, file, line);
  Line &here_ = at(file, line);
  ++here.counts.copies, ++here_.copies;
  here.counts.copied_bytes += (int64_t)bytes, here_.copied_bytes += (int64_t)bytes;
}

// -- streams --------------------------------------------------------------------------------------

void *open_stream(TensorBody *tensor, c10::ScalarType dtype, bool writes, const char *file,
                  int line) {
  check_data(tensor, file, line);
  check_single("a streaming accessor", file, line);
  if (dtype != tensor->dtype) wrong_dtype(tensor, dtype, "a stream", file, line);
  if (tensor->write_streams || (writes && tensor->read_streams))
    incoherent(tensor, writes ? "a write stream is opened" : "a read stream is opened", file, line);
  ++(writes ? tensor->write_streams : tensor->read_streams);
  return take_tcm(STREAM_BYTES, true, file, line);
}

void close_stream(TensorBody *tensor, void *chunk, bool writes) {
  --(writes ? tensor->write_streams : tensor->read_streams);
  give_tcm(chunk, nullptr, 0);
}

void refill(const TensorBody *tensor, void *chunk, int64_t first, int64_t count, bool writes) {
  size_t size = itemsize(tensor->dtype), bytes = (size_t)count * size;
  char *data = tensor->data + (size_t)first * size;
  if (writes)
    memcpy(data, chunk, bytes);
  else
    memcpy(chunk, data, bytes);
  ++here.counts.refills;
  here.counts.copied_bytes += (int64_t)bytes;
}

// -- tensors --------------------------------------------------------------------------------------

void drop(TensorBody *tensor) {
  if (--tensor->uses) return;
  if (tensor->slot < 0 && tensor->data)
    for (int i = block_count; i-- > 0;)
      if (blocks[i].begin == tensor->data && blocks[i].what == MADE) {
        check_slack(blocks[i]);
        munmap(blocks[i].guard_begin, (size_t)(blocks[i].guard_end - blocks[i].guard_begin));
        blocks[i] = blocks[--block_count];
        break;
      }
  delete tensor;
}

namespace {
at::TensorBody *body_of(c10::ScalarType dtype, const c10::IntArrayRef &sizes, int slot, char *data) {
  bool was_running = is_running;
  is_running = false;  // this memory is not the program's own
  auto *body = new at::TensorBody();
  is_running = was_running;
  body->uses = 1, body->dtype = dtype, body->slot = slot, body->data = data;
  body->dims = (int)sizes.size(), body->numel = 1;
  for (int i = body->dims; i-- > 0;) {
    body->sizes[i] = sizes[i], body->strides[i] = body->numel;
    body->numel *= sizes[i];
  }
  return body;
}

at::TensorBody *body_of(const TensorSlot &slot, int number) {
  return body_of((c10::ScalarType)slot.dtype, {slot.sizes, (size_t)slot.dims}, number,
                 here.is_shape ? nullptr : base + slot.offset);
}
}  // namespace

at::Tensor tensor_of(const ArgumentSlot &slot, int number) {
  return at::Tensor(body_of(slot.tensor, number));
}

// A new tensor; unless its caller fills it, floats are NaN and integers 4 until somebody writes them.
at::Tensor fresh(const c10::IntArrayRef &sizes, c10::ScalarType dtype, bool is_filled,
                 const char *file, int line) {
  if (dtype > c10::ScalarType::Byte)
    refuse(file, line,
           "torch::%s is no dtype of the GPSIMD's tensor library: kFloat, kBFloat16, kHalf, kInt, "
           "kChar, kShort and kByte are", name_of(dtype));
  int64_t most = sizes.size() > 4 ? 65535 : 4294967295ll;
  double numel = 1;
  for (int64_t size : sizes) {
    if (size < 0 || size > most)
      refuse(file, line, "a dimension of %lld; a tensor of %d dimensions has at most %lld in each",
             (long long)size, (int)sizes.size(), (long long)most);
    numel *= (double)size;
  }
  if (numel * (double)itemsize(dtype) > 16.0 * (1u << 30))
    refuse(file, line, "a tensor of %.0f elements; a NeuronCore has 16 GiB of HBM", numel);
  at::TensorBody *body = body_of(dtype, sizes, -1, nullptr);
  if (here.is_shape) return at::Tensor(body);
  size_t bytes = (size_t)body->numel * itemsize(dtype);
  body->data = take(bytes, MADE, file, line);
  if (!body->data)
    refuse(file, line, "no memory left for a tensor of %.0f elements", numel);
  if (is_filled) return at::Tensor(body);
  if (dtype == c10::ScalarType::Float)
    for (int64_t i = 0; i < body->numel; i++) ((float *)body->data)[i] = NAN;
  else if (dtype <= c10::ScalarType::Half)
    memset(body->data, 0xff, bytes);
  else if (dtype == c10::ScalarType::Int)
    for (int64_t i = 0; i < body->numel; i++) ((int32_t *)body->data)[i] = FRESH_INTEGER;
  else if (dtype == c10::ScalarType::Short)
    for (int64_t i = 0; i < body->numel; i++) ((int16_t *)body->data)[i] = FRESH_INTEGER;
  else
    memset(body->data, FRESH_INTEGER, bytes);
  return at::Tensor(body);
}

void add(const Entry &entry) {
  if (entry_count < MAX_ENTRIES) entries[entry_count] = entry;
  ++entry_count;
}

// -- what goes wrong ------------------------------------------------------------------------------

}  // namespace neuron_edu
extern "C" void __sanitizer_cov_trace_pc();
namespace neuron_edu {
namespace {
constexpr int64_t HOOK_BYTES = 96;  // about; around it is nothing of the program's

// Note where the program is: return addresses, innermost first.  Where the compiler's hook begins or
// ends, tables of some compilers lose its caller, which is known otherwise.
void sample() {
  is_running = false;
  if (call_->samples == MAX_SAMPLES) return;
  int64_t *frames = call_->frames[call_->samples++];
  struct Walk {
    int64_t *next, *end;
  } walk = {frames, frames + MAX_FRAMES};
  _Unwind_Backtrace(
      [](_Unwind_Context *context, void *to) {
        auto *walk = (Walk *)to;
        int is_exact = 0;
        auto pc = (int64_t)_Unwind_GetIPInfo(context, &is_exact);
        if (walk->next == walk->end || !pc) return _URC_END_OF_STACK;
        bool is_hook = is_slow && (uint64_t)(pc - (int64_t)&__sanitizer_cov_trace_pc) < HOOK_BYTES;
        *walk->next++ = is_hook ? *last_pc - 1 : is_exact ? pc : pc - 1;
        return _URC_NO_REASON;
      },
      &walk);
}
}  // namespace

void say(const char *format, ...) {
  va_list more;
  va_start(more, format);
  vsnprintf(call_->message, sizeof call_->message, format, more);
  va_end(more);
}

void stop_here(const char *format, ...) {
  if (!call_) _exit(2);  // before any call: a constructor of the program's
  va_list more;
  va_start(more, format);
  vsnprintf(call_->message, sizeof call_->message, format, more);
  va_end(more);
  sample();
  stop(SIGNALLED, nullptr, 0);
}

namespace {

// What is slow is somewhere else every time, so several stacks are looked at.
void on_time(int number) {
  bool is_first = !is_slow;
  if (is_first) call_->signal = number, call_->ran_ms = (int32_t)(clock() * 1000 / CLOCKS_PER_SEC);
  is_slow = true;
  sample();
  if (call_->samples == MAX_SAMPLES) stop(SIGNALLED, nullptr, 0);
  if (!is_first) return;
  struct itimerval often = {{0, 2000}, {0, 2000}};
  setitimer(ITIMER_REAL, &often, nullptr);
}

void on_signal(int number, siginfo_t *info, void *) {
  call_->signal = number;
  if (number == SIGSEGV || number == SIGBUS) {
    char *address = (char *)info->si_addr;
    Block *block = block_at(address);
    if (block)
      snprintf(call_->message, sizeof call_->message, "it touches byte %lld of %s%s %llu bytes%s",
               (long long)(address - block->begin), name_of(*block),
               block->what <= STREAM ? " of" : ", which has", (unsigned long long)block->bytes,
               block->is_live ? "" : " that was freed");
    if (block && block->what == TCM) {
      size_t end = strlen(call_->message);
      snprintf(call_->message + end, sizeof call_->message - end, " (tcm_malloc at line %d)",
               block->line);
    } else if (block) {
    } else if ((uintptr_t)address < 1u << 20 && call_->tcm_failed)
      snprintf(call_->message, sizeof call_->message,
               "it uses a null pointer: tcm_malloc at line %d found the pool of 16 KB full (%lld "
               "bytes are taken); look at what it returns", call_->line, (long long)tcm_used);
    else if (describe_heap(address)) {
    } else if ((uintptr_t)address < 1u << 20)
      snprintf(call_->message, sizeof call_->message, "it uses a null pointer");
    else
      snprintf(call_->message, sizeof call_->message, "it touches memory that is not its own");
  }
  sample();
  stop(SIGNALLED, nullptr, 0);
}

void on_exit() {
  if (call_->status == RUNNING)
    stop_here("it ends its own process; a kernel returns a tensor");
}

void guard(const Call &call) {
  static char other_stack[1 << 16];
  stack_t stack = {};
  stack.ss_sp = other_stack, stack.ss_size = sizeof other_stack;
  sigaltstack(&stack, nullptr);
  struct sigaction action = {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT})
    sigaction(number, &action, nullptr);
  action.sa_handler = on_time;
  action.sa_flags = SA_ONSTACK | SA_RESTART;
  for (int number : {SIGXCPU, SIGALRM}) sigaction(number, &action, nullptr);
  signal(SIGXFSZ, SIG_IGN);
  std::set_terminate(on_exception);
  atexit(on_exit);
  auto limit = [](int what, int64_t soft, int64_t hard) {
    struct rlimit both = {(rlim_t)soft, (rlim_t)hard};
    setrlimit(what, &both);
  };
  limit(RLIMIT_CPU, call.cpu_seconds, call.cpu_seconds + 1);
  limit(RLIMIT_AS, call.memory_bytes, call.memory_bytes);
  limit(RLIMIT_FSIZE, 16 << 20, 16 << 20);
  limit(RLIMIT_CORE, 0, 0);
  alarm((unsigned)(2 * call.cpu_seconds));
}

void copy_out(const at::Tensor &result) {
  const TensorSlot &out = call_->out;
  const at::TensorBody *body = result.body();
  if (!body) refuse(nullptr, 0, "it returns a tensor that was never made");
  bool fits = (int)body->dtype == out.dtype && body->dims == out.dims;
  for (int i = 0; fits && i < body->dims; i++) fits = body->sizes[i] == out.sizes[i];
  if (!fits || here.is_shape) {  // Python words it
    call_->argument[0].tensor.dtype = (int)body->dtype;
    call_->argument[0].tensor.dims = body->dims;
    memcpy(call_->argument[0].tensor.sizes, body->sizes, sizeof body->sizes);
    stop(SHAPE, nullptr, 0);
  }
  size_t bytes = (size_t)body->numel * itemsize(body->dtype);
  memcpy(base + out.offset, body->data, bytes);
  here.counts.bulks += 1, here.counts.bulk_bytes += 2 * (int64_t)bytes;
}

// Call the function, and measure its stack from here.
__attribute__((noinline)) at::Tensor enter(const Entry &entry) {
  stack_top = (uintptr_t)__builtin_frame_address(0);
  stack_floor = here.is_shape ? 0 : stack_top - (uintptr_t)call_->stack_bytes;
  here.counts.stack_bytes = (int64_t)stack_top;
  is_running = true;
  at::Tensor result = entry.run(entry.function, call_->argument);
  is_running = false;
  stack_floor = 0;
  return result;
}

// The names themselves are stubs for the program, which refuse (guards.cpp).
int real_open(const char *path, int flags, int mode = 0600) {
  static auto real = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
  return real(path, flags, mode);
}
pid_t real_fork() {
  static auto real = (pid_t(*)())dlsym(RTLD_NEXT, "fork");
  return real();
}

void run(int processor) {
  own = getpid();
  setpgid(0, 0);  // what it starts ends with it
#ifdef __linux__
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  int first = real_open("/proc/self/oom_score_adj", O_WRONLY);
  if (write(first, "1000", 4)) close(first);
#endif
  call_->status = RUNNING;
  last_pc = &call_->last_pc;
  here.call = call_, here.processor = processor, here.processors = call_->processors;
  here.is_multicore = call_->multicore;
  int nothing = real_open("/dev/null", O_RDWR);
  for (int stream : {0, 1, 2}) dup2(processor || !stream ? nothing : files[stream], stream);
  for (int file : {nothing, protocol, files[0], files[1], files[2]}) close(file);
  guard_arguments();
  begin_heap();
  guard(*call_);
  at::Tensor result = enter(entries[call_->entry]);
  if (getpid() != own) _exit(0);  // of a program that forks, both come here
  if (is_slow) stop(SIGNALLED, nullptr, 0);  // the signal ended its waiting
  if (!dst && here.is_multicore) stop(NO_DST, nullptr, 0);
  if (!dst) copy_out(result);
  for (int i = 0; i < block_count; i++)
    if (blocks[i].is_live) check_slack(blocks[i]);
  check_heap();
  put_down();
  call_->status = OK;
  fflush(stdout);
  _exit(0);
}

pid_t waited;  // the process that runs the program

void answer() {
  struct stat about;
  if (fstat(files[0], &about)) return;
  base = (char *)mmap(nullptr, (size_t)about.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, files[0], 0);
  call_ = (Call *)base;
  int64_t limit = 2 * call_->cpu_seconds;  // on the clock
  signal(SIGALRM, [](int) { is_over = !kill(waited, SIGKILL); });
  for (int processor = 0; processor < call_->processors; processor++) {
    is_over = false;
    waited = real_fork();
    if (waited == 0) run(processor);
    alarm((unsigned)limit + 2);  // it may have stopped itself, or block its own
    int ended = 0;
    struct rusage used;
    while (wait4(waited, &ended, 0, &used) < 0 && errno == EINTR) continue;
    alarm(0);
    kill(-waited, SIGKILL);
    double ran = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                 1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    if (WIFSIGNALED(ended) || call_->status == RUNNING) {
      bool is_late = ran >= (double)call_->cpu_seconds;
      call_->signal = !WIFSIGNALED(ended) ? 0 : is_late ? SIGXCPU : WTERMSIG(ended);
      call_->status = SIGNALLED, call_->processor = processor;
    }
    if (is_over) call_->signal = SIGALRM;
    if (call_->status == SIGNALLED && call_->signal == SIGALRM) {
      if (call_->ran_ms) ran = 1e-3 * call_->ran_ms;  // without the samples of its stack
      if (ran > 0.1 * (double)call_->cpu_seconds) call_->signal = SIGXCPU;  // on a busy machine
      say("it waited for %d s without an end (it ran for %.1f s of them); what would wake it from "
          "sleep, pause, a stop or a lock?", (int)limit, ran);
    }
    if (call_->status != OK) break;
  }
  munmap(base, (size_t)about.st_size);
}
}  // namespace

}  // namespace neuron_edu

using namespace neuron_edu;

at::Tensor get_dst_tensor(const char *file, int line) {
  if (here.is_shape) refuse(file, line, "a shape function has no output to write to");
  if (!dst) dst = body_of(call_->out, OUT);
  ++dst->uses;
  return at::Tensor(dst);
}

// The compiler calls this in every basic block of the program.
extern "C" __attribute__((noinline)) void __sanitizer_cov_trace_pc() {
  ++here.counts.blocks;
  uintptr_t pc = (uintptr_t)__builtin_return_address(0);
  *last_pc = (int64_t)pc;
  ++times[(pc - (uintptr_t)&__executable_start) % CODE / 4];
  uintptr_t now = (uintptr_t)__builtin_frame_address(0);
  if (now < (uintptr_t)here.counts.stack_bytes) {
    here.counts.stack_bytes = (int64_t)now;
    if (now < stack_floor) {
      stack_floor = 0;
      stop_here("stack");
    }
  }
}

#ifdef __linux__
extern "C" void __assert_fail(const char *what, const char *file, unsigned int line, const char *) {
  refuse(file, (int)line, "its assertion failed: %s", what);
}
#endif

// Before anything of the program's runs: what it prints on its way to main() is no answer.
__attribute__((constructor(101))) static void begin() {
  page = (size_t)sysconf(_SC_PAGESIZE);
  protocol = dup(STDOUT_FILENO);
  int nothing = real_open("/dev/null", O_WRONLY);
  dup2(nothing, STDOUT_FILENO);
  close(nothing);
}

int main(int count, char **arguments) {
  here.is_shape = count > 4 && !strcmp(arguments[1], "shape");
  for (int i = 0; i < 3 && count > 4; i++) files[i] = atoi(arguments[2 + i]);
  fflush(stdout);
  dprintf(protocol, "%d\n", entry_count);
  for (int i = 0; i < entry_count && i < MAX_ENTRIES; i++)
    dprintf(protocol, "%s\t%s\t%s\t%s\n", entries[i].library, entries[i].name, entries[i].kernel,
            entries[i].signature);
  while (getchar() == '\n') {
    answer();
    dprintf(protocol, "done\n");
  }
  return 0;
}
