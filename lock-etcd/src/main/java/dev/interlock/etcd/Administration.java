package dev.interlock.etcd;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.Comparator.comparingLong;
import static java.util.Objects.requireNonNull;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import dev.interlock.LockState;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.LockPage;
import dev.interlock.spi.LockStates;
import dev.interlock.spi.Share;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.kv.GetResponse;
import io.etcd.jetcd.kv.TxnResponse;
import io.etcd.jetcd.lease.LeaseTimeToLiveResponse;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.GetOption;
import io.etcd.jetcd.options.OptionsUtil;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import java.util.function.BiFunction;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The operators' requests, which show locks and take them from their holders. */
final class Administration {

  private final String namespace;
  private final Requests requests;
  private final Failures failures;

  Administration(String namespace, Requests requests, Failures failures) {
    this.namespace = namespace;
    this.requests = requests;
    this.failures = failures;
  }

  LockState inspect(String name, Deadline deadline) throws InterruptedException {
    Queue queue = read(name, QueueOps.all(), deadline);
    if (queue.entries.isEmpty()) {
      return LockStates.free(name);
    }
    return requests.askAgain(deadline, client -> states(client, List.of(queue))).get(0);
  }

  /** The entries of a lock's queue, the holder's first. */
  private record Queue(String name, LockKeys keys, List<KeyValue> entries) {

    Share first() {
      return share(entries.get(0));
    }

    private Share share(KeyValue entry) {
      return keys.share(entry.getKey());
    }

    /** The entries that hold the lock. */
    List<KeyValue> holders() {
      if (entries.isEmpty()) {
        return entries;
      }
      Share first = first();
      long weight = 0;
      int holders = 0;
      for (KeyValue entry : entries) {
        Share share = share(entry);
        weight += share.weight();
        if (!share.agreesWith(first) || weight > first.capacity()) {
          break;
        }
        holders++;
      }
      return entries.subList(0, holders);
    }

    LockState state(Function<KeyValue, LeaseTimeToLiveResponse> lease) {
      List<KeyValue> holders = holders();
      return LockStates.held(
          name,
          first().kind(),
          first().capacity(),
          holders.stream().map(holder -> holderState(holder, lease.apply(holder))).toList(),
          entries.stream().skip(holders.size()).map(QueueEntry::label).toList());
    }

    private LockState.Holder holderState(KeyValue entry, LeaseTimeToLiveResponse lease) {
      return LockStates.holder(
          share(entry).kind(),
          share(entry).weight(),
          QueueEntry.label(entry),
          entry.getCreateRevision(),
          Duration.ofSeconds(Math.max(0, lease.getTTL())),
          null);
    }
  }

  private Queue queue(String name, List<KeyValue> entries) {
    return new Queue(name, LockKeys.of(namespace, name), entries);
  }

  /**
   * Reads a page of at most {@code limit} keys, and the leases of the holders. If the page ends
   * within a lock's queue, this reads the oldest entries of that queue, or all of them if there may
   * be more holders. The cursor is the key from which to continue, with a character for each byte.
   */
  LockPage list(String prefix, @Nullable String cursor, int limit, Deadline deadline)
      throws InterruptedException {
    ByteSequence all = LockKeys.allOf(namespace, prefix);
    ByteSequence from = cursor == null ? all : ByteSequence.from(cursor, ISO_8859_1);
    GetResponse page =
        requests.askAgain(deadline, client -> client.get(from, QueueOps.page(all, limit)));
    Map<String, List<KeyValue>> found = new HashMap<>();
    for (KeyValue key : page.getKvs()) {
      String name = LockKeys.name(namespace, key.getKey());
      if (name != null) {
        found.computeIfAbsent(name, n -> new ArrayList<>()).add(key);
      }
    }
    found.values().forEach(queue -> queue.sort(comparingLong(KeyValue::getCreateRevision)));
    String next = null;
    if (page.isMore()) {
      ByteSequence last = page.getKvs().get(page.getKvs().size() - 1).getKey();
      String partialName = LockKeys.name(namespace, last);
      if (partialName == null) {
        next = last.toString(ISO_8859_1) + '\0';
      } else {
        // The holder's key may be on the next page, because keys are not in the order of their
        // creation.
        found.put(partialName, oldest(partialName, limit, deadline).entries);
        next =
            OptionsUtil.prefixEndOf(LockKeys.of(namespace, partialName).prefix())
                .toString(ISO_8859_1);
      }
    }
    List<Queue> queues = new ArrayList<>();
    found.forEach((name, entries) -> queues.add(queue(name, entries)));
    queues.removeIf(queue -> queue.entries.isEmpty());
    return new LockPage(requests.askAgain(deadline, client -> states(client, queues)), next);
  }

