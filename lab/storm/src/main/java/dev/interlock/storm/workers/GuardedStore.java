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
import java.util.function.ToLongFunction;

/**
 * The store that the locks protect: two counters for each name, to which every lease adds one by
 * reading, waiting and writing back. The guarded counter remembers the highest token that it has
 * seen, and refuses reads and writes with a lower one. A lease claims its token by reading, so no
 * earlier lease can write between its read and its write. The unguarded counter accepts every
 * write.
 *
 * <p>It runs in the storm's own process and serves clients over TCP. So a client that is stopped or
 * killed disturbs no other, and its late writes arrive as late as at any store.
 */
public final class GuardedStore implements Closeable {
  private static final String REFUSED = "refused";
  private static final ThreadFactory THREADS = DaemonThreads.factory("storm-store-%d");

  private final ServerSocket socket;
  private final Map<String, Counter> guarded = new HashMap<>();
  private final Map<String, Counter> unguarded = new HashMap<>();

  /**
   * The numbers of writes that were accepted and lost, with and without tokens.
   *
   * @param guarded guarded writes that were accepted
   * @param refused guarded reads and writes that were refused because of a higher token
   * @param guardedLost guarded writes that were lost; must be 0
   * @param unguarded writes that were made without checking the token
   * @param unguardedLost how many of these were lost because a stale holder overwrote them
   */
  public record Writes(
      long guarded, long refused, long guardedLost, long unguarded, long unguardedLost) {}

  /** A counter of one name. The unguarded counter is always used with the token 0. */
  private static final class Counter {
    private long highestToken;
    private long value;
    private long writes;
    private long refused;

    /** {@return whether the token is accepted, because no higher one has been seen} */
    private boolean claim(long token) {
      boolean accepted = token >= highestToken;
      highestToken = Math.max(highestToken, token);
      refused += accepted ? 0 : 1;
      return accepted;
    }

    private long lost() {
      return writes - value;
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
        // The store was closed, or the client has disconnected.
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
    Map<String, Counter> counters = request[1].equals("guarded") ? guarded : unguarded;
    Counter counter = counters.computeIfAbsent(request[2], name -> new Counter());
    if (!counter.claim(Long.parseLong(request[3]))) {
      return REFUSED;
    }
    if (request[0].equals("write")) {
      counter.value = Long.parseLong(request[4]);
      counter.writes++;
    }
    return Long.toString(counter.value);
  }

  /** {@return the counts of all writes so far} */
  public synchronized Writes writes() {
    return new Writes(
        sum(guarded, counter -> counter.writes),
        sum(guarded, counter -> counter.refused),
        sum(guarded, Counter::lost),
        sum(unguarded, counter -> counter.writes),
        sum(unguarded, Counter::lost));
  }

  private static long sum(Map<String, Counter> counters, ToLongFunction<Counter> count) {
    return counters.values().stream().mapToLong(count).sum();
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }

  /** One thread's connection. Names must consist of letters, digits and hyphens. */
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

    /** {@return the guarded value; empty if a higher token has been seen} */
    OptionalLong read(String name, long token) throws IOException {
      return ask("read guarded " + name + " " + token);
    }

    /** Writes the guarded value unless a higher token has been seen, and returns whether it did. */
    boolean write(String name, long token, long value) throws IOException {
      return ask("write guarded " + name + " " + token + " " + value).isPresent();
    }

    long readUnguarded(String name) throws IOException {
      return ask("read unguarded " + name + " 0").orElseThrow();
    }

    void writeUnguarded(String name, long value) throws IOException {
      ask("write unguarded " + name + " 0 " + value);
    }

    /** Sends a request, and returns the value; empty if the request was refused. */
    private OptionalLong ask(String request) throws IOException {
      out.write((request + "\n").getBytes(US_ASCII));
      String answer = in.readLine();
      if (answer == null) {
        throw new IOException("the guarded store has closed the connection");
      }
      return answer.equals(REFUSED)
          ? OptionalLong.empty()
          : OptionalLong.of(Long.parseLong(answer));
    }

    @Override
    public void close() throws IOException {
      socket.close();
    }
  }
}
