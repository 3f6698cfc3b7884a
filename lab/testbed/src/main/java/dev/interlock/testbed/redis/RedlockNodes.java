package dev.interlock.testbed.redis;

import dev.interlock.testbed.install.UnsuitableSourceException;
import dev.interlock.testbed.server.EndpointUri;
import dev.interlock.testbed.server.ServerSource;
import dev.interlock.testbed.server.Servers;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * Independent Redis primaries for Redlock, five by default. Their URI is, for example, {@code
 * redlock://127.0.0.1:10001,127.0.0.1:10002,...}.
 */
public final class RedlockNodes extends RedisDeployment {
  private static final String SCHEME = "redlock";

  private RedlockNodes(List<RedisServer> nodes, String parameters) {
    super(nodes, SCHEME, nodes, parameters, null);
  }

  private RedlockNodes(EndpointUri uri) throws IOException {
    super(uri);
  }

  /** The settings of the nodes before they are started. */
  public static final class Builder extends RedisBuilder<Builder, RedlockNodes> {
    private int count = 5;
    private List<Duration> ahead = List.of();
    private String parameters = "";

    public Builder() {
      super("Redlock nodes", "interlock.redlock.uri");
    }

    /**
     * Sets the number of nodes, 5 by default.
     *
     * @throws IllegalArgumentException if it is not positive
     */
    public Builder nodes(int count) {
      this.count = atLeast(1, count, "the number of nodes");
      return this;
    }

    /**
     * Gives nodes wrong clocks, also after restarts, until {@link RedisServer#setClock} sets them.
     * Monotonic clocks are correct. Each node's time is checked at its start. Requires Linux, a C
     * compiler, and a Redis program on this machine.
     *
     * @param ahead the differences of the first nodes' clocks, in whole seconds; negative for
     *     behind. The other nodes have the correct time
     */
    public Builder clocksAhead(Duration... ahead) {
      this.ahead = List.of(ahead);
      return this;
    }

    /**
     * Adds parameters to the URI, for example {@code maxTtl=5s}. Does not change a named endpoint.
     */
    public Builder parameters(String parameters) {
      this.parameters = "?" + parameters;
      return this;
    }

    @Override
    protected boolean isConfigured() {
      return !ahead.isEmpty() || super.isConfigured();
    }

    @Override
    protected RedlockNodes named(String text) throws IOException {
      return new RedlockNodes(EndpointUri.parse(text, SCHEME, RedisEndpoint.PORT));
    }

    @Override
    protected RedlockNodes launch(ServerSource source) throws UnsuitableSourceException {
      RedisNodes correct = nodes(source);
      List<RedisNodes> nodes = new ArrayList<>();
      for (int i = 0; i < count; i++) {
        nodes.add(i < ahead.size() ? correct.withClock(ahead.get(i)) : correct);
      }
      return Servers.startAll(
          count,
          i -> retryOnBindConflict(() -> nodes.get(i).startServer("redlock-" + (i + 1))),
          started -> new RedlockNodes(started, parameters));
    }
  }
}
