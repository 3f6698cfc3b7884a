package dev.interlock.testbed.server;

import dev.interlock.testbed.process.TestbedException;
import dev.interlock.testbed.process.Waiting;
import dev.interlock.testbed.server.DisposableServer.State;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Servers that elect one leader among them; with one member, that is the leader. */
public abstract class ElectedEnsemble<S extends AbstractServer> implements Deployment {
  private static final Duration LIMIT = Duration.ofMinutes(1);

  private final String uri;
  private final String how;
  private final String version;
  private final List<S> members;
  private final @Nullable PeerGates gates;

  /**
   * An ensemble.
   *
   * @param members none if the user named it
   * @param gates what stands between the members; null if nothing does
   */
  protected ElectedEnsemble(
      String uri, String how, String version, List<S> members, @Nullable PeerGates gates) {
    this.uri = uri;
    this.how = how;
    this.version = version;
    this.members = members;
    this.gates = gates;
  }

  @Override
  public String uri() {
    return uri;
  }

  @Override
  public final String version() {
    return version;
  }

  @Override
  public final String how() {
    return how;
  }

  @Override
  public final List<S> members() {
    return members;
  }

  /**
   * The member that leads, by its own word.
   *
   * @throws TestbedException if there is none within a minute
   * @throws UnsupportedOperationException if the ensemble is a named endpoint
   */
  public final S leader() {
    if (members.isEmpty()) {
      throw new UnsupportedOperationException(
          "these servers were named by you; the testbed knows only members that it started");
    }
    return Waiting.demand(LIMIT, "no member leads", this::findLeader);
  }

  /** The members that do not lead. */
  public final List<S> followers() {
    List<S> followers = new ArrayList<>(members);
    followers.remove(leader());
    return List.copyOf(followers);
  }

  /**
   * Waits until another member leads in place of one that was paused or killed.
   *
   * @return the new leader
   * @throws TestbedException if there is none within a minute
   */
  public final S awaitLeaderOtherThan(S lost) {
    return Waiting.demand(
        LIMIT,
        "no other member took the lead of " + lost.name(),
        () -> findLeader().filter(leader -> !leader.equals(lost)));
  }

  /** The one member that leads; empty if the ensemble is a named endpoint. */
  @Override
  public final List<S> leaders() {
    return members.isEmpty() ? List.of() : List.of(leader());
  }

  @Override
  public final boolean canChangeLeader() {
    return members.size() > 2;
  }

  @Override
  public final void changeLeader() {
    if (!canChangeLeader()) {
      throw new UnsupportedOperationException("no quorum of ours would be left to elect a leader");
    }
    S old = leader();
    try {
      depose(old);
    } catch (IOException e) {
      throw new TestbedException("cannot depose " + old.name() + ": " + e.getMessage(), e);
    }
  }

  @Override
  public final boolean canCutOff() {
    return gates != null;
  }

  @Override
  public final void cutOff(DisposableServer member) {
    gates().cutOff(member.port());
  }

  @Override
  public final void reconnect(DisposableServer member) {
    gates().reconnect(member.port());
  }

  private PeerGates gates() {
    if (gates == null) {
      throw new UnsupportedOperationException("the members were not started as separable()");
    }
    return gates;
  }

  @Override
  public final boolean hasSessions() {
    return !members.isEmpty();
  }

  @Override
  public final Optional<String> endSession(int choice) {
    S server = leader();
    try {
      List<String> sessions = sessions(server);
      if (sessions.isEmpty()) {
        return Optional.empty();
      }
      String session = sessions.get(choice % sessions.size());
      endSession(server, session);
      Waiting.demandThat(
          LIMIT, "session " + session + " did not end", () -> !sessions(server).contains(session));
      return Optional.of(session);
    } catch (IOException e) {
      throw new TestbedException("cannot end a session: " + e.getMessage(), e);
    }
  }

  @Override
  public final void heal() {
    members.forEach(DisposableServer::heal);
    if (canCutOff()) {
      members.forEach(this::reconnect);
    }
    if (!members.isEmpty()) {
      Waiting.demandThat(LIMIT, "the members did not form an ensemble", this::isWhole);
    }
  }

  @Override
  public final void close() {
    Servers.closeAll(members);
  }

  /** The members' addresses and origin; no password. */
  @Override
  public final String toString() {
    return members.isEmpty() ? how : members.toString();
  }

  /** Whether a member leads, by its own word. */
  protected abstract boolean leads(S member) throws IOException;

  /** Whether all members serve, in agreement. */
  protected abstract boolean isWhole() throws IOException;

  /** Ends a member's lead; returns when another leads and the member is back. */
  protected abstract void depose(S leader) throws IOException;

  /** The sessions on which something hangs, in a fixed order. */
  protected abstract List<String> sessions(S server) throws IOException;

  /** Ends a session in the name of its client. */
  protected abstract void endSession(S server, String session) throws IOException;

  /** Members that stand still would only be waited for. */
  protected final Optional<S> findLeader() throws IOException {
    for (S member : members) {
      if (member.state() == State.RUNNING && leads(member)) {
        return Optional.of(member);
      }
    }
    return Optional.empty();
  }
}
