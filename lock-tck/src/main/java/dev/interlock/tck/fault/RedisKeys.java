package dev.interlock.tck.fault;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Lists the keys of a server that speaks the Redis protocol, with the commands <a
 * href="https://redis.io/docs/latest/commands/info/">INFO keyspace</a> and <a
 * href="https://redis.io/docs/latest/commands/keys/">KEYS</a>.
 */
public final class RedisKeys {
  private static final int TIMEOUT_MILLIS = 5_000;
  private static final Pattern DATABASE = Pattern.compile("db(\\d+):keys=");

  private RedisKeys() {}

  /**
   * {@return the keys of all databases, or empty if the server does not speak the protocol or
   * refuses}
   *
   * @param address the server's address
   * @param credentials user and password, or a password, or nothing
   */
  public static Optional<List<String>> list(InetSocketAddress address, List<String> credentials) {
    try (Socket socket = new Socket()) {
      socket.connect(address, TIMEOUT_MILLIS);
      socket.setSoTimeout(TIMEOUT_MILLIS);
      if (!credentials.isEmpty()) {
        List<String> login = Stream.concat(Stream.of("AUTH"), credentials.stream()).toList();
        if (ask(socket, login).isError()) {
          return Optional.empty();
        }
      }
      RespFrame info = ask(socket, List.of("INFO", "keyspace"));
      if (!info.isText()) {
        return Optional.empty();
      }
      List<String> keys = new ArrayList<>();
      List<MatchResult> databases = DATABASE.matcher(info.words().get(0)).results().toList();
      for (MatchResult database : databases) {
        RespFrame selected = ask(socket, List.of("SELECT", database.group(1)));
        RespFrame found = ask(socket, List.of("KEYS", "*"));
        if (selected.isError() || !found.isArray()) {
          return Optional.empty();
        }
        keys.addAll(found.words());
      }
      return Optional.of(keys);
    } catch (IOException e) {
      return Optional.empty();
    }
  }

  private static RespFrame ask(Socket socket, List<String> request) throws IOException {
    RespFrame.request(request).writeTo(socket.getOutputStream());
    return RespFrame.read(socket.getInputStream());
  }
}
