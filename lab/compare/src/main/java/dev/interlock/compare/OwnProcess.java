package dev.interlock.compare;

import java.lang.management.ManagementFactory;

/** What this process takes from the machine. */
public final class OwnProcess {
  private OwnProcess() {}

  /** {@return the processor time of all threads so far; 0 where the virtual machine has none} */
  public static long processorNanos() {
    return ManagementFactory.getOperatingSystemMXBean()
            instanceof com.sun.management.OperatingSystemMXBean system
        ? system.getProcessCpuTime()
        : 0;
  }

  /** {@return the bytes in use on the heap after garbage collection} */
  public static long heapBytes() {
    // What the first collection finds unreachable may only then let go of other things.
    for (int i = 0; i < 3; i++) {
      System.gc();
    }
    return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
  }
}
