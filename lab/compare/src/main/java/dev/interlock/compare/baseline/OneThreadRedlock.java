package dev.interlock.compare.baseline;

import dev.interlock.spi.LockUri;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Connection;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.Protocol.Command;

/**
 * The cheapest way to ask several nodes: one thread writes the requests of {@link RedisDriver} to
 * all sockets and then reads all replies. Only one thread at a time may use it.
 */
public final class OneThreadRedlock implements RedlockDriver.Nodes {
  private final List<Node> nodes = new ArrayList<>();
  private String script = "";

  /** Connects to all nodes. */
  public OneThreadRedlock(String uri) {
    LockUri parsed = LockUri.parse(uri);
    try {
      for (HostAndPort address : RedisDriver.addresses(parsed)) {
        Node node = new Node(address, RedisDriver.config(parsed));
        nodes.add(node);
        node.sendCommand(Command.SCRIPT, "LOAD", RedisDriver.DELETE_OWN);
        script = node.getBulkReply();
      }
    } catch (RuntimeException e) {
      close();
      throw e;
    }
  }

  /** A connection that can send a request without reading its reply. */
  private static final class Node extends Connection {
    Node(HostAndPort address, JedisClientConfig config) {
      super(address, config);
    }

    void send(CommandArguments request) {
      sendCommand(request);
      flush();
    }
  }

  private List<@Nullable Object> onAllNodes(CommandArguments request) {
    nodes.forEach(node -> node.send(request));
    List<@Nullable Object> replies = new ArrayList<>();
    nodes.forEach(node -> replies.add(node.getOne()));
    return replies;
  }

  @Override
  public int size() {
    return nodes.size();
  }

  @Override
  public int tryAcquire(String name, String owner) {
    CommandArguments request =
        new CommandArguments(Command.SET)
            .key(RedisDriver.key(name))
            .add(owner)
            .addParams(RedisDriver.IF_FREE);
    return (int) onAllNodes(request).stream().filter(Objects::nonNull).count();
  }

  @Override
  public void release(String name, String owner) {
    onAllNodes(
        new CommandArguments(Command.EVALSHA)
            .add(script)
            .add(1)
            .key(RedisDriver.key(name))
            .add(owner));
  }

  @Override
  public void close() {
    nodes.forEach(Connection::close);
  }
}
