package dev.interlock.redlock;

import static dev.interlock.redlock.Cluster.number;
import static java.nio.charset.StandardCharsets.UTF_8;

import dev.interlock.LockException;
import dev.interlock.redlock.Round.Answer;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.TimeSource;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.BooleanSupplier;
import java.util.function.IntPredicate;
import org.jspecify.annotations.Nullable;

/**
 * Calls the {@link Roll}, and remembers whose votes count, and until when: for an eighth of {@code
 * maxTerm}, or ten seconds if that is less, after the call. A node keeps another on its roll for
 * that time, and a whole {@code maxTerm} and its drift, after it was called last. So when its place
 * is taken all leases have ended that counted on its vote.
 *
 * <p>A client that is in use calls again when half of that time has passed, without waiting for the
 * answers; one that was idle, or was stopped, waits for them before it asks for a vote.
 */
final class RollCall {

  private static final Duration LONGEST_VALIDITY = Duration.ofSeconds(10);

  /** For how long other nodes are waited for when a majority has answered. */
  private static final Duration STRAGGLERS = Duration.ofMillis(10);

  private final Cluster cluster;
  private final RedlockSettings settings;
  private final TimeSource time;
  private final long validity;
  private final AtomicReferenceArray<@Nullable String> ids;
  private final AtomicReferenceArray<Until> countsUntil;
  private final AtomicLong calledAt;
  private volatile Called last;

  /** A time by both clocks: the monotonic one may stand still while the machine sleeps. */
  private record Until(long nanos, long wallMillis) {

    Until orLater(Until other) {
      return other.nanos - nanos > 0 ? other : this;
    }
  }

  /**
   * A call under way.
   *
   * @param round what nodes have answered so far
   * @param listed the nodes that are called, with their ids
   */
  record Called(Round round, Map<Integer, String> listed) {

    void await(Deadline deadline, BooleanSupplier enough) throws InterruptedException {
      round.await(deadline, enough);
    }

    /** A node that was not called does not keep its place for long enough to be counted. */
    Roll roll() {
      List<Roll.@Nullable Reply> replies = new ArrayList<>();
      for (int node = 0; node < round.size(); node++) {
        Answer answer = round.answer(node);
        replies.add(
            answer == null || answer.words() == null
                ? null
                : reply(answer.words(), listed.get(node)));
      }
      return new Roll(replies);
    }

    private static Roll.Reply reply(List<?> words, @Nullable String calledAs) {
      List<Roll.Line> lines = new ArrayList<>();
      for (int i = 4; i < words.size(); i += 3) {
        lines.add(
            new Roll.Line(
                Round.text(words.get(i)), (Long) words.get(i + 1), Round.text(words.get(i + 2))));
      }
      String id = Round.text(words.get(1));
      boolean voting = Round.text(words.get(2)).equals("voting") && id.equals(calledAs);
      return new Roll.Reply(id, voting, lines);
    }
  }

  RollCall(Cluster cluster, RedlockSettings settings, TimeSource time) {
    this.cluster = cluster;
    this.settings = settings;
    this.time = time;
    this.validity = Math.min(settings.maxTerm().toNanos() / 8, LONGEST_VALIDITY.toNanos());
    this.ids = new AtomicReferenceArray<>(cluster.size());
    this.countsUntil = new AtomicReferenceArray<>(cluster.size());
    this.calledAt = new AtomicLong(time.nanoTime() - validity);
    this.last = new Called(new Round(cluster, time), Map.of());
    for (int node = 0; node < cluster.size(); node++) {
      countsUntil.set(node, new Until(calledAt.get(), 0));
    }
  }

  /** For how long votes count after a call. */
  long validityMillis() {
    return validity / 1_000_000;
  }

  /** After how long without a call a node's place may be taken. */
  long windowMillis() {
    long maxTerm = settings.maxTerm().toMillis();
    return maxTerm + (long) Math.ceil(maxTerm * settings.drift()) + validityMillis() + 1;
  }

  /** Notes what a node is called; empty if it has no name yet. */
  void named(int node, String id) {
    ids.set(node, id.isEmpty() ? null : id);
  }

