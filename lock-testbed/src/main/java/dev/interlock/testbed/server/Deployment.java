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
   * Where clients connect, in the form that {@code LockClient.open} takes, passwords included: not
   * for messages.
   */
  String uri();

  /**
   * The certificates, in PEM form, that clients must trust; empty if the servers do not speak TLS,
   * or are trusted anyway. The URI names the file too.
   */
  default Optional<Path> caCertificate() {
    return Optional.empty();
  }

  /** The version that the servers report. */
  String version();

  /** How the servers were got, for example {@code binary /usr/bin/redis-server}. */
  String how();

  /** The servers that may be hurt, in a fixed order; without auxiliary ones such as sentinels. */
  List<? extends DisposableServer> members();

  /**
   * The members that decide at present: the one server, the master of every shard, the elected
   * leader. Empty where all members are equal (Redlock) or not ours.
   *
   * @throws TestbedException if an office that should be held is vacant for longer than a minute
   */
  List<? extends DisposableServer> leaders();

  /**
   * Whether {@link #changeLeader()} can do anything: there is an office, and another who can take
   * it.
   */
  boolean canChangeLeader();

  /**
   * Has another member take over from one of the leaders, in the orderly way where the servers have
   * one, else by stopping the leader and bringing it back. Returns when the new one is in office.
   *
   * @throws UnsupportedOperationException if {@link #canChangeLeader()} is false
   * @throws TestbedException if that takes longer than a minute
   */
  void changeLeader();

  /** Whether {@link #cutOff} can do anything. */
  default boolean canCutOff() {
    return false;
  }

  /**
   * Cuts one member off from the others, while clients still reach it. Until it is {@linkplain
   * #reconnect reconnected} nothing arrives that it sends to the others, or they to it; connections
   * between them are accepted and stay silent, or are refused. Returns at once: how long it takes
   * the members to notice is theirs. Until it has noticed, an etcd member that does not lead can
   * still have the leader renew the leases of clients that ask it to.
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

  /** Whether clients have what they have by sessions, which can be ended behind their backs. */
  default boolean hasSessions() {
    return false;
  }

  /**
   * Ends the session of some client that has something by it, as an operator can. Returns when the
   * servers do not know it any more, and everything that hung on it is gone.
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
   * joined, a leader in office, replicas in step.
   *
   * @throws TestbedException if that takes longer than a minute
   */
  void heal();

  /** Ends all servers and removes their files. Idempotent. */
  @Override
  void close();
}
