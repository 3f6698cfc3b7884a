package dev.interlock.bench.peers;

import static java.nio.charset.StandardCharsets.US_ASCII;

import dev.interlock.compare.rounds.Locking;
import dev.interlock.spi.LockUri;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.LockSupport;

/**
 * The least that five nodes cost: one thread writes a command to all sockets, and then reads all
 * replies. {@code SET NX PX}, then a script that deletes its own value. Without a majority it
 * releases everything and pauses for less than 3 ms, at random. For one thread at a time.
 */
final class OneThreadRedlock implements Locking {
  private static final int DEFAULT_PORT = 6379;
  private static final int TIMEOUT_MILLIS = 1_000;
  private static final long LONGEST_PAUSE = Duration.ofMillis(3).toNanos();
  private static final String DELETE_OWN =
      "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1])"
          + " else return 0 end";

  private final List<Socket> sockets = new ArrayList<>();
  private final byte[] reply = new byte[256];
  private String script = "";

  private OneThreadRedlock() {}

  static Peer<Locking> peer() {
    return new Peer<>("one thread, five sockets", (uri, threads) -> open(uri));
  }

  private static OneThreadRedlock open(String uri) throws IOException {
    OneThreadRedlock client = new OneThreadRedlock();
    for (LockUri.Endpoint endpoint : LockUri.parse(uri).endpoints(DEFAULT_PORT)) {
      Socket socket = new Socket(endpoint.host(), endpoint.port());
      client.sockets.add(socket);
      socket.setTcpNoDelay(true);
      socket.setSoTimeout(TIMEOUT_MILLIS);
      socket.getOutputStream().write(encoded("SCRIPT", "LOAD", DELETE_OWN));
      String loaded = new String(client.reply, 0, client.read(socket, 2), US_ASCII);
      client.script = loaded.split("\r\n", -1)[1];
    }
    return client;
  }

  private static byte[] encoded(String... parts) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    bytes.writeBytes(("*" + parts.length + "\r\n").getBytes(US_ASCII));
    for (String part : parts) {
      bytes.writeBytes(("$" + part.length() + "\r\n" + part + "\r\n").getBytes(US_ASCII));
    }
    return bytes.toByteArray();
  }

  /** Reads a reply of so many lines; returns its length. */
  private int read(Socket socket, int lines) throws IOException {
    int length = 0;
    int missing = lines;
    while (missing > 0) {
      int count = socket.getInputStream().read(reply, length, reply.length - length);
      if (count < 0) {
        throw new EOFException("a node has closed the connection");
      }
      for (int end = length + count; length < end; length++) {
        missing -= reply[length] == '\n' ? 1 : 0;
      }
    }
    return length;
  }

  private int everywhere(String... command) throws IOException {
    byte[] bytes = encoded(command);
    for (Socket socket : sockets) {
      socket.getOutputStream().write(bytes);
    }
    int granted = 0;
    for (Socket socket : sockets) {
      int unused = read(socket, 1);
      granted += reply[0] == '+' ? 1 : 0;
    }
    return granted;
  }

  @Override
  public Optional<AutoCloseable> acquire(String name, Duration atMost) throws IOException {
    String key = "baseline:" + name;
    String owner = UUID.randomUUID().toString();
    long end = System.nanoTime() + atMost.toNanos();
    while (everywhere("SET", key, owner, "NX", "PX", "30000") <= sockets.size() / 2) {
      release(key, owner);
      if (System.nanoTime() - end > 0) {
        return Optional.empty();
      }
      LockSupport.parkNanos(ThreadLocalRandom.current().nextLong(LONGEST_PAUSE));
    }
    return Optional.of(() -> release(key, owner));
  }

  private void release(String key, String owner) throws IOException {
    everywhere("EVALSHA", script, "1", key, owner);
  }

  @Override
  public void close() throws IOException {
    for (Socket socket : sockets) {
      socket.close();
    }
  }
}
