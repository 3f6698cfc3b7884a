package dev.interlock.peers;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
import dev.interlock.testbed.server.Servers;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/** Independent Redis servers, of which a library uses one or several. */
final class RedisStore extends PeerStore {
  private final List<RedisServer> servers;
  private final String prefix;
  private final String suffix;

  private RedisStore(List<RedisServer> servers, String prefix, String suffix) {
    super(servers);
    this.servers = servers;
    this.prefix = prefix;
    this.suffix = suffix;
  }

  /**
   * Starts servers.
   *
   * @param count how many
   * @param prefix what the library puts before a lock's name to make its key
   */
  static RedisStore start(int count, String prefix) {
    return start(count, prefix, "");
  }

  /** Starts servers of a library that also puts something behind a lock's name. */
  static RedisStore start(int count, String prefix, String suffix) {
    return new RedisStore(
        IntStream.range(0, count).mapToObj(i -> Testbed.redis().forFaults().start()).toList(),
        prefix,
        suffix);
  }

  @Override
  public String uri() {
    return "redis://" + Servers.addresses(servers);
  }

  @Override
  public boolean delete(String name) throws IOException {
    boolean deleted = false;
    for (RedisServer server : servers) {
      deleted |= Long.valueOf(1).equals(server.call("DEL", prefix + name + suffix));
    }
    return deleted;
  }

  @Override
  public List<Entry> entries() throws IOException {
    List<Entry> entries = new ArrayList<>();
    for (RedisServer server : servers) {
      for (Map.Entry<String, Long> key : server.keys().entrySet()) {
        boolean fence = key.getKey().contains("token") || key.getKey().endsWith(":fence");
        Kind kind = fence ? Kind.FENCE : Kind.HOLDER;
        entries.add(new Entry(kind, "key " + key.getKey(), key.getValue() >= 0));
      }
      if (server.call("PUBSUB", "CHANNELS") instanceof List<?> channels) {
        for (Object channel : channels) {
          String text = channel instanceof byte[] bytes ? new String(bytes, UTF_8) : "" + channel;
          entries.add(new Entry(Kind.WAITER, "subscription " + text, false));
        }
      }
    }
    return entries;
  }

  @Override
  public void close() {
    Servers.closeAll(servers);
  }
}
