package dev.interlock.internal;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.LeaderElection.Leader;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One listener of an election. It gets the latest leader, if that differs from the one before:
 * leaders that come and go while it blocks are left out.
 */
@SuppressWarnings("NullableOptional") // null before the first answer, empty if nobody leads
final class LeaderObserver {

  final long pollNanos;
  private final Notifier.Sequence calls;
  private final Consumer<? super Optional<Leader>> listener;

  /** What the queued call is to tell; null if no call is queued. */
  @GuardedBy("this")
  private @Nullable Optional<Leader> next;

  @GuardedBy("this")
  private @Nullable Optional<Leader> told;

  @GuardedBy("this")
  private boolean closed;

  LeaderObserver(Notifier notifier, long pollNanos, Consumer<? super Optional<Leader>> listener) {
    this.pollNanos = pollNanos;
    this.calls = notifier.new Sequence();
    this.listener = listener;
  }

  /** Takes an answer of the store; the notifier's next flush reports it. */
  synchronized void see(Optional<Leader> leader) {
    if (next == null) {
      if (closed || leader.equals(told)) {
        return;
      }
      calls.note(this::tell);
    }
    next = leader;
  }

  private void tell() {
    Optional<Leader> leader;
    synchronized (this) {
      leader = next;
      next = null;
      if (closed || leader == null || leader.equals(told)) {
        return;
      }
      told = leader;
    }
    listener.accept(leader);
  }

  /** From here on no call begins. */
  synchronized void close() {
    closed = true;
  }
}
