package dev.interlock.testbed.server;

import dev.interlock.testbed.process.TestbedException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * One server, or several that act as one store, for lock clients to connect to.
 *
 * <p>The testbed does not know the servers behind a named endpoint: {@link #members()} is empty
 * then, and no faults can be injected.
 */
public interface Deployment extends AutoCloseable {

  /**
   * Returns the URI for clients.
   *
   * @return the URI in the form that {@code LockClient.open} takes. It includes passwords, so it
   *     must not appear in messages
   */
  String uri();

  /**
   * Returns the certificates that clients must trust, in PEM form.
   *
   * @return the file, which the URI also names; empty if the servers do not speak TLS, or the JVM
   *     trusts them already
   */
  default Optional<Path> caCertificate() {
    return Optional.empty();
  }

  /** {@return the version that the servers report} */
  String version();

  /** {@return the origin of the servers, for example {@code binary /usr/bin/redis-server}} */
  String source();

  /** {@return the servers that faults can be injected into, in a fixed order, without sentinels} */
  List<? extends DisposableServer> members();

  /**
   * Returns the current leaders: the single server, the primary of every shard, or the elected
   * leader.
   *
   * @return the leaders; empty if all members are equal (Redlock), or behind a named endpoint
   * @throws TestbedException if a shard or ensemble has no leader for longer than a minute
   */
  default List<? extends DisposableServer> leaders() {
    return List.of();
  }

  /** {@return whether {@link #changeLeader()} is supported: there is a leader and a successor} */
  default boolean canChangeLeader() {
    return false;
  }

  /**
   * Makes another member take over from one of the leaders: by a command of the servers if they
   * have one, otherwise by stopping and restarting the leader. Returns when the new leader leads.
   *
   * @throws UnsupportedOperationException if {@link #canChangeLeader()} is false
   * @throws TestbedException if it takes longer than a minute
   */
  default void changeLeader() {
    throw new UnsupportedOperationException(
        "this deployment has no other server that could take over");
  }

  /** {@return whether {@link #cutOff} is supported} */
  default boolean canCutOff() {
    return false;
  }

  /**
   * Cuts one member off from the others, while clients still reach it. Until it is {@linkplain
   * #reconnect reconnected}, messages between it and the others are lost; connections between them
   * stay silent, or are refused. Returns at once, before the members have noticed. Until then an
   * etcd follower can still make the leader renew the leases of the follower's clients.
   *
   * @throws UnsupportedOperationException if {@link #canCutOff()} is false
   */
  default void cutOff(DisposableServer member) {
    throw new UnsupportedOperationException(
        "these servers were not started so that they can be cut off from each other");
  }

  /**
   * Ends {@link #cutOff}; does nothing for a member that is not cut off. {@link #heal()} reconnects
   * all members, and waits until they have found each other.
   *
   * @throws UnsupportedOperationException if {@link #canCutOff()} is false
   */
  default void reconnect(DisposableServer member) {
    throw new UnsupportedOperationException(
        "these servers were not started so that they can be cut off from each other");
  }

  /** {@return whether clients hold locks through sessions, which can be ended without notice} */
  default boolean hasSessions() {
    return false;
  }

  /**
   * Ends a session to which a client's entries are bound, as an operator can. Returns when the
   * servers have removed the session and its entries.
   *
   * @param choice selects the session, modulo their number
   * @return the session's number, or empty if there is no session
   * @throws UnsupportedOperationException if {@link #hasSessions()} is false
   * @throws TestbedException if the servers do not end the session
   */
  default Optional<String> endSession(int choice) {
    throw new UnsupportedOperationException("these servers have no sessions");
  }

  /**
   * Makes every server run again, and waits until the deployment is complete: all members have
   * joined, a leader is elected, and replicas are in step.
   *
   * @throws TestbedException if that takes longer than a minute
   */
  void heal();

  /** Ends all servers, and removes their files. Idempotent. */
  @Override
  void close();
}
