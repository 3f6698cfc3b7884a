package dev.interlock.tck.run;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.URLDecoder;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Counts the keys of a store of the Redis protocol, by the command <a
 * href="https://redis.io/docs/latest/commands/info/">INFO keyspace</a>: as much as an address alone
 * allows.
 */
final class RedisKeys {
  private static final int TIMEOUT_MILLIS = 5_000;
  private static final Pattern KEYS = Pattern.compile("db\\d+:keys=(\\d+),.*");

  private RedisKeys() {}

  /** {@return empty if the address does not speak the protocol, or refuses} */
  static OptionalLong count(String uri, int defaultPort) {
    List<InetSocketAddress> addresses =
        StoreUri.parse(uri, defaultPort).map(StoreUri::addresses).orElse(List.of());
    return addresses.size() == 1 ? count(addresses.get(0), userInfo(uri)) : OptionalLong.empty();
  }

  private static OptionalLong count(InetSocketAddress address, List<String> userInfo) {
    try (Socket socket = new Socket()) {
      socket.connect(address, TIMEOUT_MILLIS);
      socket.setSoTimeout(TIMEOUT_MILLIS);
      OutputStream out = socket.getOutputStream();
      BufferedReader in = new BufferedReader(new InputStreamReader(socket.getInputStream(), UTF_8));
      if (!userInfo.isEmpty()) {
        out.write(command("AUTH", userInfo));
        if (!"+OK".equals(in.readLine())) {
          return OptionalLong.empty();
        }
      }
      out.write(command("INFO", List.of("keyspace")));
      String length = in.readLine();
      if (length == null || !length.matches("\\$\\d+")) {
        return OptionalLong.empty();
      }
      return OptionalLong.of(sum(in, Integer.parseInt(length.substring(1))));
    } catch (IOException e) {
      return OptionalLong.empty();
    }
  }

  private static long sum(BufferedReader in, int length) throws IOException {
    long keys = 0;
    String line;
    for (int read = 0; read < length && (line = in.readLine()) != null; read += line.length() + 2) {
      Matcher database = KEYS.matcher(line);
      keys += database.matches() ? Long.parseLong(database.group(1)) : 0;
    }
    return keys;
  }

  private static byte[] command(String name, List<String> arguments) {
    StringBuilder text = new StringBuilder("*" + (1 + arguments.size()) + "\r\n");
    List<String> words = new ArrayList<>(List.of(name));
    words.addAll(arguments);
    words.forEach(
        word ->
            text.append('$').append(word.getBytes(UTF_8).length).append("\r\n" + word + "\r\n"));
    return text.toString().getBytes(UTF_8);
  }

  private static List<String> userInfo(String uri) {
    String raw = URI.create(uri).getRawUserInfo();
    if (raw == null) {
      return List.of();
    }
    List<String> parts = new ArrayList<>();
    for (String part : raw.split(":", 2)) {
      parts.add(URLDecoder.decode(part.replace("+", "%2B"), UTF_8));
    }
    parts.remove("");
    return parts;
  }
}
