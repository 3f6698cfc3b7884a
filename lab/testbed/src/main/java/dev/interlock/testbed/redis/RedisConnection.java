package dev.interlock.testbed.redis;

import dev.interlock.testbed.process.Sockets;
import dev.interlock.testbed.server.TlsTrust;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One connection to a Redis server. It speaks a small part of RESP 2, so that the testbed does not
 * depend on the drivers that are under test.
 *
 * <p>Protocol: <a href="https://redis.io/docs/latest/develop/reference/protocol-spec/">Redis
 * serialization protocol specification</a>. Not thread-safe.
 */
final class RedisConnection implements Closeable {
  private final Socket socket;
  private final InputStream in;
  private final OutputStream out;

  /** Connects. The time-out also limits the wait for each reply. */
  RedisConnection(RedisEndpoint endpoint, Duration limit) throws IOException {
    Socket plain = Sockets.connect(endpoint.host(), endpoint.port(), limit);
    try {
      plain.setTcpNoDelay(true);
      TlsTrust tls = endpoint.tls();
      socket = tls == null ? plain : tls.over(plain, endpoint.host(), endpoint.port());
      in = new BufferedInputStream(socket.getInputStream());
      out = new BufferedOutputStream(socket.getOutputStream());
      if (endpoint.password() != null) {
        String user = endpoint.user();
        if (user == null) {
          call("AUTH", endpoint.password());
        } else {
          call("AUTH", user, endpoint.password());
        }
      }
    } catch (IOException | RuntimeException e) {
      plain.close();
      throw e;
    }
  }

  /**
   * Sends one command and waits for its reply.
   *
   * @return a String, a Long, a List of those, or null
   * @throws RedisReplyException if the reply is an error
   * @throws IOException if no reply came
   */
  @Nullable Object call(String... command) throws IOException {
    out.write(("*" + command.length + "\r\n").getBytes(StandardCharsets.US_ASCII));
    for (String argument : command) {
      byte[] bytes = argument.getBytes(StandardCharsets.UTF_8);
      out.write(("$" + bytes.length + "\r\n").getBytes(StandardCharsets.US_ASCII));
      out.write(bytes);
      out.write('\r');
      out.write('\n');
    }
    out.flush();
    return reply();
  }

  private @Nullable Object reply() throws IOException {
    String line = line();
    String rest = line.substring(1);
    return switch (line.charAt(0)) {
      case '+' -> rest;
      case '-' -> throw new RedisReplyException(rest);
      case ':' -> Long.valueOf(rest);
      case '$' -> bulk(Integer.parseInt(rest));
      case '*' -> array(Integer.parseInt(rest));
      default ->
          throw new IOException("the server sent something other than a RESP reply: " + line);
    };
  }

  private @Nullable String bulk(int length) throws IOException {
    if (length < 0) {
      return null;
    }
    byte[] bytes = in.readNBytes(length);
    if (bytes.length < length || in.read() < 0 || in.read() < 0) {
      throw new EOFException("the server closed the connection in the middle of a reply");
    }
    return new String(bytes, StandardCharsets.UTF_8);
  }

  private @Nullable List<@Nullable Object> array(int length) throws IOException {
    if (length < 0) {
      return null;
    }
    List<@Nullable Object> elements = new ArrayList<>(length);
    for (int i = 0; i < length; i++) {
      elements.add(reply());
    }
    return elements;
  }

  private String line() throws IOException {
    StringBuilder line = new StringBuilder();
    for (int c = in.read(); c != '\n'; c = in.read()) {
      if (c < 0) {
        throw new EOFException("the server closed the connection");
      }
      if (c != '\r') {
        line.append((char) c);
      }
    }
    if (line.isEmpty()) {
      throw new IOException("the server sent an empty line instead of a RESP reply");
    }
    return line.toString();
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
