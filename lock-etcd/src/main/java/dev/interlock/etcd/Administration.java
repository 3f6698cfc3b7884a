package dev.interlock.etcd;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.interlock.LockException;
import dev.interlock.LockState;
import dev.interlock.spi.Deadline;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.lease.LeaseTimeToLiveResponse;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.GetOption;
import io.etcd.jetcd.options.LeaseOption;
import java.time.Duration;
import java.util.List;

/** The operators' requests: looking at a lock, and taking it away from its holder. */
final class Administration {

  private static final String REVOKED = "revoked|";

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
    KeyValue first = queue.get(0);
    return LockState.held(
        name,
        label(first),
        first.getCreateRevision(),
        Duration.ofSeconds(Math.max(0, lease(first, deadline).getTTL())),
        queue.stream().skip(1).map(Administration::label).toList());
  }

  private static String label(KeyValue key) {
    String value = key.getValue().toString(UTF_8);
    boolean revoked = value.startsWith(REVOKED);
    String label = value.substring(value.indexOf('|', revoked ? REVOKED.length() : 0) + 1);
    return revoked ? label + " (revoked)" : label;
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
          if (value.toString(UTF_8).startsWith(REVOKED)) {
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
          return QueueOps.put(first.getKey(), LockKeys.bytes(REVOKED).concat(value), lease);
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
      List<KeyValue> found = read(name, QueueOps.first(), deadline);
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
