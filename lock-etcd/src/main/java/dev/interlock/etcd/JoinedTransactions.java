package dev.interlock.etcd;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.spi.DelayedTasks;
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
 * Joins simultaneous transactions of many callers into one. Most of the cost of a transaction, on
 * both sides, does not depend on its size.
 *
 * <p>While only a few callers wait for answers, each transaction is sent alone. Above that number,
 * a transaction waits until those in flight have been answered, and is sent together with all that
 * have arrived meanwhile.
 *
 * <p>No caller depends on another one's transaction:
 *
 * <ul>
 *   <li>A joined transaction is carried out if the conditions of all its parts are met, and
 *       otherwise does nothing. If they are not met, or if etcd refuses the transaction because of
 *       one forbidden key, each part is sent alone. (Nested transactions would not be refused
 *       together, but some releases of etcd check no permissions inside them.)
 *   <li>After any other failure each part is in doubt, as it would be alone.
 *   <li>All keys that one transaction puts get the same creation revision. Revisions order a queue,
 *       so parts with the same subject are never joined.
 *   <li>Parts that enter queues are not joined with parts that leave them, because an etcd that has
 *       reached its quota refuses to put keys, but not to delete them.
 *   <li>If no answer comes for a while, the queued parts stop waiting for it. A caller that leaves
 *       before its part was sent is in doubt, like a caller whose request is slow.
 * </ul>
 */
final class JoinedTransactions {

  /** The maximum number of waiting callers for which each transaction is sent alone. */
  private static final int MAX_CALLERS_ALONE = 4;

  /**
   * Each part has up to two operations; etcd accepts 128 in a transaction by default
   * (--max-txn-ops).
   */
  private static final int MAX_PARTS = 50;

  private static final Duration SILENCE_TIMEOUT = Duration.ofMillis(50);

  private final int maxCallersAlone;
  private final Executor delayed;
  private final AtomicInteger waiting = new AtomicInteger();
  private final Lane entering = new Lane();
  private final Lane leaving = new Lane();

  JoinedTransactions(DelayedTasks delayed) {
    this(MAX_CALLERS_ALONE, task -> delayed.run(task, SILENCE_TIMEOUT));
  }

  /** Creates an object for tests, which have fewer callers, and decide how long a silence lasts. */
  JoinedTransactions(int maxCallersAlone, Executor delayed) {
    this.maxCallersAlone = maxCallersAlone;
    this.delayed = delayed;
  }

  /**
   * A caller's transaction.
   *
   * @param otherwise the operations if a condition is not met; ignored in a joined transaction
   */
  record Transaction(List<Cmp> conditions, List<Op> then, List<Op> otherwise) {}

  /**
   * The answer to a caller's transaction.
   *
   * @param reads the answers to the caller's own reads
   * @param whole the answer to the whole transaction, which has the header
   */
  record Answer(boolean isSucceeded, List<GetResponse> reads, Response whole) {

    static Answer of(TxnResponse alone) {
      return new Answer(alone.isSucceeded(), alone.getGetResponses(), alone);
    }
  }

  /**
   * Puts a key into a queue.
   *
   * @param client the client, which is used until the answer
   * @param queue the queue
   * @param transaction a transaction with one read in {@code then}, whose answer is short, because
   *     clients limit the answer to the joined transaction
   */
  CompletableFuture<Answer> enter(EtcdClient client, LockKeys queue, Transaction transaction) {
    return entering.send(
        new Part(client, queue.toString(), transaction, 1, new CompletableFuture<>()));
  }

  /**
   * Deletes an entry's key.
   *
   * @param client the client, which is used until the answer
   * @param entry the entry
   * @param transaction a transaction without reads in {@code then}
   */
  CompletableFuture<Answer> leave(EtcdClient client, QueueEntry entry, Transaction transaction) {
    return leaving.send(new Part(client, entry, transaction, 0, new CompletableFuture<>()));
  }

  /** Sends a transaction that is never joined. */
  static CompletableFuture<Answer> alone(EtcdClient client, Transaction transaction) {
    return commit(client, () -> transaction).thenApply(Answer::of);
  }

  /**
   * A caller's transaction that may be joined.
   *
   * @param reads the number of its reads in {@code then}
   * @param answer the future for which the caller waits
   */
  private record Part(
      EtcdClient client,
      Object subject,
      Transaction transaction,
      int reads,
      CompletableFuture<Answer> answer) {}

  /** The parts of one transaction that was sent, and the number of silences before that. */
  private record Batch(List<Part> parts, int sentAfter) {}

  /** The transactions that may be joined with each other. */
  private final class Lane {

    /**
     * The waiting parts by their subjects, in the order of their arrival. All have the same client.
     */
    @GuardedBy("this")
    private final Map<Object, Part> queue = new LinkedHashMap<>();

    /** The number of unanswered transactions that were sent since the last silence. */
    @GuardedBy("this")
    private int inFlight;

    /**
     * The number of silences so far. The queue does not wait for transactions that were sent before
     * the last one.
     */
    @GuardedBy("this")
    private int silences;

    /** Whether a transaction has ended since the last check. */
    @GuardedBy("this")
    private boolean transactionEnded;

    @GuardedBy("this")
    private boolean isWatched;

    CompletableFuture<Answer> send(Part part) {
      int number = waiting.incrementAndGet();
      Batch now = null;
      boolean watch = false;
      synchronized (this) {
        if ((number <= maxCallersAlone && queue.isEmpty()) || inFlight == 0 || !queue(part)) {
          now = begin(List.of(part));
        } else if (!isWatched) {
          isWatched = true;
          transactionEnded = false;
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
      inFlight++;
      return batch;
    }

    /**
     * Checks for silence until the queue is empty. If no transaction ends, the queue stops waiting.
     */
    private void watch() {
      try {
        delayed.execute(this::checkForSilence);
      } catch (RuntimeException | Error e) {
        // There may be no thread. The next part in the queue tries again.
        synchronized (this) {
          isWatched = false;
        }
      }
    }

    private void checkForSilence() {
      Batch next = null;
      synchronized (this) {
        if (queue.isEmpty()) {
          isWatched = false;
          return;
        }
        if (!transactionEnded) {
          silences++;
          inFlight = 0;
          next = next();
        }
        transactionEnded = false;
      }
      watch();
      transmit(next);
    }

    /** Removes the next parts from the queue; returns null if none wait. */
    @GuardedBy("this")
    private @Nullable Batch next() {
      if (queue.isEmpty()) {
        return null;
      }
      Batch batch = begin(new ArrayList<>(Math.min(queue.size(), MAX_PARTS)));
      Iterator<Part> next = queue.values().iterator();
      while (next.hasNext() && batch.parts.size() < MAX_PARTS) {
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
                      // First, so that etcd works while the callers wake up.
                      transmit(nextAfter(batch));
                    } finally {
                      answer(batch.parts, whole, failure);
                    }
                  });
    }

    private synchronized @Nullable Batch nextAfter(Batch ended) {
      transactionEnded = true;
      return ended.sentAfter == silences && --inFlight == 0 ? next() : null;
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
      // Memory may be short, but the callers wait for an answer.
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
