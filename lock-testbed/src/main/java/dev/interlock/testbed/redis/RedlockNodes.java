package dev.interlock.testbed.redis;

import dev.interlock.testbed.install.UnsuitableWayException;
import dev.interlock.testbed.server.DisposableServer;
import dev.interlock.testbed.server.Servers;
import dev.interlock.testbed.server.Way;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Independent Redis masters that know nothing of each other, for Redlock: five by default. */
public final class RedlockNodes extends RedisDeployment {

  private RedlockNodes(RedisGroup group) {
    super(group);
  }

  /** Where clients connect, for example {@code redlock://127.0.0.1:10001,127.0.0.1:10002,...}. */
  @Override
  public String uri() {
    return group.uri();
  }

  /** Always empty: all nodes are equal. */
  @Override
  public List<RedisServer> leaders() {
    return List.of();
  }

  /** Always false. */
  @Override
  public boolean canChangeLeader() {
    return false;
  }

  /** Always throws {@link UnsupportedOperationException}. */
  @Override
  public void changeLeader() {
    throw new UnsupportedOperationException("independent Redis nodes have no leader");
  }

  @Override
  public void heal() {
    members().forEach(DisposableServer::heal);
  }

  @Override
  public void close() {
    Servers.closeAll(members());
  }

  /** What is wanted of the nodes before they are started. */
  public static final class Builder extends RedisBuilder<Builder, RedlockNodes> {
    private int count = 5;
    private List<Duration> ahead = List.of();
    private String parameters = "";

    public Builder() {
      super("Redlock nodes");
    }

    /**
     * Sets the number of nodes, 5 by default.
     *
     * @throws IllegalArgumentException if it is not positive
     */
    public Builder nodes(int count) {
      if (count <= 0) {
        throw new IllegalArgumentException("there must be at least one node, not " + count);
      }
      this.count = count;
      return this;
    }

    /**
     * Gives nodes wrong clocks: their time of day is off, by the same amount all the time and after
     * every restart unless {@link RedisServer#setClock} sets it; monotonic clocks are right. What
     * the nodes themselves say of the time is checked when they start. Takes Linux, a C compiler,
     * and a Redis program of this machine.
     *
     * @param ahead by how much the first nodes' clocks are ahead, in whole seconds; negative for
     *     behind. The others have the right time
     */
    public Builder clocksAhead(Duration... ahead) {
      this.ahead = List.of(ahead);
      return this;
    }

    /**
     * Adds parameters to the URI, for example {@code maxTtl=5s}. A named endpoint's URI is left as
     * it is.
     */
    public Builder parameters(String parameters) {
      this.parameters = "?" + parameters;
      return this;
    }

    @Override
    protected RedlockNodes startBy(Way way) throws UnsuitableWayException {
      if (way == Way.ENDPOINT) {
        if (!ahead.isEmpty()) {
          throw new UnsuitableWayException("the clocks of a named endpoint are not ours to set");
        }
        return new RedlockNodes(
            RedisGroup.named(namedEndpoint("interlock.redlock.uri"), "redlock"));
      }
      RedisNodes nodes = nodes(way);
      List<WrongClock> clocks = new ArrayList<>();
      for (Duration each : ahead) {
        clocks.add(WrongClock.on(nodes.installation(), each));
      }
      List<RedisServer> started = Servers.startAll(count, i -> start(i, nodes, clocks));
      return new RedlockNodes(RedisGroup.of(started, "redlock", started, parameters));
    }

    private static RedisServer start(int i, RedisNodes nodes, List<WrongClock> clocks) {
      String name = "redlock-" + (i + 1);
      if (i >= clocks.size()) {
        return retryOnBindConflict(() -> nodes.startServer(name));
      }
      RedisNodes wrong = new RedisNodes(clocks.get(i), nodes.config());
      RedisServer server = retryOnBindConflict(() -> wrong.startServer(name));
      try {
        WrongClock.verify(server, clocks.get(i).ahead());
        return server;
      } catch (RuntimeException e) {
        Servers.closeAfter(e, List.of(server));
        throw e;
      }
    }

    @Override
    protected Builder self() {
      return this;
    }
  }
}
