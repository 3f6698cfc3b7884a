package dev.interlock.etcd;

import static java.util.concurrent.TimeUnit.SECONDS;

import dev.interlock.spi.Attempt;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.WakeUp;
import dev.interlock.tck.specimen.ForwardingQueue;
import dev.interlock.tck.specimen.Specimen;
import dev.interlock.tck.specimen.SpecimenSuite;
import dev.interlock.tck.specimen.SpecimenTable;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.Watch.Watcher;
import io.etcd.jetcd.options.GetOption;
import io.etcd.jetcd.options.WatchOption;
import io.etcd.jetcd.watch.WatchEvent;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;

/** Faults that locks on etcd have had. The kit must refuse each for the right reason. */
@Tag("extended")
class EtcdSpecimensTest extends SpecimenSuite {

  @Override
  protected Optional<SpecimenTable> table() {
    return Optional.of(new SpecimenTable(Path.of("../docs/specimens.md"), "lock-etcd"));
  }

  @Override
  protected List<Specimen> specimens() {
    return List.of(
        Specimen.fromLiterature("etcd lock that trusts its watch", "etcd-io/jetcd, WatchImpl")
            .fault("A waiter relies on its watch, and never polls the queue.")
            .harness(() -> new AlteredEtcd(TrustsItsWatch::new))
            .onlyRules("the others do not wait for another client", "WAIT-*")
            .refusedBy("WAIT-06", "fell silent did not get the lock")
            .build(),
        Specimen.fromLiterature("etcd place without its lease", "Jepsen, etcd 3.4.3")
            .fault("A waiter sees that no key is before its own, but not that its own key is gone.")
            .harness(() -> new AlteredEtcd(TrustsItsPlace::new))
            .onlyRules("the others do not end the session of a waiter", "FAIR-*")
            .refusedBy("FAIR-02", "acquired the lock without a queue entry")
            .build(),
        Specimen.fromLiterature("etcd lease id as a token", "a question asked again and again")
            .fault("The token is the id of the lease, which all locks of a client share.")
            .harness(() -> new AlteredEtcd(LeaseAsToken::new))
            .onlyRules("the others do not look at tokens", "FENCE-*", "EXCL-01", "MULTI-03")
            .refusedBy("EXCL-01", "the same token")
            .refusedBy("FENCE-01", "the same token")
            .refusedBy("FENCE-02", "for a client from before the restart")
            .refusedBy("MULTI-03", "the token did not rise")
            .build(),
        Specimen.fromLiterature("etcd waiter that has left wins later", "jetcd's Lock client")
            .fault("A waiter that gives up stops waiting, but stays in the queue on etcd.")
            .harness(() -> new AlteredEtcd(NeverLeaves::new))
            .onlyRules(
                "What the others meet depends on how many attempts fail.",
                "WAIT-07",
                "WAIT-08",
                "REL-03",
                "FAIR-02")
            .refusedBy("WAIT-07", "an interrupted waiter became the holder")
            .refusedBy("WAIT-08", "became the holder")
            .refusedBy("REL-03", "abandoned attempts left something on the store")
            .refusedBy("FAIR-02", "a waiter that left is still in the queue")
            .build());
  }

  @Override
  protected int atOnce() {
    return 3;
  }

  /** Waits in another way, with a connection of its own. */
  private abstract static class WaitsOtherwise extends ForwardingQueue {
    final EtcdBackend etcd;
    final Client client;

    WaitsOtherwise(EtcdBackend right) {
      super(right);
      this.etcd = right;
      this.client = Client.builder().endpoints("http://" + right.endpoint()).build();
    }

    /** Waits once. Returns null to wait again. */
    abstract @Nullable Attempt await(QueueEntry entry, Deadline until) throws InterruptedException;

    @Override
    public Place join(Claim claim, Deadline deadline) throws InterruptedException {
      Place right = super.join(claim, deadline);
      QueueEntry entry = QueueEntry.of(claim);
      return new Place() {
        private volatile boolean closed;

        @Override
        public Attempt await(Deadline until) throws InterruptedException {
          Attempt attempt = null;
          while (attempt == null && !closed) {
            attempt = WaitsOtherwise.this.await(entry, until);
          }
          return attempt == null ? new Attempt.Busy(Duration.ZERO) : attempt;
        }

        @Override
        public void close() {
          closed = true;
          right.close();
        }
      };
    }

    @Override
    public void close() {
      client.close();
      super.close();
    }
  }

  /** Waits for a deletion after the revision of its read. */
  private static final class TrustsItsWatch extends WaitsOtherwise {
    TrustsItsWatch(EtcdBackend right) {
      super(right);
    }

