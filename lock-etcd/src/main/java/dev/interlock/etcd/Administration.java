package dev.interlock.etcd;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.Comparator.comparingLong;
import static java.util.Objects.requireNonNull;

import dev.interlock.LockException;
import dev.interlock.LockState;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.LockPage;
import dev.interlock.spi.Share;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.kv.GetResponse;
import io.etcd.jetcd.lease.LeaseTimeToLiveResponse;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.GetOption;
import io.etcd.jetcd.options.LeaseOption;
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
   * Reads so many keys, as many of the last lock's queue from its holder on, and the leases of the
   * holders. The cursor is the key from which to continue, with a character for each byte.
   */
  LockPage list(String prefix, @Nullable String cursor, int limit, Deadline deadline)
      throws InterruptedException {
    ByteSequence all = LockKeys.allOf(namespace, prefix);
    ByteSequence from = cursor == null ? all : ByteSequence.from(cursor, ISO_8859_1);
    GetResponse page =
        requests.askAgain(
            deadline, client -> client.getKVClient().get(from, QueueOps.page(all, limit)));
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
        queues.put(cut, read(cut, QueueOps.oldest(limit), deadline));
        next = OptionsUtil.prefixEndOf(LockKeys.of(namespace, cut).prefix()).toString(ISO_8859_1);
      }
    }
    queues.values().removeIf(List::isEmpty);
    return new LockPage(requests.askAgain(deadline, client -> held(client, queues)), next);
  }

  /** Asks for all leases at the same time: locks with a fixed TTL have one each. */
  private CompletableFuture<List<LockState>> held(
      Client client, Map<String, List<KeyValue>> queues) {
    Map<Long, CompletableFuture<LeaseTimeToLiveResponse>> leases = new HashMap<>();
    Map<String, List<KeyValue>> held = new LinkedHashMap<>();
    queues.forEach((name, queue) -> held.put(name, holders(name, queue)));
    for (List<KeyValue> holders : held.values()) {
      for (KeyValue holder : holders) {
        leases.computeIfAbsent(
            holder.getLease(), id -> client.getLeaseClient().timeToLive(id, LeaseOption.DEFAULT));
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
    return whileTheyHold(name, deadline, holder -> QueueOps.delete(holder.getKey()));
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

    Op of(KeyValue holder) throws InterruptedException {
      ByteSequence value = holder.getValue();
      if (value.toString(UTF_8).startsWith(QueueEntry.REVOKED)) {
        // Perhaps by a request that arrived after its deadline.
        if (keptAlive.add(holder.getLease())) {
          keepAlive(holder, deadline);
        }
        return QueueOps.get(holder.getKey());
      }
      long lease = leaseFor(seconds(holder));
      return QueueOps.put(holder.getKey(), LockKeys.bytes(QueueEntry.REVOKED).concat(value), lease);
    }

    private long seconds(KeyValue holder) throws InterruptedException {
      Long known = secondsOf.get(holder.getLease());
      if (known == null) {
        known = Math.max(1, lease(holder, deadline).getGrantedTTL());
        secondsOf.put(holder.getLease(), known);
      }
      return known;
    }

    /** The holder may renew until its key moves, up to a whole deadline after the grant. */
    private long leaseFor(long seconds) throws InterruptedException {
      Long granted = lasting.get(seconds);
      if (granted == null) {
        long lasts = seconds + deadline.remaining().plusNanos(999_999_999).toSeconds();
        granted = requests.ask(deadline, client -> client.getLeaseClient().grant(lasts)).getID();
        lasting.put(seconds, granted);
      }
      return granted;
    }
  }

  private void keepAlive(KeyValue key, Deadline deadline) throws InterruptedException {
    try {
      var unused =
          requests.askAgain(
              deadline, client -> client.getLeaseClient().keepAliveOnce(key.getLease()));
    } catch (LockException e) {
      if (!Failures.saysLeaseIsGone(e)) {
        throw e;
      }
      // The key has ended with it, or will in a moment.
    }
  }

  @FunctionalInterface
  private interface Step {
    Op on(KeyValue holder) throws InterruptedException;
  }

  /**
   * Applies an operation to all keys that hold the name at one time. To those that have changed
   * meanwhile it is applied again; if none of them is left, to those that hold the name by then.
   */
  private boolean whileTheyHold(String name, Deadline deadline, Step step)
      throws InterruptedException {
    boolean done = false;
    Set<Long> changed = Set.of();
    while (true) {
      boolean begun = done;
      Set<Long> changedAgain = new HashSet<>();
      for (KeyValue holder : holders(name, deadline)) {
        long created = holder.getCreateRevision();
        // Others were let in meanwhile.
        if (!begun || changed.contains(created)) {
          if (isApplied(step.on(holder), holder, deadline)) {
            done = true;
          } else {
            changedAgain.add(created);
          }
        }
      }
      if (changedAgain.isEmpty()) {
        return done;
      }
      if (deadline.hasPassed()) {
        throw failures.temporary("the holder kept changing", null);
      }
      changed = changedAgain;
    }
  }

  private boolean isApplied(Op op, KeyValue holder, Deadline deadline) throws InterruptedException {
    return requests
        .ask(
            deadline,
            client ->
                client
                    .getKVClient()
                    .txn()
                    .If(QueueOps.hasModRevision(holder.getKey(), holder.getModRevision()))
                    .Then(op)
                    .commit())
        .isSucceeded();
  }

  private List<KeyValue> holders(String name, Deadline deadline) throws InterruptedException {
    List<KeyValue> first = read(name, QueueOps.oldest(1), deadline);
    if (first.isEmpty() || LockKeys.of(namespace, name).share(first.get(0).getKey()).isWhole()) {
      return first;
    }
    List<KeyValue> queue = read(name, QueueOps.all(), deadline);
    return queue.isEmpty() ? queue : holders(name, queue);
  }

  private List<KeyValue> read(String name, GetOption option, Deadline deadline)
      throws InterruptedException {
    ByteSequence queue = LockKeys.of(namespace, name).prefix();
    return requests.askAgain(deadline, client -> client.getKVClient().get(queue, option)).getKvs();
  }

  private LeaseTimeToLiveResponse lease(KeyValue key, Deadline deadline)
      throws InterruptedException {
    return requests.askAgain(
        deadline,
        client -> client.getLeaseClient().timeToLive(key.getLease(), LeaseOption.DEFAULT));
  }
}
