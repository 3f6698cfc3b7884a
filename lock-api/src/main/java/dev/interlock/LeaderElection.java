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
 * <p>Leadership is a {@link Lease} of the exclusive lock of the election's name: it has a fencing
 * token, a validity that the leader can check without the network, and a signal when it is lost, at
 * the end of its validity at the latest. A leader resigns by releasing it. So at most one leader is
 * valid at a time, within the failure model of the backend, and {@link LockAdmin#inspect}, {@link
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
   * @throws LockConfigurationException if it can never succeed with the current settings
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
   * leadership. When the work returns or throws, the client resigns, and campaigns again; after a
   * pause, at most 2 s, if the work threw or took less than a second. When the leadership is lost,
   * at the end of its validity at the latest, the thread of the work is interrupted; the next
   * campaign begins only after the work has ended. So each call of the work ends before the next
   * one begins, whatever fails.
   *
   * <p>Neither the store nor the work can end the candidacy. A campaign that fails, and work that
   * throws, even an {@link Error}, are logged, shown by {@link Candidacy#failure()}, and followed
   * by another campaign after growing pauses. An interrupt status that the work leaves is cleared.
   * {@link LockOptions#waitTimeout()} does not apply: another leader is no failure.
   *
   * <p>{@link LockClient#close(Duration) Closing the client} withdraws the candidacy as {@link
   * Candidacy#close()} does, and waits for the work for a request time-out or the given time,
   * whichever is longer. If the work takes longer than that, its leadership is lost.
   *
   * @param work what a leader does; it should end soon after {@link Lease#isHeld()} has become
   *     false or its thread was interrupted
   * @return the candidacy, which goes on until it or the client is closed
   * @throws IllegalStateException if the client is closed
   */
  Candidacy start(LeaderWork work);

  /**
   * Asks the store who leads. Blocks for at most the request time-out.
   *
   * @return the leader, or empty if there is none
   * @throws LockUnavailableException if the store did not answer
   * @throws LockConfigurationException if the store refused, or the name is in use as another
   *     {@linkplain LockKind kind} of lock
   * @throws IllegalStateException if the client is closed
   */
  Optional<Leader> leader();

  /**
   * Calls the listener with the present leader, and again whenever another one, or none, is seen.
   * Needs no candidacy. The first call shows no earlier state than that at the call of this method;
   * no two calls in a row show the same {@linkplain Leader label and token}. Leaders that follow
   * each other within an interval may be skipped; the last one is always reported. While the store
   * does not answer, nothing is reported.
   *
   * <p>The client asks the store every {@linkplain LockOptions#pollInterval() poll interval}, and
   * if the store notifies waiters without keeping a queue, also after a leader has resigned.
   * Observers of one name in one client share these requests, and occupy no thread between them.
   *
   * @param listener called on a thread of the client, one call at a time; the client logs what it
   *     throws. If it blocks, it is called with the latest leader after that
   * @return the registration; closing it, or the client, ends the calls
   * @throws IllegalStateException if the client is closed
   */
  Registration observe(Consumer<? super Optional<Leader>> listener);

  /** What a leader does. */
  @FunctionalInterface
  interface LeaderWork {
    /**
     * Works as the leader.
     *
     * @param leadership the lease; released by the client when this returns. It is {@linkplain
     *     Lease#isHeld() held} until it is lost, the work releases it, or the candidacy is closed
     * @throws Exception if the work fails; logged, unless it follows from the loss of the
     *     leadership or is the interrupt of the close
     */
    void lead(Lease leadership) throws Exception;
  }

  /** A leader as the store shows it. */
  interface Leader {
    /** {@return its {@linkplain LockOptions#label() label}, or empty if the store keeps none} */
    Optional<String> label();

    /**
     * Returns the fencing token of its leadership, as {@link LockState#fencingToken()} shows it: if
     * candidates of one client hand off the leadership to each other, their tokens are up to 63
     * higher.
     *
     * @return the token, or empty if the backend has none
     */
    OptionalLong fencingToken();
  }

  /** A client's standing candidacy. */
  interface Candidacy extends AutoCloseable {

    /**
     * {@return whether this candidate leads at this moment, by its lease's validity and the local
     * clock}
     */
    boolean isLeader();

    /**
     * Returns what is wrong, for health checks: why the store cannot be asked at the moment or the
     * last campaign failed, or else what the work threw last.
     *
     * @return the failure of the last campaign, or else that of the work, until it next returns;
     *     empty if there is none
     */
    Optional<Throwable> failure();

    /**
     * Withdraws: the leadership is no longer {@linkplain Lease#isHeld() held} for the work, whose
     * thread is interrupted once. When the work has ended, the client resigns, so that no other
     * leader begins before. Blocks until then, but for at most the TTL and a request time-out. Work
     * that has not ended by then loses its leadership: the client no longer renews it, and others
     * can lead when it has expired. That is also what frees work that calls {@link System#exit}
     * while a shutdown hook closes the candidacy: both would wait for each other. If called by the
     * work itself, it does not wait. The interrupt status is kept. Closing again does nothing more.
     */
    @Override
    void close();
  }
}
