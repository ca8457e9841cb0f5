// Preloaded into programs under valgrind. Before this call valgrind 3.19 removes a signal from the caller's set, and
// crashes because that of Dispatch, whose main thread waits with it, is in read-only memory.
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

int sigsuspend(const sigset_t *set) {
  sigset_t copy = *set;
  return syscall(SYS_rt_sigsuspend, &copy, _NSIG / 8);
}
