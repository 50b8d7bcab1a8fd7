// One call of an operator, as Python and the operator's process share it (wire.py has its twin).
#pragma once
#include <stdint.h>

namespace neuron_edu {

constexpr int MAX_DIMS = 8, MAX_ARGUMENTS = 16, MAX_PROCESSORS = 8, MAX_SITES = 32, MAX_HOT = 16, OUT = 255;
constexpr int MAX_SAMPLES = 16, MAX_FRAMES = 24;  // of stacks, innermost frame first

enum Status { OK, REFUSED, SIGNALLED, THREW, SHAPE, NO_DST, RUNNING };
enum Kind { TENSOR, DOUBLE, INTEGER };

struct TensorSlot {
  int32_t dtype, dims;
  int64_t sizes[MAX_DIMS];
  int64_t offset;   // of its bytes in the shared file
  int64_t touched;  // of its maps of readers and writers (a byte an element), 0 without
};

struct ArgumentSlot {
  int32_t kind, pad;
  double value;
  TensorSlot tensor;
};

struct Counts {
  int64_t elements;         // trips to HBM, one for each element named through an element accessor
  int64_t streamed;         // elements through streams
  int64_t refills;          // 4 KB of a stream, filled or flushed
  int64_t copies;           // between HBM and TCM, asked for by the program
  int64_t copied_bytes;     // by those copies and by refills
  int64_t bulks;            // fills and copies of whole tensors
  int64_t bulk_bytes;
  int64_t library_elements; // that the tensor library computed
  int64_t library_curves;   // of these: by exp, log, sin, pow, ...
  int64_t blocks;           // basic blocks of the program that ran
  int64_t stack_bytes, tcm_bytes;  // the most at once
};

struct Site {  // one line of the program
  int32_t line, file;  // file: offset into Call.names
  int64_t elements, streamed, copies, copied_bytes;
};

struct Hot {  // one basic block that ran often
  int64_t pc, times;  // pc: in the call at its beginning
};

struct Processor {
  Counts counts;
  Hot hot[MAX_HOT];
  int32_t sites, ran;
  Site site[MAX_SITES];
  int32_t read_line, write_line;  // that touched the watched element
  int32_t read_file, write_file;
};

struct Call {
  // what is asked
  int32_t entry, arguments, multicore, processors;
  int64_t cpu_seconds, memory_bytes, stack_bytes;
  ArgumentSlot argument[MAX_ARGUMENTS];
  TensorSlot out;
  int64_t watch_element;
  int32_t watch_tensor;  // -1: none
  // what came of it
  int32_t status, signal, processor, line, tcm_failed;
  int64_t last_pc;  // of the latest basic block
  int64_t made_pc;  // that made the memory of the heap that the message is about
  int32_t samples, ran_ms;  // the process's own time when its time was up
  int64_t frames[MAX_SAMPLES][MAX_FRAMES];  // 0 ends a stack
  char message[1024], file[512];
  int32_t names_end, warnings_end;
  char names[4096], warnings[4096];
  Processor of[MAX_PROCESSORS];
};

}  // namespace neuron_edu
