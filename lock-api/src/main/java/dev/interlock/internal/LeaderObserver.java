package dev.interlock.internal;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.LeaderElection.Leader;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A listener of an election. It gets the latest leader if that differs from the leader that it got
 * last: leaders that come and go while the listener blocks are left out.
 */
@SuppressWarnings("NullableOptional") // null before the first answer, empty if nobody leads
final class LeaderObserver {

  final long pollNanos;
  private final Notifier.Sequence calls;
  private final Consumer<? super Optional<Leader>> listener;

  /** The leader that the queued call will report; null if no call is queued. */
  @GuardedBy("this")
  private @Nullable Optional<Leader> next;

  @GuardedBy("this")
  private @Nullable Optional<Leader> reported;

  @GuardedBy("this")
  private boolean closed;

  LeaderObserver(Notifier notifier, long pollNanos, Consumer<? super Optional<Leader>> listener) {
    this.pollNanos = pollNanos;
    this.calls = notifier.new Sequence();
    this.listener = listener;
  }

  /** Queues a call if the leader has changed; the notifier's next flush starts it. */
  synchronized void onAnswer(Optional<Leader> leader) {
    if (next == null) {
      if (closed || leader.equals(reported)) {
        return;
      }
      calls.enqueue(this::callListener);
    }
    next = leader;
  }

  private void callListener() {
    Optional<Leader> leader;
    synchronized (this) {
      leader = next;
      next = null;
      if (closed || leader == null || leader.equals(reported)) {
        return;
      }
      reported = leader;
    }
    listener.accept(leader);
  }

  /** Ends the calls: none begins from here on. */
  synchronized void close() {
    closed = true;
  }
}
