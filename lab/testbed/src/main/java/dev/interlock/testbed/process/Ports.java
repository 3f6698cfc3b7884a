package dev.interlock.testbed.process;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * Local TCP ports that stay ours from the choice until the server is closed.
 *
 * <p>A killed server must find its port free when it is restarted. So ports are taken from below
 * the range from which systems serve outgoing connections (32768 and up on Linux, 49152 on others):
 * there, a client that keeps dialling a dead server's port can even end up connected to itself. And
 * every port is held by a byte-range lock on one file, which the operating system gives up with the
 * JVM, so that another JVM's testbed does not take the port of a server that is down for the
 * moment. Programs that know nothing of the file are found out by the server's own bind, which is
 * then tried again on other ports.
 */
public final class Ports {
  private static final int LOWEST = 10_000;
  private static final int HIGHEST = 32_767;

  /** Redis listens for its cluster peers this far above the port for clients, by default. */
  public static final int CLUSTER_BUS_OFFSET = 10_000;

  // Both are touched only with this class's monitor held.
  private static @Nullable FileChannel reservations;
  private static final Map<Integer, FileLock> held = new HashMap<>();

  private Ports() {}

  /** Reserves a free port. */
  public static int reserve() {
    return reserveWith(0);
  }

  /** Reserves a free port together with the one that lies so far above it. */
  public static synchronized int reserveWith(int companion) {
    // Random, so that JVMs that start together rarely meet; bounded, so that a full machine is
    // told.
    for (int attempt = 0; attempt < 1_000; attempt++) {
      int port = ThreadLocalRandom.current().nextInt(LOWEST, HIGHEST + 1 - companion);
      if (tryReserve(port)) {
        if (companion == 0 || tryReserve(port + companion)) {
          return port;
        }
        release(port);
      }
    }
    throw new TestbedException(
        "no free TCP port found between " + LOWEST + " and " + HIGHEST + " on 127.0.0.1");
  }

  /** Gives ports up; those that are not held are passed over. */
  public static synchronized void release(int... ports) {
    for (int port : ports) {
      FileLock lock = held.remove(port);
      if (lock != null) {
        try {
          lock.release();
        } catch (IOException e) {
          throw new UncheckedIOException("cannot give up the reservation of port " + port, e);
        }
      }
    }
  }

  private static boolean tryReserve(int port) {
    if (held.containsKey(port)) {
      return false;
    }
    try {
      FileLock lock = channel().tryLock(port, 1, false);
      if (lock == null) {
        return false;
      }
      if (!canBind(port)) {
        lock.release();
        return false;
      }
      held.put(port, lock);
      return true;
    } catch (IOException e) {
      throw new UncheckedIOException("cannot reserve a TCP port", e);
    }
  }

  private static boolean canBind(int port) {
    try (ServerSocket socket = new ServerSocket()) {
      socket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
      return true;
    } catch (IOException inUse) {
      return false;
    }
  }

  private static FileChannel channel() throws IOException {
    if (reservations == null) {
      // One file per user: another user's could not be opened. It stays, and it stays empty.
      String user = System.getProperty("user.name", "user").replaceAll("[^A-Za-z0-9._-]", "_");
      Path file =
          Path.of(
              System.getProperty("java.io.tmpdir"), "interlock-testbed-ports-" + user + ".lock");
      reservations = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
    }
    return reservations;
  }
}
