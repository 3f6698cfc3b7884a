package dev.interlock.bench;

import java.lang.management.ManagementFactory;

/** The heap of this process. */
final class Heap {
  private Heap() {}

  /** How many bytes are in use after what nobody refers to was collected. */
  static long inUse() {
    for (int i = 0; i < 3; i++) {
      System.gc();
    }
    return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
  }
}
