package dev.interlock.storm.workers;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.interlock.spi.DaemonThreads;
import java.io.BufferedReader;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.ThreadFactory;

/**
 * What the locks protect: two counters for each name, to which every lease adds one by reading,
 * thinking and writing back. The guarded one is a store that keeps the highest token which it has
 * seen and refuses lower ones, with a read as with a write: a lease claims its token by reading, so
 * that no earlier one can write between its read and its write. The other accepts every write.
 *
 * <p>It runs in the storm's own process and serves clients over TCP. A client that is stopped or
 * killed thus disturbs no other, and its late writes arrive as late as at any store.
 */
public final class GuardedStore implements Closeable {
  private static final String REFUSED = "refused";
  private static final ThreadFactory THREADS = DaemonThreads.factory("storm-store-%d");

  private final ServerSocket socket;
  private final Map<String, Counters> counters = new HashMap<>();

  /**
   * How many writes under the locks were accepted and lost, with and without the token.
   *
   * @param guarded writes that the store took because their token was the highest
   * @param refused writes that it refused because it had seen a higher token
   * @param guardedLost guarded writes that were lost; must be 0
   * @param unguarded writes that were made without looking at the token
   * @param unguardedLost how many of these a stale holder overwrote: what the token is worth
   */
  public record Writes(
      long guarded, long refused, long guardedLost, long unguarded, long unguardedLost) {}

  /** The counters of one name. */
  private static final class Counters {
    private long highest;
    private long guarded;
    private long guardedWrites;
    private long refused;
    private long unguarded;
    private long unguardedWrites;

    /** Whether no higher token has been seen. */
    private boolean claims(String token) {
      boolean claims = Long.parseLong(token) >= highest;
      highest = claims ? Long.parseLong(token) : highest;
      refused += claims ? 0 : 1;
      return claims;
    }
  }

  private GuardedStore(ServerSocket socket) {
    this.socket = socket;
  }

  /** Starts to listen on a free port of this machine. */
  public static GuardedStore start() throws IOException {
    GuardedStore store =
        new GuardedStore(new ServerSocket(0, 64, InetAddress.getLoopbackAddress()));
    THREADS.newThread(store::accept).start();
    return store;
  }

  public int port() {
    return socket.getLocalPort();
  }

  private void accept() {
    while (!socket.isClosed()) {
      try {
        Socket client = socket.accept();
        THREADS.newThread(() -> serve(client)).start();
      } catch (IOException e) {
        // Closed, or the client has gone again.
      }
    }
  }

  private void serve(Socket client) {
    try (client;
        BufferedReader in =
            new BufferedReader(new InputStreamReader(client.getInputStream(), US_ASCII))) {
      client.setTcpNoDelay(true);
      OutputStream out = client.getOutputStream();
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        out.write((answer(line.split(" ", -1)) + "\n").getBytes(US_ASCII));
      }
    } catch (IOException e) {
      // The client was killed.
    }
  }

  private synchronized String answer(String[] request) {
    Counters of = counters.computeIfAbsent(request[1], name -> new Counters());
    return switch (request[0]) {
      case "read" -> of.claims(request[2]) ? Long.toString(of.guarded) : REFUSED;
      case "write" -> {
        if (!of.claims(request[2])) {
          yield REFUSED;
        }
        of.guarded = Long.parseLong(request[3]);
        of.guardedWrites++;
        yield "written";
      }
      case "read-unguarded" -> Long.toString(of.unguarded);
      case "write-unguarded" -> {
        of.unguarded = Long.parseLong(request[2]);
        of.unguardedWrites++;
        yield "written";
      }
      default -> throw new IllegalArgumentException("no such request: " + request[0]);
    };
  }

  /** The counts of all writes so far. */
  public synchronized Writes writes() {
    long guarded = 0;
    long refused = 0;
    long guardedLost = 0;
    long unguarded = 0;
    long unguardedLost = 0;
    for (Counters each : counters.values()) {
      guarded += each.guardedWrites;
      refused += each.refused;
      guardedLost += each.guardedWrites - each.guarded;
      unguarded += each.unguardedWrites;
      unguardedLost += each.unguardedWrites - each.unguarded;
    }
    return new Writes(guarded, refused, guardedLost, unguarded, unguardedLost);
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }

  /** One thread's connection. Names must be of letters, digits and hyphens. Not thread-safe. */
  static final class Connection implements Closeable {
    private final Socket socket;
    private final BufferedReader in;
    private final OutputStream out;

    Connection(int port) throws IOException {
      socket = new Socket();
      socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
      socket.setTcpNoDelay(true);
      in = new BufferedReader(new InputStreamReader(socket.getInputStream(), US_ASCII));
      out = socket.getOutputStream();
    }

    /** The guarded value; empty if a higher token has been seen. */
    OptionalLong read(String name, long token) throws IOException {
      String answer = ask("read " + name + " " + token);
      return answer.equals(REFUSED)
          ? OptionalLong.empty()
          : OptionalLong.of(Long.parseLong(answer));
    }

    /** Writes the guarded value unless a higher token has been seen; returns whether it did. */
    boolean write(String name, long token, long value) throws IOException {
      return !ask("write " + name + " " + token + " " + value).equals(REFUSED);
    }

    long readUnguarded(String name) throws IOException {
      return Long.parseLong(ask("read-unguarded " + name));
    }

    void writeUnguarded(String name, long value) throws IOException {
      ask("write-unguarded " + name + " " + value);
    }

    private String ask(String request) throws IOException {
      out.write((request + "\n").getBytes(US_ASCII));
      String answer = in.readLine();
      if (answer == null) {
        throw new IOException("the store that the locks protect has gone");
      }
      return answer;
    }

    @Override
    public void close() throws IOException {
      socket.close();
    }
  }
}
