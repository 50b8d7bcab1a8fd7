// Between the runtime and its guards.
#pragma once
#include "neuron_edu/here.h"

namespace neuron_edu {

extern Call *call_;
extern bool is_running;  // the program's own code, whose heap is watched

void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
// Stop with what was said, at the line that the stack leads to.
[[noreturn]] void stop_here(const char *format, ...) __attribute__((format(printf, 1, 2)));

[[noreturn]] void on_exception();  // one that nobody catches

bool is_block(const char *pointer);  // a tensor's or TCM
void begin_heap();
void check_heap();
bool describe_heap(const char *address);  // say what is touched there, if it is the heap

}  // namespace neuron_edu
