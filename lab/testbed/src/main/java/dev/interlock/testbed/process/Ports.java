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
 * Local TCP ports that are reserved until their server is closed.
 *
 * <p>A killed server must find its port free when it is restarted. Two measures ensure that. First,
 * ports are chosen below the ephemeral range (from 32768 on Linux, 49152 on others); within it, a
 * client that keeps connecting to a dead server's port could even connect to itself. Second, each
 * port is reserved by a byte-range lock on one file, so that the testbed of another JVM does not
 * take it while the server is down. The operating system releases these locks when the JVM ends.
 *
 * <p>If a program without the testbed takes a port, the server fails to bind, and is started again
 * with other ports.
 */
public final class Ports {
  private static final int MIN_PORT = 10_000;
  private static final int MAX_PORT = 32_767;

  /** The default distance of a Redis node's cluster bus port from its port for clients. */
  public static final int CLUSTER_BUS_OFFSET = 10_000;

  // This class's monitor guards both fields.
  private static @Nullable FileChannel reservations;
  private static final Map<Integer, FileLock> locks = new HashMap<>();

  private Ports() {}

  /** Reserves a free port. */
  public static int reserve() {
    return reserveWith(0);
  }

  /** Reserves a free port together with another one at a distance above it. */
  public static synchronized int reserveWith(int distance) {
    // Random, so that JVMs that start together rarely choose the same port.
    for (int attempt = 0; attempt < 1_000; attempt++) {
      int port = ThreadLocalRandom.current().nextInt(MIN_PORT, MAX_PORT + 1 - distance);
      if (tryReserve(port)) {
        if (distance == 0 || tryReserve(port + distance)) {
          return port;
        }
        release(port);
      }
    }
    throw new TestbedException(
        "there is no free TCP port between " + MIN_PORT + " and " + MAX_PORT + " on 127.0.0.1");
  }

  /** Releases ports; ports that are not reserved are ignored. */
  public static synchronized void release(int... ports) {
    for (int port : ports) {
      FileLock lock = locks.remove(port);
      if (lock != null) {
        try {
          lock.release();
        } catch (IOException e) {
          throw new UncheckedIOException("cannot release port " + port, e);
        }
      }
    }
  }

  private static boolean tryReserve(int port) {
    if (locks.containsKey(port)) {
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
      locks.put(port, lock);
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
      // One file per user, since other users' files cannot be opened. It is always empty.
      String user = System.getProperty("user.name", "user").replaceAll("[^A-Za-z0-9._-]", "_");
      Path file =
          Path.of(
              System.getProperty("java.io.tmpdir"), "interlock-testbed-ports-" + user + ".lock");
      reservations = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
    }
    return reservations;
  }
}
