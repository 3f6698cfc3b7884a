package dev.interlock.testbed.server;

import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;

/** Starts and ends the servers of one deployment, all or none. */
public final class Servers {
  private Servers() {}

  /** Starts one after the other; if one fails, those before it are closed. */
  public static <S extends DisposableServer> List<S> startAll(int count, IntFunction<S> start) {
    List<S> started = new ArrayList<>();
    try {
      for (int i = 0; i < count; i++) {
        started.add(start.apply(i));
      }
      return List.copyOf(started);
    } catch (RuntimeException e) {
      closeAfter(e, started);
      throw e;
    }
  }

  /** Closes all, then throws what the first failing close threw, with the others suppressed. */
  public static void closeAll(List<? extends DisposableServer> servers) {
    RuntimeException first = null;
    for (DisposableServer server : servers) {
      try {
        server.close();
      } catch (RuntimeException e) {
        if (first == null) {
          first = e;
        } else {
          first.addSuppressed(e);
        }
      }
    }
    if (first != null) {
      throw first;
    }
  }

  /** Closes what had been started before a failure, which is about to be thrown. */
  public static void closeAfter(
      RuntimeException failure, List<? extends DisposableServer> servers) {
    try {
      closeAll(servers);
    } catch (RuntimeException e) {
      failure.addSuppressed(e);
    }
  }
}
