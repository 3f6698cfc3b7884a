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
import io.etcd.jetcd.ByteSequence;
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
import org.junit.jupiter.api.Tag;

/** Faults that locks on etcd have been seen with, each refused for what is wrong with it. */
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
            .fault("A waiter relies on its watch, and never looks at the line by itself.")
            .harness(() -> new AlteredEtcd(TrustsItsWatch::new))
            .onlyRules("the others do not wait for another client", "WAIT-*")
            .refusedBy("WAIT-06", "fell silent did not get the lock")
            .build(),
        Specimen.fromLiterature("etcd place without its lease", "Jepsen, etcd 3.4.3")
            .fault("A waiter sees that nobody is before it, and not that its own key is gone.")
            .harness(() -> new AlteredEtcd(TrustsItsPlace::new))
            .onlyRules("the others do not end the session of one that waits", "FAIR-*")
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
            .fault("Whoever gives up stops waiting here, and keeps its place in line there.")
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

  /** Waits for a deletion after the revision at which it has looked. */
  private static final class TrustsItsWatch extends ForwardingQueue {
    private final EtcdBackend etcd;
    private final Client client;

    TrustsItsWatch(EtcdBackend right) {
      super(right);
      this.etcd = right;
      this.client = Client.builder().endpoints("http://" + right.endpoint()).build();
    }

    @Override
    public Place join(Claim claim, Deadline deadline) throws InterruptedException {
      Place right = super.join(claim, deadline);
      QueueEntry entry = QueueEntry.of(claim);
      return new Place() {
        private volatile boolean closed;

        @Override
        public Attempt await(Deadline until) throws InterruptedException {
          while (!closed) {
            QueueView view = etcd.look(entry);
            ByteSequence before = view.predecessor();
            if (before == null) {
              return new Attempt.Granted(etcd.grant(entry, view));
            }
            long next = view.answer().getHeader().getRevision() + 1;
            try (Watcher watcher = watch(before, next, entry.wakeUp())) {
              if (!entry.wakeUp().await(until) || watcher.isClosed()) {
                break;
              }
            }
          }
          return new Attempt.Busy(Duration.ZERO);
        }

        @Override
        public void close() {
          closed = true;
          right.close();
        }
      };
    }

    private Watcher watch(ByteSequence key, long revision, WakeUp wakeUp) {
      WatchOption option = WatchOption.builder().withRevision(revision).withNoPut(true).build();
      return client
          .getWatchClient()
          .watch(
              key,
              option,
              response -> {
                for (WatchEvent event : response.getEvents()) {
                  if (event.getEventType() == WatchEvent.EventType.DELETE) {
                    wakeUp.signal();
                  }
                }
              });
    }

    @Override
    public void close() {
      client.close();
      super.close();
    }
  }

  /** Looks again and again whether anybody is before it. */
  private static final class TrustsItsPlace extends ForwardingQueue {
    private static final Duration PAUSE = Duration.ofMillis(50);

    private final Client client;

    TrustsItsPlace(EtcdBackend right) {
      super(right);
      this.client = Client.builder().endpoints("http://" + right.endpoint()).build();
    }

    @Override
    public Place join(Claim claim, Deadline deadline) throws InterruptedException {
      Place right = super.join(claim, deadline);
      QueueEntry entry = QueueEntry.of(claim);
      return new Place() {
        private volatile boolean closed;

        @Override
        public Attempt await(Deadline until) throws InterruptedException {
          while (!closed && !until.hasPassed()) {
            long sentAt = System.nanoTime();
            if (isFirst(entry)) {
              Duration timeToLive = entry.session().timeToLive();
              return new Attempt.Granted(
                  Grant.onSession(claim, entry.revision(), sentAt, timeToLive, timeToLive));
            }
            var unused = entry.wakeUp().await(until.orIn(PAUSE));
          }
          return new Attempt.Busy(Duration.ZERO);
        }

        @Override
        public void close() {
          closed = true;
          right.close();
        }
      };
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

    @Override
    public void close() {
      client.close();
      super.close();
    }
  }

  private static final class LeaseAsToken extends ForwardingQueue {
    LeaseAsToken(EtcdBackend right) {
      super(right);
    }

    private static Attempt altered(Attempt attempt) {
      if (!(attempt instanceof Attempt.Granted granted)) {
        return attempt;
      }
      Grant grant = granted.grant();
      long lease = QueueEntry.of(grant.claim()).lease() & ((1L << 57) - 1);
      return new Attempt.Granted(
          new Grant(
              grant.claim(),
              lease,
              grant.validUntil(),
              grant.effectiveTtl(),
              grant.validityPerConfirmation(),
              grant.expiresOnStore()));
    }

    @Override
    public Attempt tryAcquire(Claim claim, Deadline deadline) throws InterruptedException {
      return altered(super.tryAcquire(claim, deadline));
    }

    @Override
    public Place join(Claim claim, Deadline deadline) throws InterruptedException {
      Place right = super.join(claim, deadline);
      return new Place() {
        @Override
        public Attempt await(Deadline until) throws InterruptedException {
          return altered(right.await(until));
        }

        @Override
        public void close() {
          right.close();
        }
      };
    }
  }

  private static final class NeverLeaves extends ForwardingQueue {
    private final Set<Claim> granted = ConcurrentHashMap.newKeySet();

    NeverLeaves(EtcdBackend right) {
      super(right);
    }

    @Override
    public Attempt tryAcquire(Claim claim, Deadline deadline) throws InterruptedException {
      return noted(claim, super.tryAcquire(claim, deadline));
    }

    private Attempt noted(Claim claim, Attempt attempt) {
      if (attempt instanceof Attempt.Granted) {
        granted.add(claim);
      }
      return attempt;
    }

    @Override
    public Place join(Claim claim, Deadline deadline) throws InterruptedException {
      Place right = super.join(claim, deadline);
      return new Place() {
        @Override
        public Attempt await(Deadline until) throws InterruptedException {
          return noted(claim, right.await(until));
        }

        @Override
        public void close() {
          right.close();
        }
      };
    }

    @Override
    public boolean release(Claim claim, Deadline deadline) throws InterruptedException {
      return granted.remove(claim) && super.release(claim, deadline);
    }

    /** Or its session would be given up as one that nobody uses, and the place with it. */
    @Override
    public void forget(Claim claim) {}
  }
}
