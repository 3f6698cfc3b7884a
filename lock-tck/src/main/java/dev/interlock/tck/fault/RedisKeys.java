package dev.interlock.tck.fault;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.List;
import java.util.OptionalLong;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Counts the keys of a server that speaks the Redis protocol, with the command <a
 * href="https://redis.io/docs/latest/commands/info/">INFO keyspace</a>.
 */
public final class RedisKeys {
  private static final int TIMEOUT_MILLIS = 5_000;
  private static final Pattern KEYS = Pattern.compile("db\\d+:keys=(\\d+),");

  private RedisKeys() {}

  /**
   * {@return the number of keys, or empty if the server does not speak the protocol or refuses}
   *
   * @param address the server's address
   * @param credentials user and password, or a password, or nothing
   */
  public static OptionalLong count(InetSocketAddress address, List<String> credentials) {
    try (Socket socket = new Socket()) {
      socket.connect(address, TIMEOUT_MILLIS);
      socket.setSoTimeout(TIMEOUT_MILLIS);
      if (!credentials.isEmpty()) {
        List<String> login = Stream.concat(Stream.of("AUTH"), credentials.stream()).toList();
        if (!ask(socket, login).words().equals(List.of("OK"))) {
          return OptionalLong.empty();
        }
      }
      RespFrame info = ask(socket, List.of("INFO", "keyspace"));
      return info.isText()
          ? OptionalLong.of(
              KEYS.matcher(info.words().get(0))
                  .results()
                  .mapToLong(database -> Long.parseLong(database.group(1)))
                  .sum())
          : OptionalLong.empty();
    } catch (IOException e) {
      return OptionalLong.empty();
    }
  }

  private static RespFrame ask(Socket socket, List<String> request) throws IOException {
    RespFrame.request(request).writeTo(socket.getOutputStream());
    return RespFrame.read(socket.getInputStream());
  }
}
