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

/** What an operator does: looks at a line, and takes the lock away from whoever is first in it. */
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
    List<KeyValue> line = read(name, Line.everybody(), deadline);
    if (line.isEmpty()) {
      return LockState.free(name);
    }
    KeyValue first = line.get(0);
    return LockState.held(
        name,
        label(first),
        first.getCreateRevision(),
        Duration.ofSeconds(Math.max(0, lease(first, deadline).getTTL())),
        line.stream().skip(1).map(Administration::label).toList());
  }

  private static String label(KeyValue key) {
    String value = key.getValue().toString(UTF_8);
    boolean revoked = value.startsWith(REVOKED);
    String label = value.substring(value.indexOf('|', revoked ? REVOKED.length() : 0) + 1);
    return revoked ? label + " (revoked)" : label;
  }

  /** Deletes the first key. Not its lease, on which others may hang. */
  boolean forceRelease(String name, Deadline deadline) throws InterruptedException {
    return whileFirst(name, deadline, first -> Line.delete(first.getKey()));
  }

  /**
   * Moves the first key to a lease that nobody keeps alive, and that lasts as long as the one it
   * hung on from whenever the key may be moved: the holder notices at its next renewal, and nobody
   * else gets in before its last one has run out.
   */
  boolean revoke(String name, Deadline deadline) throws InterruptedException {
    return whileFirst(
        name,
        deadline,
        first -> {
          ByteSequence value = first.getValue();
          if (value.toString(UTF_8).startsWith(REVOKED)) {
            // By a request, perhaps, that arrived after its deadline.
            keepAlive(first, deadline);
            return Line.get(first.getKey());
          }
          // The holder may renew until the key is moved, when some of this lease has passed.
          long seconds =
              Math.max(1, lease(first, deadline).getGrantedTTL())
                  + deadline.remaining().plusNanos(999_999_999).toSeconds();
          long lease =
              requests.ask(deadline, client -> client.getLeaseClient().grant(seconds)).getID();
          return Line.put(first.getKey(), LockKeys.bytes(REVOKED).concat(value), lease);
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
      // And the key with it, or in a moment.
    }
  }

  @FunctionalInterface
  private interface Step {
    Op on(KeyValue first) throws InterruptedException;
  }

  /** Does something to the first in line, unless it has left meanwhile: then to the next first. */
  private boolean whileFirst(String name, Deadline deadline, Step step)
      throws InterruptedException {
    while (true) {
      List<KeyValue> line = read(name, Line.first(), deadline);
      if (line.isEmpty()) {
        return false;
      }
      KeyValue first = line.get(0);
      Op op = step.on(first);
      boolean done =
          requests
              .ask(
                  deadline,
                  client ->
                      client
                          .getKVClient()
                          .txn()
                          .If(Line.isUnwrittenSince(first.getKey(), first.getModRevision()))
                          .Then(op)
                          .commit())
              .isSucceeded();
      if (done) {
        return true;
      }
      if (deadline.hasPassed()) {
        throw failures.passing("the holder changed all the time", null);
      }
    }
  }

  private List<KeyValue> read(String name, GetOption option, Deadline deadline)
      throws InterruptedException {
    ByteSequence line = LockKeys.of(namespace, name).prefix();
    return requests.askAgain(deadline, client -> client.getKVClient().get(line, option)).getKvs();
  }

  private LeaseTimeToLiveResponse lease(KeyValue key, Deadline deadline)
      throws InterruptedException {
    return requests.askAgain(
        deadline,
        client -> client.getLeaseClient().timeToLive(key.getLease(), LeaseOption.DEFAULT));
  }
}
