package dev.interlock;

import com.google.errorprone.annotations.CheckReturnValue;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/**
 * The election of one leader among the clients that campaign for it. Has no state, costs little to
 * create, and needs no closing.
 *
 * <pre>{@code
 * LeaderElection election = client.election("scheduler");
 * try (Lease leadership = election.campaign()) {          // waits until elected
 *   schedule(leadership);
 * }                                                       // resigns
 *
 * Candidacy candidacy = election.start(leadership -> {      // again and again, until closed
 *   while (leadership.isHeld()) {
 *     scheduleNext(leadership.fencingToken());
 *   }
 * });
 * }</pre>
 *
 * <p>Leadership is a {@link Lease} of the exclusive lock of the election's name. It has a fencing
 * token, a validity that the leader can check without the network, and a loss signal at the end of
 * its validity at the latest. A leader resigns by releasing it. So at most one leader is valid at a
 * time, within the failure model of the backend. {@link LockAdmin#inspect}, {@link
 * LockAdmin#forceRelease} and {@link LockAdmin#revoke} apply to the leader.
 */
@CheckReturnValue
public interface LeaderElection {

  /** {@return the election's name, which is also that of the lock} */
  String name();

  /**
   * Waits until this client is the leader, as {@link DistributedLock#acquire()} does.
   *
   * @return the leadership; releasing it resigns
   * @throws InterruptedException if the thread is interrupted before or while waiting
   * @throws LockTimeoutException if {@link LockOptions#waitTimeout()} is set and passes
   * @throws LockUnavailableException if the store could not be reached for the outage time-out
   * @throws LockConfigurationException if the call can never succeed with the current settings
   * @throws IllegalStateException if the client is or becomes closed
   */
  Lease campaign() throws InterruptedException;

  /**
   * Waits as {@link #campaign()} does, for at most the given time.
   *
   * @param timeout how long to wait; zero asks once
   * @return the leadership, or empty if another client leads
   * @throws InterruptedException if the thread is interrupted before or while waiting
   */
  Optional<Lease> tryCampaign(Duration timeout) throws InterruptedException;

  /**
   * Campaigns without blocking the caller; see {@link Acquirable#acquireAsync()}.
   *
   * @return the future leadership; cancelling it withdraws
   */
  CompletableFuture<Lease> campaignAsync();

  /**
   * Campaigns repeatedly on a thread of the client, and calls the work on that thread with each
   * leadership. When the work returns or throws, the client resigns and campaigns again. If the
   * work threw or took less than a second, the client first pauses for at most 2 s. When the
   * leadership is lost, at the end of its validity at the latest, the thread of the work is
   * interrupted. The next campaign begins only after the work has ended. So each call of the work
   * ends before the next one begins, whatever fails.
   *
   * <p>Neither the store nor the work can end the candidacy. If a campaign fails, or the work
   * throws, even an {@link Error}, the client logs that, shows it by {@link Candidacy#failure()},
   * and campaigns again after growing pauses. It clears an interrupt status that the work leaves.
   * {@link LockOptions#waitTimeout()} does not apply, because another leader is not a failure.
   *
   * <p>{@link LockClient#close(Duration) Closing the client} withdraws the candidacy as {@link
   * Candidacy#close()} does. It waits for the work for a request time-out or the given time,
   * whichever is longer. If the work takes longer than that, its leadership is lost.
   *
   * @param work the work of a leader; it should end soon after {@link Lease#isHeld()} has become
   *     false or its thread was interrupted
   * @return the candidacy, which lasts until it or the client is closed
   * @throws IllegalStateException if the client is closed
   */
  Candidacy start(LeaderWork work);

  /**
   * Returns the leader, according to the store. Blocks for at most the request time-out.
   *
   * @return the leader, or empty if there is none
   * @throws LockUnavailableException if the store did not answer
   * @throws LockConfigurationException if the store refused the request, or the name is in use as
   *     another {@linkplain LockKind kind} of lock
   * @throws IllegalStateException if the client is closed
   */
  Optional<Leader> leader();

  /**
   * Calls the listener with the current leader, and again whenever the client sees another leader
   * or none. Needs no candidacy. The first call never shows a state from before the call of this
   * method. No two consecutive calls show the same {@linkplain Leader label and token}. Leaders
   * that follow each other within an interval may be skipped; the last one is always reported.
   * While the store does not answer, nothing is reported.
   *
   * <p>The client asks the store every {@linkplain LockOptions#pollInterval() poll interval}. If
   * the store notifies waiters without keeping a queue, the client also asks after a leader has
   * resigned. Observers of one name in one client share these requests, and occupy no thread
   * between them.
   *
   * @param listener called on a thread of the client, one call at a time; the client logs its
   *     exceptions. If it blocks, it is next called with the latest leader
   * @return the registration; closing it, or the client, ends the calls
   * @throws IllegalStateException if the client is closed
   */
  Registration observe(Consumer<? super Optional<Leader>> listener);

  /** The work of a leader. */
  @FunctionalInterface
  interface LeaderWork {
    /**
     * Works as the leader.
     *
     * @param leadership the lease; the client releases it when this method returns. It is
     *     {@linkplain Lease#isHeld() held} until it is lost, the work releases it, or the candidacy
     *     is closed
     * @throws Exception if the work fails. The client logs it, unless the loss of the leadership or
     *     the interrupt of {@link Candidacy#close()} caused it
     */
    void lead(Lease leadership) throws Exception;
  }

  /** A leader as the store shows it. */
  interface Leader {
    /**
     * {@return the leader's {@linkplain LockOptions#label() label}; empty if the store keeps none}
     */
    Optional<String> label();

    /**
     * Returns the fencing token of its leadership, as {@link LockState#fencingToken()} shows it. If
     * candidates of one client hand off the leadership to each other, their own tokens are up to 63
     * higher.
     *
     * @return the token, or empty if the backend has none
     */
    OptionalLong fencingToken();
  }

  /** A client's standing candidacy. */
  interface Candidacy extends AutoCloseable {

    /**
     * {@return whether this candidate leads at this moment, by the validity of its lease and the
     * local clock}
     */
    boolean isLeader();

    /**
     * Returns the current failure, for health checks: that of the last request or campaign, or else
     * the last one of the work.
     *
     * @return the failure of the last campaign, or else that of the work, until the work next
     *     returns normally; empty if there is none
     */
    Optional<Throwable> failure();

    /**
     * Withdraws the candidacy. The leadership is no longer {@linkplain Lease#isHeld() held} for the
     * work, whose thread is interrupted once. The client resigns when the work has ended, so no
     * other leader begins before that. Blocks until then, but for at most the TTL and a request
     * time-out. If the work has not ended by then, it loses its leadership: the client no longer
     * renews it, and others can lead when it has expired. This limit also resolves a deadlock of
     * work that calls {@link System#exit} with a shutdown hook that closes the candidacy. If the
     * work itself calls this method, it does not block. The interrupt status is kept. Closing again
     * does nothing.
     */
    @Override
    void close();
  }
}
