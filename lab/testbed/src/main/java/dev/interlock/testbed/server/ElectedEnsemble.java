package dev.interlock.testbed.server;

import dev.interlock.testbed.process.TestbedException;
import dev.interlock.testbed.process.Waiting;
import dev.interlock.testbed.server.DisposableServer.State;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Servers that elect a leader among them; a single member is the leader. */
public abstract class ElectedEnsemble<S extends DisposableServer> extends ServerGroup<S> {

  protected ElectedEnsemble(String uri, List<S> members, @Nullable PeerGates gates) {
    super(uri, members, gates);
  }

  protected ElectedEnsemble(EndpointUri uri, String version) {
    super(uri, version);
  }

  /**
   * Returns the member that reports to be the leader.
   *
   * @throws TestbedException if no member leads within a minute
   * @throws UnsupportedOperationException if the ensemble is a named endpoint
   */
  public final S leader() {
    requireOurs();
    return Waiting.demand(LIMIT, "no member became the leader", this::findLeader);
  }

  /** {@return the members that do not lead} */
  public final List<S> followers() {
    List<S> followers = new ArrayList<>(members());
    followers.remove(leader());
    return List.copyOf(followers);
  }

  /**
   * Waits until another member has replaced a leader that was paused or killed.
   *
   * @return the new leader
   * @throws TestbedException if no other member leads within a minute
   */
  public final S awaitLeaderOtherThan(S lost) {
    return Waiting.demand(
        LIMIT,
        "no other member became the leader in place of " + lost.name(),
        () -> findLeader().filter(leader -> !leader.equals(lost)));
  }

  /** {@return the leader; empty if the ensemble is a named endpoint} */
  @Override
  public final List<S> leaders() {
    return members().isEmpty() ? List.of() : List.of(leader());
  }

  @Override
  public final boolean canChangeLeader() {
    return members().size() > 2;
  }

  @Override
  public final void changeLeader() {
    if (!canChangeLeader()) {
      throw new UnsupportedOperationException(
          "without its leader this ensemble has no quorum to elect another");
    }
    S old = leader();
    try {
      depose(old);
    } catch (IOException e) {
      throw new TestbedException(
          "cannot replace the leader " + old.name() + ": " + e.getMessage(), e);
    }
  }

  @Override
  public final boolean hasSessions() {
    return !members().isEmpty();
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
  protected final void awaitWhole() {
    Waiting.demandThat(LIMIT, "the members did not form an ensemble", this::isWhole);
  }

  /** {@return whether a member reports to be the leader} */
  protected abstract boolean leads(S member) throws IOException;

  /** {@return whether all members serve and agree on the leader} */
  protected abstract boolean isWhole() throws IOException;

  /** Replaces the leader. Returns when another member leads, and the former leader runs. */
  protected abstract void depose(S leader) throws IOException;

  /** {@return the sessions with entries, in a fixed order} */
  protected abstract List<String> sessions(S server) throws IOException;

  /** Ends a session in the name of its client. */
  protected abstract void endSession(S server, String session) throws IOException;

  /** {@return the running member that reports to be the leader, if any} */
  protected final Optional<S> findLeader() throws IOException {
    for (S member : members()) {
      if (member.state() == State.RUNNING && leads(member)) {
        return Optional.of(member);
      }
    }
    return Optional.empty();
  }

  /** The settings of an ensemble before it is started. */
  public abstract static class Builder<B extends Builder<B, D>, D extends ElectedEnsemble<?>>
      extends DeploymentBuilder<B, D> {
    protected int members = 1;
    protected boolean separable;
    private final String withoutSync;

    protected Builder(String kind, String setting, String withoutSync) {
      super(kind, setting);
      this.withoutSync = withoutSync;
    }

    /**
     * Sets the number of members, 1 by default.
     *
     * @throws IllegalArgumentException if it is not positive
     */
    public final B members(int members) {
      this.members = atLeast(1, members, "the number of members");
      return self();
    }

    /**
     * Makes it possible to {@linkplain Deployment#cutOff cut off} members from each other.
     * ZooKeeper servers then listen to their peers on all addresses of this machine.
     */
    public final B separable() {
      this.separable = true;
      return self();
    }

    /**
     * Makes the members confirm writes before these are on disk, so that a slow disk does not
     * disturb measurements. Confirmed writes survive a kill of the members, but not a crash of the
     * machine.
     */
    public final B withoutSync() {
      return config(withoutSync);
    }
  }
}
