package dev.interlock.internal;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.Election.Leader;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One listener of an election. It gets the latest leader, if that differs from the one before:
 * leaders that come and go while it blocks are left out.
 */
@SuppressWarnings("NullableOptional") // null before the first answer, empty if nobody leads
final class LeaderObserver {

  private final Notifier.Sequence calls;
  private final Consumer<? super Optional<Leader>> listener;
  private final long pollNanos;

  /** The watch's last request before this began; only answers to later ones count. */
  private long after;

  @GuardedBy("this")
  private @Nullable Optional<Leader> seen;

  @GuardedBy("this")
  private @Nullable Optional<Leader> told;

  @GuardedBy("this")
  private boolean noted;

  @GuardedBy("this")
  private boolean closed;

  LeaderObserver(Notifier notifier, long pollNanos, Consumer<? super Optional<Leader>> listener) {
    this.calls = notifier.new Sequence();
    this.pollNanos = pollNanos;
    this.listener = listener;
  }

  long pollNanos() {
    return pollNanos;
  }

  /** Called by its watch, under the watch's monitor. */
  void begin(long lastRequest) {
    after = lastRequest;
  }

  /** Takes the answer to a request; the notifier's next flush reports it. */
  synchronized void see(long request, Optional<Leader> leader) {
    if (closed || request <= after) {
      return;
    }
    seen = leader;
    if (!noted && !leader.equals(told)) {
      calls.note(this::tell);
      noted = true;
    }
  }

  private void tell() {
    Optional<Leader> leader;
    synchronized (this) {
      noted = false;
      leader = seen;
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