    @Override
    @Nullable Attempt await(QueueEntry entry, Deadline until) throws InterruptedException {
      QueueView view = etcd.look(entry, Backends.in(Duration.ofSeconds(20)));
      if (view.holdsName()) {
        return new Attempt.Granted(etcd.grant(entry, view));
      }
      KeyRange before = entry.toWatch(view.ahead());
      try (Watcher watcher = watch(before, view.revision() + 1, entry.wakeUp())) {
        boolean change = entry.wakeUp().await(until) && !watcher.isClosed();
        return change ? null : new Attempt.Busy(Duration.ZERO);
      }
    }

    private Watcher watch(KeyRange range, long revision, WakeUp wakeUp) {
      WatchOption.Builder option = WatchOption.builder().withRevision(revision).withNoPut(true);
      if (range.end() != null) {
        option.withRange(range.end());
      }
      return client
          .getWatchClient()
          .watch(
              range.from(),
              option.build(),
              response -> {
                for (WatchEvent event : response.getEvents()) {
                  if (event.getEventType() == WatchEvent.EventType.DELETE) {
                    wakeUp.signal();
                  }
                }
              });
    }
  }

  /** Polls whether any entry is ahead of its own. */
  private static final class TrustsItsPlace extends WaitsOtherwise {
    private static final Duration PAUSE = Duration.ofMillis(50);

    TrustsItsPlace(EtcdBackend right) {
      super(right);
    }

    @Override
    @Nullable Attempt await(QueueEntry entry, Deadline until) throws InterruptedException {
      long sentAt = System.nanoTime();
      if (!until.hasPassed() && isFirst(entry)) {
        Duration timeToLive = entry.session().timeToLive();
        return new Attempt.Granted(
            Grant.onSession(entry.claim(), entry.revision(), sentAt, timeToLive, timeToLive));
      }
      var unused = entry.wakeUp().await(until.atMost(PAUSE));
      return until.hasPassed() ? new Attempt.Busy(Duration.ZERO) : null;
    }

    private boolean isFirst(QueueEntry entry) throws InterruptedException {
      GetOption earlier =
          GetOption.builder()
              .isPrefix(true)
              .withMaxCreateRevision(entry.revision() - 1)
              .withLimit(1)
              .withKeysOnly(true)
              .build();
      try {
        return client
            .getKVClient()
            .get(entry.keys().prefix(), earlier)
            .get(1, SECONDS)
            .getKvs()
            .isEmpty();
      } catch (ExecutionException | TimeoutException e) {
        return false;
      }
    }
  }

  /** Changes the outcome of attempts. */
  private abstract static class AltersAttempts extends ForwardingQueue {
    AltersAttempts(EtcdBackend right) {
      super(right);
    }

    abstract Attempt altered(Claim claim, Attempt attempt);

    @Override
    public Attempt tryAcquire(Claim claim, Deadline deadline) throws InterruptedException {
      return altered(claim, super.tryAcquire(claim, deadline));
    }

    @Override
    public Place join(Claim claim, Deadline deadline) throws InterruptedException {
      Place right = super.join(claim, deadline);
      return new Place() {
        @Override
        public Attempt await(Deadline until) throws InterruptedException {
          return altered(claim, right.await(until));
        }

        @Override
        public void close() {
          right.close();
        }
      };
    }
  }

  private static final class LeaseAsToken extends AltersAttempts {
    LeaseAsToken(EtcdBackend right) {
      super(right);
    }

    @Override
    Attempt altered(Claim claim, Attempt attempt) {
      if (!(attempt instanceof Attempt.Granted granted)) {
        return attempt;
      }
      Grant grant = granted.grant();
      return new Attempt.Granted(
          new Grant(
              claim,
              QueueEntry.of(claim).lease() & ((1L << 57) - 1),
              grant.validUntil(),
              grant.effectiveTtl(),
              grant.validityPerConfirmation(),
              grant.expiresOnStore()));
    }
  }

  private static final class NeverLeaves extends AltersAttempts {
    private final Set<Claim> granted = ConcurrentHashMap.newKeySet();

    NeverLeaves(EtcdBackend right) {
      super(right);
    }

    @Override
    Attempt altered(Claim claim, Attempt attempt) {
      if (attempt instanceof Attempt.Granted) {
        granted.add(claim);
      }
      return attempt;
    }

    @Override
    public boolean release(Claim claim, Deadline deadline) throws InterruptedException {
      return granted.remove(claim) && super.release(claim, deadline);
    }

    /** Does nothing: otherwise the session would end as unused, and its entry with it. */
    @Override
    public void forget(Claim claim) {}
  }
}
