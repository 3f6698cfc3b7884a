package dev.interlock.compare.rounds;

import java.lang.management.ManagementFactory;

/** The processor time that this process has taken, all threads together. */
public final class ProcessorTime {
  private ProcessorTime() {}

  /** In nanoseconds since the start; 0 where the virtual machine does not tell. */
  public static long nanos() {
    return ManagementFactory.getOperatingSystemMXBean()
            instanceof com.sun.management.OperatingSystemMXBean system
        ? system.getProcessCpuTime()
        : 0;
  }
}
