package dev.interlock.compare;

import java.lang.management.ManagementFactory;

/** The processor time and heap of this process. */
public final class ThisProcess {
  private ThisProcess() {}

  /** {@return the processor time of all threads so far; 0 if the JVM does not report it} */
  public static long processorNanos() {
    return ManagementFactory.getOperatingSystemMXBean()
            instanceof com.sun.management.OperatingSystemMXBean system
        ? system.getProcessCpuTime()
        : 0;
  }

  /** {@return the bytes in use on the heap after garbage collection} */
  public static long heapBytes() {
    // References that the first collection clears may make more objects unreachable.
    for (int i = 0; i < 3; i++) {
      System.gc();
    }
    return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
  }
}
