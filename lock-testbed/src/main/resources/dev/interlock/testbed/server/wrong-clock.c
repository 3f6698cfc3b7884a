/*
 * Shows the time of day some seconds ahead to the program that this library is loaded into, and
 * leaves the monotonic clock alone. INTERLOCK_CLOCK_FILE names a file of eight bytes that says how
 * many seconds, as a signed number in the machine's order of bytes; it may change at any time.
 *
 * The kernel is asked directly. To look the C library's functions up would allocate memory, and
 * allocators that ask for the time while they start (jemalloc, in Redis) would never end.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t right = 0;
static const volatile int64_t *ahead = &right;

__attribute__((constructor)) static void find_ahead(void) {
  const char *name = getenv("INTERLOCK_CLOCK_FILE");
  int file = name == NULL ? -1 : open(name, O_RDONLY | O_CLOEXEC);
  if (file >= 0) {
    void *mapped = mmap(NULL, sizeof *ahead, PROT_READ, MAP_SHARED, file, 0);
    if (mapped != MAP_FAILED) {
      ahead = mapped;
    }
    close(file);
  }
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  int failed = (int)syscall(SYS_clock_gettime, clock, now);
  if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    now->tv_sec += (time_t)*ahead;
  }
  return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  struct timespec precise;
  (void)zone;
  if (now != NULL) {
    clock_gettime(CLOCK_REALTIME, &precise);
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
  }
  return 0;
}

time_t time(time_t *now) {
  struct timespec precise;
  clock_gettime(CLOCK_REALTIME, &precise);
  if (now != NULL) {
    *now = precise.tv_sec;
  }
  return precise.tv_sec;
}

/* Other C libraries, and glibc before 2.30, cannot wait by a clock that is named. */
#ifdef __GLIBC__
#if __GLIBC_PREREQ(2, 30)
/*
 * A program adds to the time that it was shown, and the C library waits by the right one: a second
 * would last an hour and a second. (MariaDB, which now and then has only the end of a wait to wake
 * it, never got through its start.) Deadlines by the monotonic clock count from the start of the
 * machine, so one that lies years ahead is by the time of day.
 */
int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict shown) {
  const time_t twenty_years = 20 * 365 * 24 * 3600;
  struct timespec deadline = *shown;
  if (deadline.tv_sec < twenty_years) {
    return pthread_cond_clockwait(condition, mutex, CLOCK_MONOTONIC, &deadline);
  }
  deadline.tv_sec -= (time_t)*ahead;
  return pthread_cond_clockwait(condition, mutex, CLOCK_REALTIME, &deadline);
}
#endif
#endif
