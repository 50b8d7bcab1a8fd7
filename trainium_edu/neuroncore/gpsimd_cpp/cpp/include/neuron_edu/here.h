// What accessors, streams and copies tell the emulator: how often, from which line.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "neuron_edu/call.h"

#define NEURON_EDU_INLINE inline __attribute__((always_inline))
#define NEURON_EDU_WHERE const char *file = __builtin_FILE(), int line = __builtin_LINE()

namespace neuron_edu {

struct Line {  // counts of one line; found by its number
  const char *file;
  int line;
  int64_t elements, streamed, copies, copied_bytes;
};

struct Here {
  Counts counts;
  bool is_shape, is_multicore;
  int processor, processors;
  Call *call;
  Line lines[1024];
};

extern Here here;

// Stop the operator with one sentence.
[[noreturn]] void refuse(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void warn(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

NEURON_EDU_INLINE Line &at(const char *file, int line) {
  Line &found = here.lines[line & 1023];
  found.file = file;
  found.line = line;
  return found;
}

// A number that indexes, with the line that wrote it.
struct Index {
  int64_t value;
  const char *file;
  int line;
  template <class I>
  NEURON_EDU_INLINE Index(I i, NEURON_EDU_WHERE) : value((int64_t)i), file(file), line(line) {}
};

[[noreturn]] void outside(const Index &index, int64_t size, int axis);

}  // namespace neuron_edu
