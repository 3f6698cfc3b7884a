package dev.interlock.verify;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;

/** The processor time of a process and of those of its children that have ended; Linux only. */
final class CpuTime {
  /** What Linux counts in for programs, on every machine that runs Java. */
  private static final int TICKS_PER_SECOND = 100;

  private static final int UTIME = 11; // and stime, cutime, cstime, counted from the state

  private CpuTime() {}

  /** Returns what the process has used until now, or zero where that is not known. */
  static Duration of(long pid) {
    try {
      String stat = Files.readString(Path.of("/proc", Long.toString(pid), "stat"));
      // "pid (command) state ...", and the command may hold blanks and parentheses
      String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
      long ticks = 0;
      for (int i = UTIME; i < UTIME + 4; i++) {
        ticks += Long.parseLong(fields[i]);
      }
      return Duration.ofMillis(ticks * 1_000 / TICKS_PER_SECOND);
    } catch (IOException e) {
      return Duration.ZERO;
    }
  }
}
