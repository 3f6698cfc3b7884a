package dev.interlock.etcd;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.spi.Later;
import io.etcd.jetcd.Response;
import io.etcd.jetcd.kv.GetResponse;
import io.etcd.jetcd.kv.TxnResponse;
import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.op.Op;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Sends simultaneous transactions of many callers as one. Most of what a transaction costs, on both
 * sides, does not depend on how much it does.
 *
 * <p>While only a few callers wait for answers, each transaction goes alone. Above that number, a
 * transaction waits until what is under way has been answered, and goes together with all others
 * that have come meanwhile.
 *
 * <p>No caller depends on another one's transaction:
 *
 * <ul>
 *   <li>A joined transaction is carried out if the conditions of all its parts are met, and
 *       otherwise does nothing. If they are not, or if etcd refuses it, as it does when one key is
 *       not permitted, each part goes alone. (Nested transactions would not be refused together;
 *       but releases of etcd exist that check no permissions inside them.)
 *   <li>After any other failure each part is in doubt, as it would be alone.
 *   <li>All keys that one transaction puts get the same creation revision. Revisions are the order
 *       of a queue, so parts about the same subject are never joined.
 *   <li>Parts that enter queues are not joined with parts that leave them, because an etcd that has
 *       reached its quota refuses to put keys, but not to delete them.
 *   <li>If no answer comes for a while, nobody waits for it any longer. A caller that leaves before
 *       its part was sent is in doubt like one whose request is slow on its way.
 * </ul>
 */
final class JoinedTransactions {

  /** How many callers may wait for answers while each transaction goes alone. */
  private static final int FEW = 4;

  /** Of up to two operations each; etcd accepts 128 by default (--max-txn-ops). */
  private static final int MOST_AT_ONCE = 50;

  private static final Duration SILENCE = Duration.ofMillis(50);

  private final int few;
  private final Executor later;
  private final AtomicInteger waiting = new AtomicInteger();
  private final Lane entering = new Lane();
  private final Lane leaving = new Lane();

  JoinedTransactions(Later later) {
    this(FEW, task -> later.run(task, SILENCE));
  }

  /** For tests, which have fewer callers, and say when a while has passed. */
  JoinedTransactions(int few, Executor later) {
    this.few = few;
    this.later = later;
  }

  /**
   * What a caller asks for.
   *
   * @param otherwise what to do if a condition is not met; not done as part of a joined transaction
   */
  record Transaction(List<Cmp> conditions, List<Op> then, List<Op> otherwise) {}

  /**
   * What became of it.
   *
   * @param reads the answers to its own reads
   * @param whole the answer that these are part of, which has the header
   */
  record Answer(boolean isSucceeded, List<GetResponse> reads, Response whole) {

    static Answer of(TxnResponse alone) {
      return new Answer(alone.isSucceeded(), alone.getGetResponses(), alone);
    }
  }

  /**
   * Puts a key into a queue.
   *
   * @param client used until the answer
   * @param queue the queue
   * @param transaction has one read in {@code then}, with a short answer, as that of the joined
   *     transaction is no longer than a client accepts
   */
  CompletableFuture<Answer> enter(EtcdClient client, LockKeys queue, Transaction transaction) {
    return entering.send(
        new Part(client, queue.toString(), transaction, 1, new CompletableFuture<>()));
  }

  /**
   * Deletes an entry's key.
   *
   * @param client used until the answer
   * @param entry the entry
   * @param transaction has no reads in {@code then}
   */
  CompletableFuture<Answer> leave(EtcdClient client, QueueEntry entry, Transaction transaction) {
    return leaving.send(new Part(client, entry, transaction, 0, new CompletableFuture<>()));
  }

  /** Sends a transaction that is never joined. */
  static CompletableFuture<Answer> alone(EtcdClient client, Transaction transaction) {
    return commit(client, () -> transaction).thenApply(Answer::of);
  }

  /**
   * A caller's transaction.
   *
   * @param reads how many reads it has in {@code then}
   * @param answer what the caller waits for
   */
  private record Part(
      EtcdClient client,
      Object subject,
      Transaction transaction,
      int reads,
      CompletableFuture<Answer> answer) {}

  /** What was sent as one transaction, and after how many silences. */
  private record Batch(List<Part> parts, int sentAfter) {}

  /** The transactions that may be joined with each other. */
  private final class Lane {

    /** By their subjects, in the order in which they came. All have the same client. */
    @GuardedBy("this")
    private final Map<Object, Part> queue = new LinkedHashMap<>();

    /** How many are not answered of those that were sent since the last silence. */
    @GuardedBy("this")
    private int underWay;

    /** How often a while has passed without an answer; nobody waits for what was sent before. */
    @GuardedBy("this")
    private int silences;

    /** Whether a transaction has ended since the last look. */
    @GuardedBy("this")
    private boolean heard;

