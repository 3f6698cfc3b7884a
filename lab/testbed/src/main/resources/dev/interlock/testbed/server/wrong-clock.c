/*
 * Changes the time of day of the program that loads this library, but not its monotonic clock.
 * INTERLOCK_CLOCK_FILE names a file with the number of seconds to add: eight bytes, signed, in the
 * machine's byte order. The file may change at any time.
 *
 * The source includes no headers of the C library, since many compilers come without them. It calls
 * the kernel directly: looking up the C library's functions would allocate memory, and allocators
 * that read the time during their start (jemalloc, in Redis) would hang.
 */
#ifndef __LP64__
#error "the declarations below are those of 64-bit Linux"
#endif
#if defined __x86_64__
#define SYS_clock_gettime 228
#elif defined __aarch64__
#define SYS_clock_gettime 113
#else
#include <sys/syscall.h>
#endif
enum { CLOCK_REALTIME = 0, CLOCK_MONOTONIC = 1, CLOCK_REALTIME_COARSE = 5 };
enum { O_RDONLY = 0, O_CLOEXEC = 02000000, PROT_READ = 1, MAP_SHARED = 1 };
struct timespec { long tv_sec, tv_nsec; };
struct timeval { long tv_sec, tv_usec; };
char *getenv(const char *name);
int open(const char *name, int flags, ...);
int close(int file);
void *mmap(void *address, unsigned long size, int protection, int flags, int file, long offset);
long syscall(long number, ...);
int pthread_cond_clockwait(void *condition, void *mutex, int clock, const struct timespec *deadline);

static const volatile long right = 0;
static const volatile long *ahead = &right;

__attribute__((constructor)) static void find_ahead(void) {
  const char *name = getenv("INTERLOCK_CLOCK_FILE");
  int file = name == 0 ? -1 : open(name, O_RDONLY | O_CLOEXEC);
  if (file >= 0) {
    void *mapped = mmap(0, sizeof *ahead, PROT_READ, MAP_SHARED, file, 0);
    if (mapped != (void *)-1) {
      ahead = mapped;
    }
    close(file);
  }
}

int clock_gettime(int clock, struct timespec *now) {
  int failed = (int)syscall(SYS_clock_gettime, clock, now);
  if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    now->tv_sec += (long)*ahead;
  }
  return failed;
}

int gettimeofday(struct timeval *now, void *zone) {
  struct timespec precise;
  (void)zone;
  if (now != 0) {
    clock_gettime(CLOCK_REALTIME, &precise);
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
  }
  return 0;
}

long time(long *now) {
  struct timespec precise;
  clock_gettime(CLOCK_REALTIME, &precise);
  if (now != 0) {
    *now = precise.tv_sec;
  }
  return precise.tv_sec;
}

/*
 * A program adds to the time that it was shown, and the C library waits by the right one: a second
 * would last an hour and a second. (MariaDB, which now and then has only the end of a wait to wake
 * it, never got through its start.) Deadlines by the monotonic clock count from the start of the
 * machine, so one that lies years ahead is by the time of day. (C libraries without
 * pthread_cond_clockwait, as glibc before 2.30, end a program that gets here, and no other.)
 */
int pthread_cond_timedwait(void *condition, void *mutex, const struct timespec *shown) {
  const long twenty_years = 20L * 365 * 24 * 3600;
  struct timespec deadline = *shown;
  if (deadline.tv_sec < twenty_years) {
    return pthread_cond_clockwait(condition, mutex, CLOCK_MONOTONIC, &deadline);
  }
  deadline.tv_sec -= (long)*ahead;
  return pthread_cond_clockwait(condition, mutex, CLOCK_REALTIME, &deadline);
}
