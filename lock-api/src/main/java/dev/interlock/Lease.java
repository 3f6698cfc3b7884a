package dev.interlock;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A successful acquisition of a lock: proof of holding it for as long as {@link #isHeld()} is true.
 *
 * <p>While a lease of an exclusive lock is held, no process holds another lease of the same name,
 * within the backend's {@linkplain FailureModel failure model}. But no lock can protect a process
 * that is stopped between a check and the write that the check guards. The {@link #fencingToken()}
 * closes that gap, if the storage keeps the highest token that it has seen and refuses lower ones.
 * Claim the token there before you read what the write depends on:
 *
 * <pre>{@code
 * try (Lease lease = lock.acquire()) {
 *   long token = lease.fencingToken();
 *   store.claim(id, token); // UPDATE ... SET fence = :token WHERE id = :id AND fence <= :token
 *   Order order = store.read(id);
 *   store.write(order.shipped(), token); // UPDATE ... WHERE id = :id AND fence = :token
 * }
 * }</pre>
 *
 * <p>If an update changes no row, a later holder has claimed its token, and this one has to stop.
 * If only writes carried the token, the storage would accept a late write after the successor has
 * read and before it has written, and one of the two writes would be lost. The modules for
 * databases, Redis and etcd have fences that make the claim and the checked write for you, and
 * throw {@link StaleTokenException}.
 *
 * <p>The lease belongs to this object, not to a thread: any thread may use, renew and release it. A
 * lease ends once: it is released by {@link #release()} or {@link #close()}, or it is lost. By
 * default the client renews it in the background; {@link LockOptions} can change that. If a lease
 * becomes unreachable without having been released, the client stops renewing it, and logs a
 * warning with its name and, if recorded, the call site that acquired it.
 *
 * <p>Only {@link #renew()}, {@link #release()} and {@link #close()} block. Only these, {@link
 * #renewAsync()} and {@link #releaseAsync()} contact the store. Actions of a thread before it
 * releases a lease <i>happen-before</i> actions that follow the next acquisition of the same lock
 * in the same JVM.
 */
public interface Lease extends AutoCloseable {

  /** {@return the lock's name} */
  String name();

  /**
   * Returns the fencing token, which is higher than that of every earlier lease of this name. It is
   * positive and has at most 63 bits; compare tokens as 64-bit integers. It never changes, even
   * after the lease has ended.
   *
   * @return the token
   * @throws UnsupportedOperationException if the backend lacks {@link Capability#FENCING}
   */
  long fencingToken();

  /**
   * Returns whether this lease certainly holds the lock at this moment, by the local clock alone.
   * Once the validity has passed the result is false, whether or not the store is reachable.
   *
   * @return whether it is held
   */
  boolean isHeld();

  /**
   * Returns how much longer the lease is certainly held if no further renewal is confirmed. The
   * validity is counted from before the client sent the request that acquired or renewed the lock.
   *
   * @return the remaining validity; zero if the lease has ended
   */
  Duration remainingValidity();

  /**
   * {@return how long the store keeps the lock after the last renewal: the {@linkplain
   * LockOptions#ttl() TTL} of the options, or more if the store cannot keep exactly that} On
   * ZooKeeper a lock also ends with the client's session, whose time-out the servers may limit;
   * {@link #remainingValidity} takes that into account.
   */
  Duration effectiveTtl();

  /**
   * Throws an exception unless {@link #isHeld()}.
   *
   * @throws LeaseLostException if the lease was lost
   * @throws IllegalStateException if it was released, or is being released
   */
  void ensureHeld();

  /**
   * Extends the lease to a whole TTL from now, and waits until the store has confirmed that. Not
   * needed if the lease is renewed automatically. Blocks for at most the request time-out.
   *
   * @throws LeaseLostException if the lease was lost; it cannot be brought back, even if the lock
   *     is free
   * @throws IllegalStateException if it was released, or is being released
   * @throws LockUnavailableException if the store did not confirm; the lease keeps its previous
   *     validity
   * @throws InterruptedException if the thread was interrupted; the renewal may or may not have
   *     taken place
   */
  void renew() throws InterruptedException;

  /**
   * Renews as {@link #renew()} does, without blocking the caller. Cancelling the future, or
   * completing it in any other way, does not stop the renewal.
   *
   * @return a future that completes when the store has confirmed the renewal, or exceptionally as
   *     {@link #renew()} throws; dependent actions run on a thread of the client, and may block
   */
  CompletableFuture<@Nullable Void> renewAsync();

  /**
   * Releases the lock, and waits for the store's confirmation for at most the request time-out. If
   * the client hands the lock off to one of its own waiters, it sends no request; see {@link
   * ReleaseOutcome#HANDED_OFF}. The release waits for a renewal in flight, and no renewal follows
   * it. Further calls do nothing, and return the same outcome. An interrupt does not stop the
   * release; the thread's interrupt status is kept.
   *
   * @return the outcome, as far as it is known
   */
  @CanIgnoreReturnValue
  ReleaseOutcome release();

  /**
   * Releases as {@link #release()} does, without blocking the caller. When this method returns, the
   * lease is no longer held. Cancelling the future, or completing it in any other way, does not
   * stop the release.
   *
   * @return a future that completes with the outcome, never exceptionally; dependent actions run on
   *     a thread of the client, and may block
   */
  CompletableFuture<ReleaseOutcome> releaseAsync();

  /** Releases as {@link #release()} does. Never throws for a lost lease or an unreachable store. */
  @Override
  void close();

  /**
   * Returns a future that completes if the lease is lost. It completes as soon as the store reports
   * the loss, and at the end of the validity at the latest. On a machine that has slept, it
   * completes within a second after the machine resumes. If the lease is released, it never
   * completes. Dependent actions run on a thread of the client, and may block without delaying each
   * other.
   *
   * <p>All calls return the same future. Only the lease completes it: {@code cancel} and {@code
   * complete} do nothing. {@code orTimeout} and {@code completeOnTimeout} affect the future that
   * they return.
   *
   * @return the lease's future
   */
  CompletableFuture<LeaseLostException> onLoss();

  /**
   * Runs work on the calling thread, and interrupts the thread if the lease is lost before the work
   * has ended.
   *
   * <pre>{@code
   * try (Lease lease = lock.acquire()) {
   *   Report report = lease.callWhileHeld(() -> nightlyReport());
   * }
   * }</pre>
   *
   * <p>If this method returns normally, the lease was held until the work returned, unless the
   * program released it before. If the lease is lost, this method throws {@link LeaseLostException}
   * when the work has ended; an exception of the work is added as a suppressed one. The interrupt
   * is only a signal: work that ignores it goes on, and only a {@linkplain #fencingToken() fencing
   * token} keeps its writes out.
   *
   * <p>If the work throws an {@link Error}, this method throws that, even after a loss. Calls may
   * be nested. If both leases are lost, one interrupt may signal both losses: the inner call throws
   * its loss, and the outer call throws when its own work has ended.
   *
   * <p>The thread is interrupted at most once, and never after the work has ended: this method
   * clears the interrupt status that the loss has set. It cannot distinguish an interrupt from
   * elsewhere between the loss and the end of the work, and clears that, too. Otherwise the
   * thread's interrupt status stays as the work leaves it. Several threads may run work under one
   * lease; a loss interrupts them all.
   *
   * @param <T> the type of the work's result
   * @param work the work; it may release the lease
   * @return the result of the work
   * @throws LeaseLostException if the lease was lost, before the work began or until it had ended
   * @throws IllegalStateException if the lease was released, or is being released, before the work
   *     began
   * @throws Exception if the work threw it and the lease was not lost
   */
  <T> T callWhileHeld(Callable<T> work) throws Exception;

  /**
   * Calls the listener for every event of this lease from now on. If the lease has been lost or is
   * at risk, the listener gets the {@link LockEvent.Lost} or an {@link LockEvent.AtRisk} at once.
   * The calls come one at a time, in order, on a thread of the client. The client logs the
   * exceptions of a listener. A listener that blocks delays only its own further events.
   *
   * @param listener the listener
   * @return the registration; closing it removes the listener, and is optional
   */
  @CanIgnoreReturnValue
  Registration onEvent(Consumer<? super LockEvent> listener);
}
