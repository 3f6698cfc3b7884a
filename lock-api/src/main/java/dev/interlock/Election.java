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
 * Election election = client.election("scheduler");
 * try (Lease leadership = election.campaign()) {          // waits until elected
 *   schedule(leadership);
 * }                                                       // resigns
 *
 * Candidacy candidacy = election.run(leadership -> {      // again and again, until closed
 *   while (leadership.isHeld()) {
 *     scheduleNext(leadership.fencingToken());
 *   }
 * });
 * }</pre>
 *
 * <p>Leadership is a {@link Lease} of the exclusive lock of the election's name: it has a fencing
 * token, a validity that the leader can check without the network, and a signal when it is lost, at
 * the end of its validity at the latest. A leader resigns by releasing it. So at most one leader is
 * valid at a time, within the failure model of the backend, and {@link LockClient#inspect}, {@link
 * LockClient#forceRelease} and {@link LockClient#revoke} apply to the leader.
 */
@CheckReturnValue
public interface Election {

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
   * @return the leadership, or empty if another is the leader
   * @throws InterruptedException if the thread is interrupted before or while waiting
   */
  Optional<Lease> campaign(Duration timeout) throws InterruptedException;

  /**
   * Campaigns without blocking the caller; see {@link Acquirable#acquireAsync()}.
   *
   * @return the future leadership; cancelling it withdraws
   */
  CompletableFuture<Lease> campaignAsync();

  /**
   * Campaigns on a thread of the client again and again, and calls the work on that thread with
   * each leadership. When the work returns or throws, the client resigns, and campaigns again after
   * a pause if the work threw. When the leadership is lost, the thread of the work is interrupted;
   * the next campaign begins only after the work has ended. A campaign that fails is repeated with
   * growing pauses, and shown by {@link Candidacy#problem()}.
   *
   * @param work what a leader does; it should end soon after {@link Lease#isHeld()} has become
   *     false or its thread was interrupted
   * @return the candidacy, which goes on until it or the client is closed
   */
  Candidacy run(LeaderWork work);

  /**
   * Asks the store who leads. Blocks for at most the request time-out.
   *
   * @return the leader, or empty if there is none
   * @throws LockUnavailableException if the store did not answer
   * @throws LockConfigurationException if the store refused
   * @throws IllegalStateException if the client is closed
   */
  Optional<Leader> leader();

  /**
   * Calls the listener with the present leader, and again whenever another one, or none, is seen.
   * Needs no candidacy. The store is asked every {@linkplain LockOptions#pollInterval() poll
   * interval}, and where it has notifications, also after a leader resigned. Leaders that follow
   * each other within an interval may be skipped; the last one is always reported. While the store
   * does not answer, nothing is reported.
   *
   * @param listener called on a thread of the client, one call at a time; the client logs what it
   *     throws. If it blocks, it is called with the latest leader after that
   * @return the subscription; closing it ends the calls
   * @throws IllegalStateException if the client is closed
   */
  Subscription observe(Consumer<? super Optional<Leader>> listener);

  /** What a leader does. */
  @FunctionalInterface
  interface LeaderWork {
    /**
     * Works as the leader.
     *
     * @param leadership the lease; released by the client when this returns
     * @throws Exception if the work fails; logged
     */
    void lead(Lease leadership) throws Exception;
  }

  /** A leader as the store shows it. */
  interface Leader {
    /** {@return its {@linkplain LockOptions#holder() label}, or empty if the store keeps none} */
    Optional<String> label();

    /** {@return the fencing token of its leadership, or empty if the backend has none} */
    OptionalLong fencingToken();
  }

  /** A client's standing candidacy. */
  interface Candidacy extends AutoCloseable {

    /** {@return whether this candidate leads at this moment, by its lease's validity} */
    boolean isLeader();

    /** {@return why the last campaign failed, or empty if it has not or a later one succeeded} */
    Optional<Throwable> problem();

    /**
     * Withdraws: interrupts the work if it is in progress, waits until it has ended, and resigns.
     * Blocks until then, and for at most a request time-out more. If called by the work itself, it
     * does not wait. The interrupt status is kept. Closing again does nothing.
     */
    @Override
    void close();
  }
}
