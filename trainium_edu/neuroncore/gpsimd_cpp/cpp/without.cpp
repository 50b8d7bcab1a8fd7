// In place of the C++ library, for programs that throw nothing and call none of it: what code names
// on the paths that exceptions take.  A program that throws or catches names more, and gets it all.
#include <stdlib.h>

#include "neuron_edu/guards.h"

namespace neuron_edu {
void watch_exceptions() {}
void no_memory() { stop_here("%s", TOO_MUCH); }
}  // namespace neuron_edu

extern "C" {
void __gxx_personality_v0() { abort(); }
void __cxa_begin_catch(void *) { abort(); }
void __cxa_call_unexpected(void *) { abort(); }
int __cxa_guard_acquire(char *is_made) { return !*is_made; }  // a processor runs one thread
void __cxa_guard_release(char *is_made) { *is_made = 1; }
void __cxa_guard_abort(char *) {}
}
namespace std {
[[noreturn]] void terminate() noexcept { abort(); }
}  // namespace std
