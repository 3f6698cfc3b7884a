package dev.interlock.testbed.server;

import dev.interlock.testbed.process.TestbedException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * What a lock client connects to: one server, or several that act as one.
 *
 * <p>Not every server behind a named endpoint is known to the testbed; {@link #members()} is then
 * empty, and nothing can be hurt.
 */
public interface Deployment extends AutoCloseable {

  /**
   * Returns where clients connect.
   *
   * @return the URI in the form that {@code LockClient.open} takes, passwords included: not for
   *     messages
   */
  String uri();

  /**
   * Returns what clients must trust.
   *
   * @return the certificates, in PEM form; empty if the servers do not speak TLS, or are trusted
   *     anyway. The URI names the file too
   */
  default Optional<Path> caCertificate() {
    return Optional.empty();
  }

  /** {@return the version that the servers report} */
  String version();

  /** {@return the origin of the servers, for example {@code binary /usr/bin/redis-server}} */
  String how();

  /**
   * {@return the servers that may be hurt, in a fixed order; without auxiliary ones (sentinels)}
   */
  List<? extends DisposableServer> members();

  /**
   * Returns the members that decide at present.
   *
   * @return the one server, the primary of every shard, the elected leader; empty where all members
   *     are equal (Redlock) or not ours
   * @throws TestbedException if a shard or ensemble is without a leader for longer than a minute
   */
  default List<? extends DisposableServer> leaders() {
    return List.of();
  }

  /**
   * {@return whether {@link #changeLeader()} can do anything: there is a leader, and a successor}
   */
  default boolean canChangeLeader() {
    return false;
  }

  /**
   * Has another member take over from one of the leaders, in the orderly way where the servers have
   * one, else by stopping the leader and restarting it. Returns when the new one leads.
   *
   * @throws UnsupportedOperationException if {@link #canChangeLeader()} is false
   * @throws TestbedException if that takes longer than a minute
   */
  default void changeLeader() {
    throw new UnsupportedOperationException("no other server of ours could take over");
  }

  /** {@return whether {@link #cutOff} can do anything} */
  default boolean canCutOff() {
    return false;
  }

  /**
   * Cuts one member off from the others, while clients still reach it. Until it is {@linkplain
   * #reconnect reconnected} nothing arrives that it sends to the others, or they to it; connections
   * between them are accepted and stay silent, or are refused. Returns at once: the members take
   * their own time to notice. Until it has noticed, an etcd member that does not lead can still
   * have the leader renew the leases of clients that ask it to.
   *
   * @throws UnsupportedOperationException if {@link #canCutOff()} is false
   */
  default void cutOff(DisposableServer member) {
    throw new UnsupportedOperationException("these servers cannot be cut off from each other");
  }

  /**
   * Ends {@link #cutOff}; does nothing for a member that is not cut off. {@link #heal()} does it
   * for all, and waits until they have found each other.
   *
   * @throws UnsupportedOperationException if {@link #canCutOff()} is false
   */
  default void reconnect(DisposableServer member) {
    throw new UnsupportedOperationException("these servers cannot be cut off from each other");
  }

  /** {@return whether clients hold locks by sessions, which can be ended without their notice} */
  default boolean hasSessions() {
    return false;
  }

  /**
   * Ends the session of some client that holds something by it, as an operator can. Returns when
   * the servers do not know it any more, and everything that hung on it is gone.
   *
   * @param choice which of them, taken modulo their number
   * @return the session's number, or empty if there is none
   * @throws UnsupportedOperationException if {@link #hasSessions()} is false
   * @throws TestbedException if the servers do not end it
   */
  default Optional<String> endSession(int choice) {
    throw new UnsupportedOperationException("these servers know of no sessions");
  }

  /**
   * Brings every server back to running and waits until the whole is fit for use: all members
   * joined, a leader elected, replicas in step.
   *
   * @throws TestbedException if that takes longer than a minute
   */
  void heal();

  /** Ends all servers and removes their files. Idempotent. */
  @Override
  void close();
}
