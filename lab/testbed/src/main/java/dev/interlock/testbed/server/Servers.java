package dev.interlock.testbed.server;

import dev.interlock.testbed.process.TestbedException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;
import java.util.stream.Collectors;

/** Starts and ends the servers of one deployment, either all or none. */
public final class Servers {
  private Servers() {}

  /** Creates a deployment from running servers. */
  public interface Joining<S, D> {
    D join(List<S> started) throws IOException;
  }

  /**
   * Starts servers one after the other, and creates a deployment from them. If a step fails, the
   * servers that have been started are closed.
   *
   * @throws TestbedException if the last step throws an {@link IOException}
   */
  public static <S extends DisposableServer, D> D startAll(
      int count, IntFunction<S> start, Joining<S, D> joining) {
    List<S> started = new ArrayList<>();
    try {
      for (int i = 0; i < count; i++) {
        started.add(start.apply(i));
      }
      return joining.join(List.copyOf(started));
    } catch (IOException | RuntimeException e) {
      RuntimeException failure =
          e instanceof RuntimeException unchecked
              ? unchecked
              : new TestbedException("cannot set up servers: " + e.getMessage(), e);
      try {
        closeAll(started);
      } catch (RuntimeException alsoFailed) {
        failure.addSuppressed(alsoFailed);
      }
      throw failure;
    }
  }

  /** {@return the servers' addresses, as a URI lists them} */
  public static String addresses(List<? extends DisposableServer> servers) {
    return servers.stream().map(s -> s.host() + ":" + s.port()).collect(Collectors.joining(","));
  }

  /** Closes all servers. Then throws the first exception of a close, with the others suppressed. */
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
}
