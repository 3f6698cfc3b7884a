package dev.interlock.etcd;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.Comparator.comparingLong;

import dev.interlock.LockException;
import dev.interlock.LockState;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.LockPage;
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
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
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
    return held(name, queue, lease(queue.get(0), deadline));
  }

  private static LockState held(
      String name, List<KeyValue> queue, LeaseTimeToLiveResponse ofHolder) {
    KeyValue first = queue.get(0);
    return LockState.held(
        name,
        QueueEntry.label(first),
        first.getCreateRevision(),
        Duration.ofSeconds(Math.max(0, ofHolder.getTTL())),
        queue.stream().skip(1).map(QueueEntry::label).toList());
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
  private static CompletableFuture<List<LockState>> held(
      Client client, Map<String, List<KeyValue>> queues) {
    Map<Long, CompletableFuture<LeaseTimeToLiveResponse>> leases = new HashMap<>();
    List<CompletableFuture<LockState>> held = new ArrayList<>();
    queues.forEach(
        (name, queue) ->
            held.add(
                leases
                    .computeIfAbsent(
                        queue.get(0).getLease(),
                        id -> client.getLeaseClient().timeToLive(id, LeaseOption.DEFAULT))
                    .thenApply(lease -> held(name, queue, lease))));
    return CompletableFuture.allOf(held.toArray(CompletableFuture<?>[]::new))
        .thenApply(done -> held.stream().map(CompletableFuture::join).toList());
  }

  /** Deletes the first key, and not its lease, which others may share. */
  boolean forceRelease(String name, Deadline deadline) throws InterruptedException {
    return whileFirst(name, deadline, first -> QueueOps.delete(first.getKey()));
  }

  /**
   * Moves the first key to a new lease, which is never kept alive and lasts as long as the key's
   * former lease from the time at which the key moves. The holder notices at its next renewal, and
   * the next client is let in only after the holder's validity has ended.
   */
  boolean revoke(String name, Deadline deadline) throws InterruptedException {
    return whileFirst(
        name,
        deadline,
        first -> {
          ByteSequence value = first.getValue();
          if (value.toString(UTF_8).startsWith(QueueEntry.REVOKED)) {
            // Perhaps by a request that arrived after its deadline.
            keepAlive(first, deadline);
            return QueueOps.get(first.getKey());
          }
          // The holder may renew until the key moves, up to a whole deadline after the grant.
          long seconds =
              Math.max(1, lease(first, deadline).getGrantedTTL())
                  + deadline.remaining().plusNanos(999_999_999).toSeconds();
          long lease =
              requests.ask(deadline, client -> client.getLeaseClient().grant(seconds)).getID();
          return QueueOps.put(
              first.getKey(), LockKeys.bytes(QueueEntry.REVOKED).concat(value), lease);
        });
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
    Op on(KeyValue first) throws InterruptedException;
  }

  /** Applies an operation to the first key; if another key is first by then, to that one. */
  private boolean whileFirst(String name, Deadline deadline, Step step)
      throws InterruptedException {
    while (true) {
      List<KeyValue> found = read(name, QueueOps.oldest(1), deadline);
      if (found.isEmpty()) {
        return false;
      }
      KeyValue first = found.get(0);
      Op op = step.on(first);
      boolean done =
          requests
              .ask(
                  deadline,
                  client ->
                      client
                          .getKVClient()
                          .txn()
                          .If(QueueOps.hasModRevision(first.getKey(), first.getModRevision()))
                          .Then(op)
                          .commit())
              .isSucceeded();
      if (done) {
        return true;
      }
      if (deadline.hasPassed()) {
        throw failures.temporary("the holder kept changing", null);
      }
    }
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
