// What surrounds the program's own: its heap between guarded pages, its exceptions, its plain arrays,
// which the compiler watches, and what a processor does not have.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <exception>
#include <new>

#include "neuron_edu/guards.h"

namespace neuron_edu {

bool is_running;

namespace {

constexpr char SLACK = (char)0xa5;
constexpr size_t ARENA_BYTES = 1u << 29, LARGEST = ARENA_BYTES / 16;  // larger ones go without
constexpr int MAX_PIECES = 4000;

struct Piece {  // of the heap; it ends with a page, between pages that nobody may touch
  char *begin;
  size_t bytes;
  const void *made;  // where the program asked for it
  bool is_live;
  const char *by;  // malloc, new, new[]
} pieces[MAX_PIECES];
int piece_count;
uint16_t piece_of[ARENA_BYTES / 4096];  // by page; addresses are not used twice
char *arena;
size_t arena_used, page;

Piece *find(const void *pointer) {
  size_t at = (size_t)((const char *)pointer - arena);
  return arena && at < arena_used && at >= page ? &pieces[piece_of[at / page]] : nullptr;
}

size_t whole_pages(size_t bytes) { return bytes ? (bytes + page - 1) / page * page : page; }

void check_slack(const Piece &piece) {
  char *first = piece.begin + piece.bytes - whole_pages(piece.bytes);
  for (char *at = piece.begin; --at >= first;)
    if (*at != SLACK) {
      call_->made_pc = (int64_t)piece.made;
      stop_here("it wrote before the beginning of memory of %llu bytes from the heap",
                (unsigned long long)piece.bytes);
    }
}

}  // namespace

void begin_heap() {
  page = (size_t)sysconf(_SC_PAGESIZE);
  void *all = mmap(nullptr, ARENA_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  arena = all == MAP_FAILED ? nullptr : (char *)all;
  arena_used = page;
}

bool describe_heap(const char *address) {
  Piece *piece = find(address);
  if (!piece) return false;
  call_->made_pc = (int64_t)piece->made;
  say("it touches byte %lld of memory of %llu bytes from the heap%s",
      (long long)(address - piece->begin), (unsigned long long)piece->bytes,
      piece->is_live ? "" : " that was freed");
  return true;
}

void check_heap() {
  is_running = false;
  for (int i = 0; i < piece_count; i++)
    if (pieces[i].is_live) {
      call_->last_pc = (int64_t)pieces[i].made;  // the line to name, as the program has ended
      check_slack(pieces[i]);
    }
}

}  // namespace neuron_edu

using namespace neuron_edu;

#ifdef __GLIBC__
extern "C" {
extern char etext;
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void __libc_free(void *);
}

namespace {
// Memory for the program's own code, as libraries are outside of its text; nullptr: without guards.
void *piece_for(const void *caller, size_t bytes, const char *by = "malloc") {
  if (!is_running || !arena || (uintptr_t)caller > (uintptr_t)&etext || bytes > LARGEST) return nullptr;
  size_t pages = whole_pages(bytes), index = arena_used / page;
  if (piece_count == MAX_PIECES || arena_used + pages + page > ARENA_BYTES) return nullptr;
  char *at = arena + arena_used;
  if (mprotect(at, pages, PROT_READ | PROT_WRITE)) return nullptr;
  for (size_t i = 0; i <= pages / page; i++) piece_of[index + i] = (uint16_t)piece_count;
  arena_used += pages + page;
  memset(at, SLACK, pages - bytes);
  pieces[piece_count++] = {at + pages - bytes, bytes, caller, true, by};
  if (bytes > page) return at + pages - bytes;
  return memset(at + pages - bytes, 0xff, bytes);  // floats are NaN until somebody writes them
}

void give(void *pointer, const char *name, const char *by = "malloc") {
  Piece *piece = find(pointer);
  if (!piece && is_running && (pointer > __builtin_frame_address(0) || is_block((char *)pointer)))
    stop_here("%s of memory that neither malloc nor new gave", name);
  if (!piece) return __libc_free(pointer);
  call_->made_pc = (int64_t)piece->made;
  if (pointer != piece->begin)
    stop_here("%s of a pointer to byte %lld of memory of %llu bytes from the heap", name,
              (long long)((char *)pointer - piece->begin), (unsigned long long)piece->bytes);
  if (!piece->is_live) stop_here("%s of memory that was freed already", name);
  if (strcmp(piece->by, by))
    stop_here("%s of memory that %s gave; free goes with malloc, delete with new, delete[] with new[]",
              name, piece->by);
  check_slack(*piece);
  piece->is_live = false;
  size_t pages = whole_pages(piece->bytes);
  char *first = piece->begin + piece->bytes - pages;
  madvise(first, pages, MADV_DONTNEED);
  mprotect(first, pages, PROT_NONE);
}

void *made(const void *caller, size_t bytes, const char *by) {
  void *found = piece_for(caller, bytes, by);
  if (!found) found = __libc_malloc(bytes ? bytes : 1);
  if (!found) throw std::bad_alloc();
  return found;
}
}  // namespace

#define CALLER_ __builtin_return_address(0)
extern "C" void *malloc(size_t bytes) noexcept {
  void *found = piece_for(CALLER_, bytes);
  return found ? found : __libc_malloc(bytes);
}
extern "C" void *calloc(size_t count, size_t each) noexcept {
  size_t bytes = 0;
  void *found = __builtin_mul_overflow(count, each, &bytes) ? nullptr : piece_for(CALLER_, bytes);
  return found ? memset(found, 0, bytes) : __libc_calloc(count, each);
}
extern "C" void *realloc(void *pointer, size_t bytes) noexcept {
  Piece *piece = find(pointer);
  if (pointer && !piece) return __libc_realloc(pointer, bytes);
  void *found = piece_for(CALLER_, bytes);
  if (!found) found = __libc_malloc(bytes);
  if (!piece || !found) return found;
  if (piece->is_live) memcpy(found, pointer, piece->bytes < bytes ? piece->bytes : bytes);
  give(pointer, "realloc");
  return found;
}
extern "C" void free(void *pointer) noexcept { give(pointer, "free"); }
void *operator new(size_t bytes) { return made(CALLER_, bytes, "new"); }
void *operator new[](size_t bytes) { return made(CALLER_, bytes, "new[]"); }
void operator delete(void *pointer) noexcept { give(pointer, "delete", "new"); }
void operator delete[](void *pointer) noexcept { give(pointer, "delete[]", "new[]"); }
void operator delete(void *pointer, size_t) noexcept { give(pointer, "delete", "new"); }
void operator delete[](void *pointer, size_t) noexcept { give(pointer, "delete[]", "new[]"); }
#endif

// -- exceptions -----------------------------------------------------------------------------------

// Nobody catches what the program throws; the stack is still what it was then.
void neuron_edu::on_exception() {
  char text[500] = "it throws an exception";
  try {
    if (std::current_exception()) throw;
    snprintf(text, sizeof text, "it calls std::terminate");
  } catch (const std::bad_alloc &) {
    snprintf(text, sizeof text, "it asks for more memory than an operator's process may have here");
  } catch (const std::exception &problem) {
    snprintf(text, sizeof text, "it throws an exception: %s", problem.what());
  } catch (...) {
  }
  stop_here("%s", text);
}

// -- plain arrays: what the compiler's checks call ------------------------------------------------

namespace {
struct Type {
  uint16_t kind, about;
  char name[1];  // in quotes
};
struct Checked {
  const char *file;
  uint32_t line, column;
  const Type *type, *index;
};
}  // namespace

extern "C" void __ubsan_handle_out_of_bounds_abort(Checked *checked, uintptr_t value) {
  int spare = 64 - (1 << (checked->index->about >> 1));
  int64_t index = (int64_t)value;
  if (checked->index->about & 1 && spare > 0) index = (int64_t)((uint64_t)value << spare) >> spare;
  stop_here("index %lld is outside an array of type %s", (long long)index, checked->type->name);
}
extern "C" void __ubsan_handle_type_mismatch_v1_abort(Checked *checked, uintptr_t pointer) {
  if (pointer < 1u << 20) stop_here("it uses a null pointer");
  stop_here("a pointer to %s reaches outside the array that it points into", checked->type->name);
}
extern "C" void __ubsan_handle_missing_return(void *) {
  stop_here("a function that returns a value ends without a return statement");
}
extern "C" void __stack_chk_fail() {
  stop_here("the function that ends here wrote past the end of an array on its stack");
}

// -- what a processor does not have ---------------------------------------------------------------

#define NAME_OF_(text) #text
#define LABEL_(prefix, name) __asm__(NAME_OF_(prefix) #name)
#define ABSENT_PREFIXED_(prefix, name, does)                                \
  extern "C" void neuron_edu_absent_##name() LABEL_(prefix, name);          \
  extern "C" void neuron_edu_absent_##name() { stop_here(does, #name); }
#define ABSENT_AS_(prefix, name, does) ABSENT_PREFIXED_(prefix, name, does)
#define ABSENT_(name, does) ABSENT_AS_(__USER_LABEL_PREFIX__, name, does)
#define THREAD_(name)                                                                             \
  ABSENT_(name, "it starts a thread (%s), and a processor runs one; multicore=True is for all eight " \
                "processors")
#define PROCESS_(name) \
  ABSENT_(name, "it starts a program (%s), and processors have no operating system")
#define FILE_(name)                                                                           \
  ABSENT_(name, "it opens a file or a connection (%s), and processors have no operating system: " \
                "hand data in as tensors")
THREAD_(pthread_create) THREAD_(thrd_create)
PROCESS_(fork) PROCESS_(vfork) PROCESS_(system) PROCESS_(popen) PROCESS_(execve) PROCESS_(execv)
PROCESS_(execvp) PROCESS_(execl) PROCESS_(execlp) PROCESS_(posix_spawn) PROCESS_(posix_spawnp)
PROCESS_(dlopen)
FILE_(fopen) FILE_(fopen64) FILE_(freopen) FILE_(open) FILE_(open64) FILE_(openat) FILE_(creat)
FILE_(tmpfile) FILE_(opendir) FILE_(remove) FILE_(rename) FILE_(unlink) FILE_(mkdir) FILE_(socket)
