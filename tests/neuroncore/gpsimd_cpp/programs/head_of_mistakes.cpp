#include <torch/torch.h>
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
