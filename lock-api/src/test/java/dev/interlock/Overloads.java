package dev.interlock;

import java.util.concurrent.Callable;
import java.util.function.Supplier;

/** Two methods of a program that differ only in their parameters and lines. */
public final class Overloads {

  private Overloads() {}

  /** Calls from one line. */
  public static <T> T call(Supplier<T> supplier) {
    return supplier.get();
  }

  /** Calls from another line. */
  public static <T> T call(Callable<T> callable) throws Exception {
    return callable.call();
  }
}