  /** Whether the vote of a node counts at present. */
  boolean counts(int node) {
    Until until = countsUntil.get(node);
    return until.nanos() - time.nanoTime() > 0 && until.wallMillis() > time.wallMillis();
  }

  private boolean isMajorityCounted() {
    int count = 0;
    for (int node = 0; node < cluster.size(); node++) {
      count += counts(node) ? 1 : 0;
    }
    return count >= cluster.majority();
  }

  /** Calls if it is time; and waits, if no majority would count without. */
  void beCurrent(Deadline deadline) throws InterruptedException {
    long before = calledAt.get();
    long now = time.nanoTime();
    if (!isMajorityCounted()) {
      Deadline limit = deadline.orIn(settings.nodeTimeout());
      Called called = call(this::counts, limit);
      called.await(limit, this::isMajorityCounted);
      called.await(deadline.orIn(STRAGGLERS), () -> false);
    } else if (now - before >= validity / 2 && calledAt.compareAndSet(before, now)) {
      var unused = call(this::counts, Deadline.in(time, settings.nodeTimeout()));
    }
  }

  /**
   * Asks all nodes; does not wait.
   *
   * @param mayEnter who may take the place of a node that has not been called for long
   */
  Called call(IntPredicate mayEnter, Deadline sendBefore) {
    long at = time.nanoTime();
    Until until = new Until(at + validity, time.wallMillis() + validityMillis());
    calledAt.set(at);
    Map<Integer, String> listed = new HashMap<>();
    List<byte[]> lines = new ArrayList<>();
    for (int node = 0; node < cluster.size(); node++) {
      String id = ids.get(node);
      if (id != null) {
        listed.put(node, id);
        lines.add(id.getBytes(UTF_8));
        lines.add(cluster.name(node).getBytes(UTF_8));
        lines.add(number(mayEnter.test(node) ? 1 : 0));
      }
    }
    Round round = new Round(cluster, time);
    Called called = new Called(round, listed);
    last = called;
    for (int each = 0; each < cluster.size(); each++) {
      cluster.send(
          each,
          round.new Question(each, sendBefore.nanos()) {
            @Override
            public Lane.Call call(String run) {
              List<byte[]> arguments = new ArrayList<>();
              arguments.add(run.getBytes(UTF_8));
              arguments.add(cluster.number());
              arguments.add(number(windowMillis()));
              arguments.addAll(lines);
              return new Lane.Call(NodeScripts.CALL_ROLL, List.of(cluster.record()), arguments);
            }

            @Override
            public void answered(Object reply) {
              super.answered(reply);
              count(called, until);
            }

            @Override
            public void failed(LockException problem, boolean timedOut) {
              // Or we would keep the place of a node that is gone for good.
              ids.set(node, null);
              super.failed(problem, timedOut);
            }
          });
    }
    return called;
  }

  private void count(Called called, Until until) {
    Roll roll = called.roll();
    for (int node = 0; node < cluster.size(); node++) {
      String id = roll.id(node);
      if (!id.isEmpty() && !id.equals(called.listed().get(node))) {
        ids.set(node, id);
        calledAt.set(until.nanos() - 2 * validity); // to be called again, by this id
      }
    }
    for (int node : roll.counted()) {
      countsUntil.accumulateAndGet(node, until, Until::orLater);
    }
  }

  /** Why a node's vote does not count at present; null if it does. */
  @Nullable Vote refusal(int node) {
    if (counts(node)) {
      return null;
    }
    Called called = last;
    Answer answer = called.round().answer(node);
    if (answer == null) {
      return new Vote.TimedOut();
    }
    if (answer.silence() != null) {
      return answer.silence();
    }
    String standing = Round.text(answer.reply().get(2));
    if (!standing.equals("voting")) {
      return cluster.refused(standing, (Long) answer.reply().get(3));
    }
    LockException stranger = cluster.stranger(node, called.roll());
    cluster.lookSome();
    return stranger != null
        ? new Vote.Failed(stranger)
        : new Vote.Refused("a majority of the nodes does not know it");
  }
}