  /**
   * Reads the oldest entries up to the limit, or all entries if several may hold the lock together.
   * The result contains all holders.
   */
  private Queue oldest(String name, int limit, Deadline deadline) throws InterruptedException {
    Queue oldest = read(name, QueueOps.oldest(limit), deadline);
    return oldest.entries.size() < limit || oldest.first().isWhole()
        ? oldest
        : read(name, QueueOps.all(), deadline);
  }

  private Queue read(String name, GetOption option, Deadline deadline) throws InterruptedException {
    ByteSequence prefix = LockKeys.of(namespace, name).prefix();
    return queue(name, requests.askAgain(deadline, client -> client.get(prefix, option)).getKvs());
  }

  /** Requests all leases at the same time, because locks with a fixed TTL have one each. */
  private static CompletableFuture<List<LockState>> states(EtcdClient client, List<Queue> queues) {
    Map<Long, CompletableFuture<LeaseTimeToLiveResponse>> leases = new HashMap<>();
    for (Queue queue : queues) {
      for (KeyValue holder : queue.holders()) {
        leases.computeIfAbsent(holder.getLease(), client::timeToLive);
      }
    }
    return all(leases.values())
        .thenApply(
            done ->
                queues.stream()
                    .map(
                        queue ->
                            queue.state(
                                holder -> requireNonNull(leases.get(holder.getLease())).join()))
                    .toList());
  }

  /** Deletes the holders' keys but not their leases, which others may share. */
  boolean forceRelease(String name, Deadline deadline) throws InterruptedException {
    return applyToHolders(
        name,
        deadline,
        holders -> holders.stream().map(holder -> QueueOps.delete(holder.getKey())).toList());
  }

  /**
   * Moves each holder's key to a new lease that is never kept alive. From the move on, the new
   * lease lasts as long as the former one, so others get the lock only after the holder's validity
   * has ended. The holder notices the move at its next renewal.
   */
  boolean revoke(String name, Deadline deadline) throws InterruptedException {
    Map<Long, Long> newLeases = new HashMap<>();
    return applyToHolders(name, deadline, holders -> moveOps(holders, newLeases, deadline));
  }

  /**
   * Makes the operations that move the holders' keys to new leases.
   *
   * @param newLeases the leases granted so far, by the TTL of the former leases in seconds
   */
  private List<Op> moveOps(List<KeyValue> holders, Map<Long, Long> newLeases, Deadline deadline)
      throws InterruptedException {
    // A holder may be revoked already, perhaps by a request that arrived after its deadline.
    // Restart the time of its lease, which other keys may share.
    forEach(
        leases(holders, true),
        deadline,
        (client, lease) -> client.keepAliveOnce(lease).handle(Administration::ignoreGone));
    List<Long> leases = leases(holders, false);
    List<LeaseTimeToLiveResponse> currentLeases = forEach(leases, deadline, EtcdClient::timeToLive);
    List<Op> ops = new ArrayList<>();
    for (KeyValue holder : holders) {
      if (isRevoked(holder)) {
        ops.add(QueueOps.get(holder.getKey()));
        continue;
      }
      long seconds =
          Math.max(1, currentLeases.get(leases.indexOf(holder.getLease())).getGrantedTTL());
      Long granted = newLeases.get(seconds);
      if (granted == null) {
        // The holder may renew until its key moves, up to a whole deadline after the grant.
        long ttlSeconds = seconds + deadline.remaining().plusNanos(999_999_999).toSeconds();
        granted = requests.ask(deadline, client -> client.grant(ttlSeconds)).getID();
        newLeases.put(seconds, granted);
      }
      ByteSequence revoked = LockKeys.bytes(QueueEntry.REVOKED).concat(holder.getValue());
      ops.add(QueueOps.put(holder.getKey(), revoked, granted));
    }
    return ops;
  }

