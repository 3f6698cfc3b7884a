package dev.interlock.testbed.server;

import dev.interlock.testbed.process.TestbedException;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Several servers behind one URI. */
public abstract class ServerGroup<S extends DisposableServer> implements Deployment {
  /** The time-out of elections and other decisions among the members. */
  protected static final Duration LIMIT = Duration.ofMinutes(1);

  private final String uri;
  private final String source;
  private final String version;
  private final List<S> members;
  private final @Nullable PeerGates gates;

  /**
   * Creates a group of servers that the testbed has started.
   *
   * @param gates the proxies between the members; null if there are none
   */
  protected ServerGroup(String uri, List<S> members, @Nullable PeerGates gates) {
    this.uri = uri;
    this.source = members.get(0).source();
    this.version = members.get(0).version();
    this.members = List.copyOf(members);
    this.gates = gates;
  }

  /** Creates a group of servers that the user named. */
  protected ServerGroup(EndpointUri uri, String version) {
    this.uri = uri.text();
    this.source = "endpoint " + uri;
    this.version = version;
    this.members = List.of();
    this.gates = null;
  }

  @Override
  public final String uri() {
    return uri;
  }

  @Override
  public final String version() {
    return version;
  }

  @Override
  public final String source() {
    return source;
  }

  @Override
  public final List<S> members() {
    return members;
  }

  @Override
  public final boolean canCutOff() {
    return gates != null;
  }

  @Override
  public void cutOff(DisposableServer member) {
    gates().cutOff(member.port());
  }

  @Override
  public void reconnect(DisposableServer member) {
    gates().reconnect(member.port());
  }

  private PeerGates gates() {
    if (gates == null) {
      throw new UnsupportedOperationException(
          "the servers were not started with separable(), so they cannot be cut off from each other");
    }
    return gates;
  }

  @Override
  public final void heal() {
    members.forEach(DisposableServer::heal); // first, so that sentinels find the members
    servers().forEach(DisposableServer::heal);
    if (canCutOff()) {
      members.forEach(this::reconnect);
    }
    if (!members.isEmpty()) {
      try {
        awaitWhole();
      } catch (TestbedException e) {
        throw new TestbedException(e.getMessage() + logs(), e);
      }
    }
  }

  private String logs() {
    StringBuilder logs = new StringBuilder();
    for (S server : servers()) {
      logs.append("\n\n").append(server).append(" has this output:\n").append(server.log());
    }
    return logs.toString();
  }

  @Override
  public final void close() {
    Servers.closeAll(servers());
  }

  /** {@return all servers, auxiliary ones first} */
  protected List<S> servers() {
    return members;
  }

  /**
   * Waits until all servers, which already run, serve together.
   *
   * @throws TestbedException if that takes longer than a minute
   */
  protected void awaitWhole() {}

  /**
   * Checks that the testbed has started the servers.
   *
   * @throws UnsupportedOperationException if the user named the servers
   */
  protected final void requireOurs() {
    if (members.isEmpty()) {
      throw new UnsupportedOperationException(
          "you named these servers; the testbed injects faults only into servers that it started."
              + " Unset the endpoint, or call forFaults()");
    }
  }

  /** {@return the servers' addresses and origin; no password} */
  @Override
  public final String toString() {
    return servers().isEmpty() ? source : servers().toString();
  }
}