    @GuardedBy("this")
    private boolean watched;

    CompletableFuture<Answer> send(Part part) {
      int number = waiting.incrementAndGet();
      Batch now = null;
      boolean watch = false;
      synchronized (this) {
        if ((number <= few && queue.isEmpty()) || underWay == 0 || !queue(part)) {
          now = begin(List.of(part));
        } else if (!watched) {
          watched = true;
          heard = false;
          watch = true;
        }
      }
      if (watch) {
        watch();
      }
      transmit(now);
      return part.answer;
    }

    /** Returns false if the part cannot be joined with those in the queue. */
    @GuardedBy("this")
    private boolean queue(Part part) {
      return (queue.isEmpty() || queue.values().iterator().next().client == part.client)
          && queue.putIfAbsent(part.subject, part) == null;
    }

    @GuardedBy("this")
    private Batch begin(List<Part> parts) {
      Batch batch = new Batch(parts, silences);
      underWay++;
      return batch;
    }

    /** Looks after the queue until it is empty: if no transaction ends, the queue does not wait. */
    private void watch() {
      try {
        later.execute(this::look);
      } catch (RuntimeException | Error e) {
        // As without a thread. The next in the queue tries again.
        synchronized (this) {
          watched = false;
        }
      }
    }

    private void look() {
      Batch next = null;
      synchronized (this) {
        if (queue.isEmpty()) {
          watched = false;
          return;
        }
        if (!heard) {
          silences++;
          underWay = 0;
          next = next();
        }
        heard = false;
      }
      watch();
      transmit(next);
    }

    /** The next parts, which go now; null if none wait. */
    @GuardedBy("this")
    private @Nullable Batch next() {
      if (queue.isEmpty()) {
        return null;
      }
      Batch batch = begin(new ArrayList<>(Math.min(queue.size(), MOST_AT_ONCE)));
      Iterator<Part> next = queue.values().iterator();
      while (next.hasNext() && batch.parts.size() < MOST_AT_ONCE) {
        batch.parts.add(next.next());
        next.remove();
      }
      return batch;
    }

    private void transmit(@Nullable Batch batch) {
      if (batch == null) {
        return;
      }
      var unused =
          commit(batch.parts)
              .whenComplete(
                  (whole, failure) -> {
                    try {
                      // First, so that etcd has work while the callers wake up.
                      transmit(nextAfter(batch));
                    } finally {
                      answer(batch.parts, whole, failure);
                    }
                  });
    }

    private synchronized @Nullable Batch nextAfter(Batch ended) {
      heard = true;
      return ended.sentAfter == silences && --underWay == 0 ? next() : null;
    }
  }

  private static CompletableFuture<TxnResponse> commit(List<Part> parts) {
    return commit(parts.get(0).client, () -> joined(parts));
  }

  private static Transaction joined(List<Part> parts) {
    if (parts.size() == 1) {
      return parts.get(0).transaction;
    }
    List<Cmp> conditions = new ArrayList<>();
    List<Op> then = new ArrayList<>();
    for (Part part : parts) {
      conditions.addAll(part.transaction.conditions);
      then.addAll(part.transaction.then);
    }
    return new Transaction(conditions, then, List.of());
  }

  private static CompletableFuture<TxnResponse> commit(
      EtcdClient client, Supplier<Transaction> supplier) {
    try {
      Transaction transaction = supplier.get();
      return client
          .txn()
          .If(transaction.conditions.toArray(Cmp[]::new))
          .Then(transaction.then.toArray(Op[]::new))
          .Else(transaction.otherwise.toArray(Op[]::new))
          .commit();
    } catch (RuntimeException | Error e) {
      // As without memory. The callers wait for an answer.
      return CompletableFuture.failedFuture(e);
    }
  }

  private void answer(List<Part> parts, @Nullable TxnResponse whole, @Nullable Throwable failure) {
    boolean nothingWasDone =
        failure == null
            ? whole != null && !whole.isSucceeded()
            : Failures.saysNothingWasDone(failure);
    if (parts.size() > 1 && nothingWasDone) {
      parts.forEach(this::sendAlone);
      return;
    }
    waiting.addAndGet(-parts.size());
    if (failure != null || whole == null) {
      parts.forEach(part -> part.answer.completeExceptionally(failure));
    } else if (parts.size() == 1) {
      parts.get(0).answer.complete(Answer.of(whole));
    } else {
      List<GetResponse> reads = whole.getGetResponses();
      int from = 0;
      for (Part part : parts) {
        int to = from + part.reads;
        part.answer.complete(new Answer(true, reads.subList(from, to), whole));
        from = to;
      }
    }
  }

  private void sendAlone(Part part) {
    List<Part> alone = List.of(part);
    var unused = commit(alone).whenComplete((whole, failure) -> answer(alone, whole, failure));
  }
}
