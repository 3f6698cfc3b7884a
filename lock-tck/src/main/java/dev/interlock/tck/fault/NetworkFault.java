package dev.interlock.tck.fault;

import java.time.Duration;
import java.util.Set;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * One active fault of a {@link FaultProxy}. It counts its strikes, so that a test can distinguish a
 * fault that took effect from one that was only requested. {@link #close()} ends this fault; other
 * faults of the same proxy stay active.
 *
 * <pre>{@code
 * try (NetworkFault silence = proxy.blackHole(SERVER_TO_CLIENT)) {
 *   CompletableFuture<Reply> late = client.send(request);
 *   assertTrue(silence.awaitHit(Duration.ofSeconds(5)), "no reply was swallowed");
 * }
 * }</pre>
 *
 * <p>All methods may be called from any thread.
 */
public final class NetworkFault implements ActiveFault {
  private final FaultProxy proxy;
  private final String description;
  private final Behaviour behaviour;

  /** The affected connections; null for all. */
  private final @Nullable Set<Link> links;

  private final AtomicLong hits = new AtomicLong();
  private final Semaphore strikes = new Semaphore(0);

  NetworkFault(
      FaultProxy proxy, String description, Behaviour behaviour, @Nullable Set<Link> links) {
    this.proxy = proxy;
    this.description = description;
    this.behaviour = behaviour;
    this.links = links;
  }

  /**
   * {@return how many times this fault has struck} A strike is a chunk that it dropped, held back
   * or delayed, or a connection that it closed. Connections that the operating system refuses are
   * not counted.
   */
  public long hits() {
    return hits.get();
  }

  @Override
  public boolean awaitHit(Duration timeout) throws InterruptedException {
    return awaitHits(1, timeout);
  }

  /**
   * Waits until this fault has struck at least {@code count} times.
   *
   * @param count the number of strikes to wait for
   * @param timeout how long to wait at most
   * @return false if the time-out passed first
   * @throws InterruptedException if the thread is interrupted while it waits
   */
  public boolean awaitHits(int count, Duration timeout) throws InterruptedException {
    if (!strikes.tryAcquire(count, timeout.toNanos(), TimeUnit.NANOSECONDS)) {
      return false;
    }
    strikes.release(count);
    return true;
  }

  /**
   * Ends the fault. When this returns, traffic passes again as far as other faults allow. Bytes
   * that were held back or delayed are sent in their order. Connections that lost bytes have been
   * reset, since TCP never produces a stream with a gap. Does nothing if the fault has ended.
   */
  @Override
  public void close() {
    proxy.end(this);
  }

  /** {@return the fault and the number of its strikes} */
  @Override
  public String toString() {
    return description + " (struck " + hits() + "x)";
  }

  Behaviour behaviour() {
    return behaviour;
  }

  boolean affects(Link link) {
    return links == null || links.contains(link);
  }

  void countStrike() {
    hits.incrementAndGet();
    strikes.release();
  }
}
