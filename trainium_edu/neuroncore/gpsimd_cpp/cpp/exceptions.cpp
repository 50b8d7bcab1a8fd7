// What throws and catches: the part of the runtime that needs the C++ library (without.cpp is for
// programs that do not).
#include <stdio.h>

#include <exception>
#include <new>

#include "neuron_edu/guards.h"

namespace neuron_edu {

// Nobody catches what the program throws; the stack is still what it was then.
[[noreturn]] static void on_exception() {
  char text[500] = "it throws an exception";
  try {
    if (std::current_exception()) throw;
    snprintf(text, sizeof text, "it calls std::terminate");
  } catch (const std::bad_alloc &) {
    snprintf(text, sizeof text, "%s", TOO_MUCH);
  } catch (const std::exception &problem) {
    snprintf(text, sizeof text, "it throws an exception: %s", problem.what());
  } catch (...) {
  }
  stop_here("%s", text);
}

void watch_exceptions() { std::set_terminate(on_exception); }

void no_memory() { throw std::bad_alloc(); }

}  // namespace neuron_edu
