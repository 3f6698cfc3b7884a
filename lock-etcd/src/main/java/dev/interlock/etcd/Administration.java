package dev.interlock.etcd;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.Comparator.comparingLong;
import static java.util.Objects.requireNonNull;

import dev.interlock.LockState;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.LockPage;
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
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
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

/** The operators' requests: they show locks, and take them away from their holders. */
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
    List<KeyValue> queue = read(name, QueueOps.all(), deadline);
    if (queue.isEmpty()) {
      return LockState.free(name);
    }
    return requests.askAgain(deadline, client -> held(client, Map.of(name, queue))).get(0);
  }

  /** Those who hold the name, in a queue that begins with the first. */
  private List<KeyValue> holders(String name, List<KeyValue> queue) {
    LockKeys keys = LockKeys.of(namespace, name);
    Share first = keys.share(queue.get(0).getKey());
    long weight = 0;
    int holders = 0;
    for (KeyValue entry : queue) {
      Share share = keys.share(entry.getKey());
      weight += share.weight();
      if (!share.agreesWith(first) || weight > first.capacity()) {
        break;
      }
      holders++;
    }
    return queue.subList(0, holders);
  }

  private LockState.Holder shown(KeyValue entry, Share share, LeaseTimeToLiveResponse lease) {
    return new LockState.Holder(
        QueueEntry.label(entry),
        share.weight(),
        entry.getCreateRevision(),
        Duration.ofSeconds(Math.max(0, lease.getTTL())),
        null);
  }

  /**
   * Reads so many keys, as many of the last lock's queue from its holder on, or all of it if there
   * may be more holders, and the leases of the holders. The cursor is the key from which to
   * continue, with a character for each byte.
   */
  LockPage list(String prefix, @Nullable String cursor, int limit, Deadline deadline)
      throws InterruptedException {
    ByteSequence all = LockKeys.allOf(namespace, prefix);
    ByteSequence from = cursor == null ? all : ByteSequence.from(cursor, ISO_8859_1);
    GetResponse page =
        requests.askAgain(deadline, client -> client.get(from, QueueOps.page(all, limit)));
    Map<String, List<KeyValue>> queues = new HashMap<>();
    for (KeyValue key : page.getKvs()) {
      String name = LockKeys.name(namespace, key.getKey());
      if (name != null) {
        queues.computeIfAbsent(name, n -> new ArrayList<>()).add(key);
      }
    }
    queues.values().forEach(queue -> queue.sort(comparingLong(KeyValue::getCreateRevision)));
    String next = null;
    if (page.isMore()) {
      ByteSequence last = page.getKvs().get(page.getKvs().size() - 1).getKey();
      String cut = LockKeys.name(namespace, last);
      if (cut == null) {
        next = last.toString(ISO_8859_1) + '\0';
      } else {
        // The holder's key may be on the next page: keys are in no order of time.
        queues.put(cut, oldest(cut, limit, deadline));
        next = OptionsUtil.prefixEndOf(LockKeys.of(namespace, cut).prefix()).toString(ISO_8859_1);
      }
    }
    queues.values().removeIf(List::isEmpty);
    return new LockPage(requests.askAgain(deadline, client -> held(client, queues)), next);
  }

  /** So many entries, or all of a name that several may hold together: all holders are shown. */
  private List<KeyValue> oldest(String name, int limit, Deadline deadline)
      throws InterruptedException {
    List<KeyValue> oldest = read(name, QueueOps.oldest(limit), deadline);
    return oldest.size() < limit || firstIsWhole(name, oldest)
        ? oldest
        : read(name, QueueOps.all(), deadline);
  }

  private boolean firstIsWhole(String name, List<KeyValue> queue) {
    return LockKeys.of(namespace, name).share(queue.get(0).getKey()).isWhole();
  }

  /** Asks for all leases at the same time: locks with a fixed TTL have one each. */
  private CompletableFuture<List<LockState>> held(
      EtcdClient client, Map<String, List<KeyValue>> queues) {
    Map<Long, CompletableFuture<LeaseTimeToLiveResponse>> leases = new HashMap<>();
    Map<String, List<KeyValue>> held = new LinkedHashMap<>();
    queues.forEach((name, queue) -> held.put(name, holders(name, queue)));
    for (List<KeyValue> holders : held.values()) {
      for (KeyValue holder : holders) {
        leases.computeIfAbsent(holder.getLease(), id -> client.timeToLive(id));
      }
    }
    return CompletableFuture.allOf(leases.values().toArray(CompletableFuture<?>[]::new))
        .thenApply(
            done ->
                queues.entrySet().stream()
                    .map(
                        queue ->
                            state(
                                queue.getKey(),
                                queue.getValue(),
                                requireNonNull(held.get(queue.getKey())),
                                holder -> requireNonNull(leases.get(holder.getLease())).join()))
                    .toList());
  }

  private LockState state(
      String name,
      List<KeyValue> queue,
      List<KeyValue> holders,
      Function<KeyValue, LeaseTimeToLiveResponse> lease) {
    LockKeys keys = LockKeys.of(namespace, name);
    Share first = keys.share(queue.get(0).getKey());
    return LockState.held(
        name,
        first.kind(),
        first.capacity(),
        holders.stream()
            .map(holder -> shown(holder, keys.share(holder.getKey()), lease.apply(holder)))
            .toList(),
        queue.stream().skip(holders.size()).map(QueueEntry::label).toList());
  }

  /** Deletes the holders' keys, and not their leases, which others may share. */
  boolean forceRelease(String name, Deadline deadline) throws InterruptedException {
    return whileTheyHold(
        name,
        deadline,
        holders -> holders.stream().map(holder -> QueueOps.delete(holder.getKey())).toList());
  }

  /**
   * Moves each holder's key to a new lease, which is never kept alive and lasts as long as the
   * key's former lease from the time at which the key moves. The holder notices at its next
   * renewal, and others are let in only after the holder's validity has ended.
   */
  boolean revoke(String name, Deadline deadline) throws InterruptedException {
    Revocation revocation = new Revocation(deadline);
    return whileTheyHold(name, deadline, revocation::of);
  }

  /** Holders may share leases, and their keys may end on a shared one, too. */
  private final class Revocation {

    private final Deadline deadline;
    private final Set<Long> keptAlive = new HashSet<>();
    private final Map<Long, Long> secondsOf = new HashMap<>();
    private final Map<Long, Long> lasting = new HashMap<>();

    Revocation(Deadline deadline) {
      this.deadline = deadline;
    }

    List<Op> of(List<KeyValue> holders) throws InterruptedException {
      // Perhaps by a request that arrived after its deadline.
      keepAlive(leases(holders, true));
      readSeconds(leases(holders, false));
      List<Op> ops = new ArrayList<>();
      for (KeyValue holder : holders) {
        ops.add(
            isRevoked(holder)
                ? QueueOps.get(holder.getKey())
                : QueueOps.put(
                    holder.getKey(),
                    LockKeys.bytes(QueueEntry.REVOKED).concat(holder.getValue()),
                    leaseFor(requireNonNull(secondsOf.get(holder.getLease())))));
      }
      return ops;
    }

    private boolean isRevoked(KeyValue holder) {
      return holder.getValue().toString(UTF_8).startsWith(QueueEntry.REVOKED);
    }

    private List<Long> leases(List<KeyValue> holders, boolean revoked) {
      return holders.stream()
          .filter(holder -> isRevoked(holder) == revoked)
          .map(KeyValue::getLease)
          .distinct()
          .toList();
    }

    private void keepAlive(List<Long> leases) throws InterruptedException {
      List<Long> asked = leases.stream().filter(keptAlive::add).toList();
      var unused =
          forEach(
              asked,
              deadline,
              (client, lease) -> client.keepAliveOnce(lease).handle(Administration::orIsGone));
    }

    private void readSeconds(List<Long> leases) throws InterruptedException {
      List<Long> asked = leases.stream().filter(lease -> !secondsOf.containsKey(lease)).toList();
      List<LeaseTimeToLiveResponse> answers =
          forEach(asked, deadline, (client, lease) -> client.timeToLive(lease));
      for (int i = 0; i < asked.size(); i++) {
        secondsOf.put(asked.get(i), Math.max(1, answers.get(i).getGrantedTTL()));
      }
    }

    /** The holder may renew until its key moves, up to a whole deadline after the grant. */
    private long leaseFor(long seconds) throws InterruptedException {
      Long granted = lasting.get(seconds);
      if (granted == null) {
        long lasts = seconds + deadline.remaining().plusNanos(999_999_999).toSeconds();
        granted = requests.ask(deadline, client -> client.grant(lasts)).getID();
        lasting.put(seconds, granted);
      }
      return granted;
    }
  }

  /** If a key's lease is gone, the key has ended with it, or will in a moment. */
  private static Boolean orIsGone(Object answer, @Nullable Throwable failure) {
    if (failure != null && !Failures.saysLeaseIsGone(failure)) {
      throw new CompletionException(failure);
    }
    return failure == null;
  }

  @FunctionalInterface
  private interface Step {
    /** Makes an operation for each holder. */
    List<Op> on(List<KeyValue> holders) throws InterruptedException;
  }

  /**
   * Applies an operation to all keys that hold the name at one time. To those that have changed
   * meanwhile it is applied again; if none of them is left, to those that hold the name by then.
   */
  private boolean whileTheyHold(String name, Deadline deadline, Step step)
      throws InterruptedException {
    boolean done = false;
    Set<Long> changed = new HashSet<>();
    while (true) {
      List<KeyValue> holders = new ArrayList<>(holders(name, deadline));
      if (done) {
        // Others were let in meanwhile.
        holders.removeIf(holder -> !changed.contains(holder.getCreateRevision()));
      }
      changed.clear();
      List<Boolean> applied = apply(step.on(holders), holders, deadline);
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
        throw failures.temporary("the holder kept changing", null);
      }
    }
  }

  /**
   * Applies the operations to those of the keys that have not changed. Each is a request of its
   * own: one that is sent again must not repeat others, which would find their keys changed.
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
   * Asks about all leases at the same time: one after the other, those of many holders would take
   * longer than there is time.
   */
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

  /** Ends when all have ended, also if some of them fail. */
  private static <T> CompletableFuture<List<T>> all(List<CompletableFuture<T>> answers) {
    return CompletableFuture.allOf(answers.toArray(CompletableFuture<?>[]::new))
        .thenApply(done -> answers.stream().map(CompletableFuture::join).toList());
  }

  private List<KeyValue> holders(String name, Deadline deadline) throws InterruptedException {
    List<KeyValue> first = read(name, QueueOps.oldest(1), deadline);
    if (first.isEmpty() || firstIsWhole(name, first)) {
      return first;
    }
    List<KeyValue> queue = read(name, QueueOps.all(), deadline);
    return queue.isEmpty() ? queue : holders(name, queue);
  }

  private List<KeyValue> read(String name, GetOption option, Deadline deadline)
      throws InterruptedException {
    ByteSequence queue = LockKeys.of(namespace, name).prefix();
    return requests.askAgain(deadline, client -> client.get(queue, option)).getKvs();
  }
}
