package dev.interlock.zookeeper;

import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.Claim;
import dev.interlock.spi.ClientsWithTimeSource;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockUri;
import dev.interlock.spi.TimeSource;
import dev.interlock.tck.specimen.ForwardingQueue;
import dev.interlock.tck.specimen.Specimen;
import dev.interlock.tck.specimen.SpecimenSuite;
import dev.interlock.tck.specimen.SpecimenTable;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.junit.jupiter.api.Tag;

/** Faulty locks on a real ZooKeeper. The kit must refuse each for its own fault alone. */
@Tag("extended")
class ZooKeeperSpecimensTest extends SpecimenSuite {

  @Override
  protected int atOnce() {
    return 2;
  }

  @Override
  protected Optional<SpecimenTable> table() {
    return Optional.of(new SpecimenTable(Path.of("../docs/specimens.md"), "lock-zookeeper"));
  }

  @Override
  protected List<Specimen> specimens() {
    return List.of(
        Specimen.fromLiterature("the basic lock", "ZooKeeper's recipes, without the sequence")
            .fault(
                "One ephemeral node that all waiters watch: every release wakes all of them, and"
                    + " the quickest is next, although the backend claims a queue and shows one.")
            .harness(Herd::new)
            .refusedBy("WAIT-10", "all of them are woken")
            .refusedBy("FAIR-01", "in the order of arrival")
            .build(),
        Specimen.fromLiterature("the watched parent", "recipes that watch the lock's node")
            .fault("Every waiter watches the whole queue, and lists it at every change.")
            .harness(WatchedParent::new)
            .onlyRules("It joins and leaves the queue as it should.", "WAIT-*", "FAIR-*")
            .refusedBy("WAIT-10", "all of them are woken")
            .build(),
        Specimen.mutant("the sequence number as token")
            .fault("The node's number starts anew after the lock's node was removed.")
            .harness(SequenceToken::new)
            .onlyRules(
                "Other rules may fail, too, if the servers clean up at the wrong moment.",
                "FENCE-02",
                "FENCE-03",
                "FENCE-06")
            .refusedBy("FENCE-02", "after idle time")
            .build(),
        Specimen.mutant("creation without protection")
            .fault(
                "A node whose creation was not answered is not looked for, and stays in the queue.")
            .harness(Unprotected::new)
            .onlyRules(
                "The nodes that it leaves block others at random in storms.",
                "EXCL-02",
                "EXCL-03",
                "EXCL-05",
                "EXCL-06",
                "EXCL-07",
                "EXCL-08",
                "REL-*")
            .refusedBy("EXCL-08", "an attempt that was cancelled still holds the lock")
            .refusedBy("REL-03", "abandoned attempt")
            .build());
  }

  /** A specimen on its own servers, which soon remove empty containers. */
  abstract static class Wrong extends ZooKeeperHarness {
    abstract LockBackend open(LockUri uri, BackendContext context);

    Wrong() {
      super(() -> ZooKeeperUnderTest.start(1, "-Dznode.container.checkIntervalMs=1000"));
    }

    @Override
    public LockClient open(String uri, LockOptions options) {
      return open(uri, options, TimeSource.system());
    }

    @Override
    public LockClient open(String uri, LockOptions options, TimeSource time) {
      return ClientsWithTimeSource.using(
          context -> open(LockUri.parse(uri), context), options, time);
    }

    static ZooKeeperBackend right(LockUri uri, BackendContext context) {
      return (ZooKeeperBackend) new ZooKeeperProvider().open(uri, context);
    }

    static CuratorFramework curator(LockUri uri, BackendContext context) {
      return curator(uri, context, new FastReconnectDrivers(context.time(), new Logins(List::of)));
    }

    static CuratorFramework curator(
        LockUri uri, BackendContext context, FastReconnectDrivers drivers) {
      ZooKeeperUri parsed = new ZooKeeperUri(uri);
      Duration timeout = parsed.sessionTimeout(context.options().ttl());
      Duration requestTimeout = context.options().requestTimeout();
      CuratorFramework curator =
          CuratorFrameworkFactory.builder()
              .connectString(parsed.endpoint())
              .sessionTimeoutMs(Math.toIntExact(timeout.toMillis()))
              .connectionTimeoutMs(
                  Math.toIntExact(Math.min(requestTimeout.toMillis(), timeout.toMillis())))
              .retryPolicy((count, elapsed, sleeper) -> false)
              .ensembleTracker(false)
              .zookeeperFactory(drivers)
              .zkClientConfig(parsed.clientConfig(requestTimeout))
              .build();
      curator.start();
      return curator;
    }
  }

  /** The basic lock. */
  public static final class Herd extends Wrong {
    @Override
    LockBackend open(LockUri uri, BackendContext context) {
      FastReconnectDrivers drivers = new FastReconnectDrivers(context.time(), new Logins(List::of));
      return new HerdBackend(curator(uri, context, drivers), drivers, context);
    }
  }

  /** The watched parent. */
  public static final class WatchedParent extends Wrong {
    @Override
    LockBackend open(LockUri uri, BackendContext context) {
      CuratorFramework curator = curator(uri, context);
      return new ParentWatch(right(uri, context), curator) {
        @Override
        public void close() {
          super.close();
          curator.close();
        }
      };
    }
  }

  /** The sequence number as token. */
  public static final class SequenceToken extends Wrong {
    @Override
    LockBackend open(LockUri uri, BackendContext context) {
      return new ForwardingQueue(right(uri, context)) {
        @Override
        public Attempt tryAcquire(Claim claim, Deadline deadline) throws InterruptedException {
          return numbered(super.tryAcquire(claim, deadline));
        }

        @Override
        public Place join(Claim claim, Deadline deadline) throws InterruptedException {
          Place place = super.join(claim, deadline);
          return new Place() {
            @Override
            public Attempt await(Deadline limit) throws InterruptedException {
              return numbered(place.await(limit));
            }

            @Override
            public void close() {
              place.close();
            }
          };
        }
      };
    }

    private static Attempt numbered(Attempt attempt) {
      if (!(attempt instanceof Attempt.Granted granted)) {
        return attempt;
      }
      Grant grant = granted.grant();
      int number = ((QueueNode) grant.claim().attachment()).name().number();
      return new Attempt.Granted(
          new Grant(
              grant.claim(),
              number + 1L,
              grant.validUntil(),
              grant.effectiveTtl(),
              grant.validityPerConfirmation(),
              grant.expiresOnStore()));
    }
  }

  /** Creation without protection. */
  public static final class Unprotected extends Wrong {
    @Override
    LockBackend open(LockUri uri, BackendContext context) {
      return new ForwardingQueue(right(uri, context)) {
        @Override
        public boolean release(Claim claim, Deadline deadline) throws InterruptedException {
          return claim.attachment() instanceof QueueNode && super.release(claim, deadline);
        }
      };
    }
  }
}