  private static boolean isRevoked(KeyValue holder) {
    return holder.getValue().toString(UTF_8).startsWith(QueueEntry.REVOKED);
  }

  private static List<Long> leases(List<KeyValue> holders, boolean revoked) {
    return holders.stream()
        .filter(holder -> isRevoked(holder) == revoked)
        .map(KeyValue::getLease)
        .distinct()
        .toList();
  }

  /** Ignores that a key's lease is gone: the key has ended with it, or soon will. */
  private static Boolean ignoreGone(Object answer, @Nullable Throwable failure) {
    if (failure != null && !Failures.saysLeaseIsGone(failure)) {
      throw new CompletionException(failure);
    }
    return failure == null;
  }

  @FunctionalInterface
  private interface Step {
    /** Returns an operation for each holder. */
    List<Op> operations(List<KeyValue> holders) throws InterruptedException;
  }

  /**
   * Applies an operation to all keys that hold the lock at one moment. Repeats it for the keys that
   * changed meanwhile or, as long as it has been applied to none, for the keys that hold the lock
   * by then.
   */
  private boolean applyToHolders(String name, Deadline deadline, Step step)
      throws InterruptedException {
    boolean done = false;
    Set<Long> changed = new HashSet<>();
    while (true) {
      List<KeyValue> holders = new ArrayList<>(oldest(name, 1, deadline).holders());
      if (done) {
        // The remaining holders were granted the lock later.
        holders.removeIf(holder -> !changed.contains(holder.getCreateRevision()));
      }
      changed.clear();
      List<Boolean> applied = apply(step.operations(holders), holders, deadline);
      for (int i = 0; i < applied.size(); i++) {
        if (applied.get(i)) {
          done = true;
        } else {
          changed.add(holders.get(i).getCreateRevision());
        }
      }
      if (changed.isEmpty()) {
        return done;
      }
      if (deadline.hasPassed()) {
        throw failures.temporary(
            "other clients changed the lock's keys each time before this one could", null);
      }
    }
  }

  /**
   * Applies the operations to those keys that have not changed. Each is a request of its own, so
   * that repeating one does not repeat others, which would find their keys changed.
   */
  private List<Boolean> apply(List<Op> ops, List<KeyValue> holders, Deadline deadline)
      throws InterruptedException {
    List<CompletableFuture<Boolean>> answers = new ArrayList<>();
    for (int i = 0; i < ops.size(); i++) {
      KeyValue holder = holders.get(i);
      Op op = ops.get(i);
      answers.add(requests.send(deadline.remaining(), client -> ifUnchanged(client, holder, op)));
    }
    try {
      return requests.await(all(answers), deadline);
    } catch (TimeoutException | ExecutionException e) {
      throw failures.explain(e);
    }
  }

  private static CompletableFuture<Boolean> ifUnchanged(EtcdClient client, KeyValue key, Op op) {
    return client
        .txn()
        .If(QueueOps.hasModRevision(key.getKey(), key.getModRevision()))
        .Then(op)
        .commit()
        .thenApply(TxnResponse::isSucceeded);
  }

  /**
   * Sends the requests about all leases at the same time: one after the other, those of many
   * holders might exceed the deadline.
   */
  @CanIgnoreReturnValue
  private <T> List<T> forEach(
      List<Long> leases,
      Deadline deadline,
      BiFunction<EtcdClient, Long, CompletableFuture<T>> request)
      throws InterruptedException {
    return leases.isEmpty()
        ? List.of()
        : requests.askAgain(
            deadline,
            client -> all(leases.stream().map(lease -> request.apply(client, lease)).toList()));
  }

  /** Completes when all have completed, even if some of them fail. */
  private static <T> CompletableFuture<List<T>> all(Collection<CompletableFuture<T>> answers) {
    return CompletableFuture.allOf(answers.toArray(CompletableFuture<?>[]::new))
        .thenApply(done -> answers.stream().map(CompletableFuture::join).toList());
  }
}
