package dev.interlock.etcd;

import dev.interlock.BackendInfo;
import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.tck.Permissions;
import dev.interlock.tck.Timing;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.etcd.EtcdCluster;
import dev.interlock.testbed.kit.EtcdStore;
import java.io.IOException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** A disposable etcd for the kit. */
final class EtcdUnderTest extends EtcdStore {

  /** The user with only the documented permissions. */
  private static final String USER = "app";

  private final EtcdCluster etcd;
  private final boolean asUser;

  private EtcdUnderTest(EtcdCluster etcd, boolean asUser) {
    super(
        etcd,
        asUser ? Backends.as(USER, etcd) : etcd.uri(),
        name -> LockKeys.of(EtcdSettings.defaults().namespace(), name).toString());
    this.etcd = etcd;
    this.asUser = asUser;
  }

  /**
   * Starts members that do not sync their disks. Their data survives the end of the process, as
   * tests need it, and a busy disk delays no answer.
   */
  static EtcdUnderTest start(int members) throws InterruptedException {
    EtcdCluster etcd = Testbed.etcd().members(members).forFaults().withoutSync().start();
    return new EtcdUnderTest(etcd, false).warmedUp();
  }

  /** Starts a single such member with another election time-out. */
  static EtcdUnderTest startWithElection(Duration timeout) throws InterruptedException {
    EtcdCluster etcd = Testbed.etcd().forFaults().withoutSync().electionTimeout(timeout).start();
    return new EtcdUnderTest(etcd, false).warmedUp();
  }

  /** Starts a single such member for clients that have only the documented permissions. */
  static EtcdUnderTest startForUser() throws IOException, InterruptedException {
    EtcdCluster etcd = Testbed.etcd().password("s3cret").forFaults().withoutSync().start();
    Backends.addUser(etcd.leader(), USER, "READWRITE");
    return new EtcdUnderTest(etcd, true).warmedUp();
  }

  /**
   * Returns the usual durations, extended for a busy machine that runs the tests' clients and one
   * or three servers. There an answer may take seconds, and a lease of the usual TTL would expire
   * before the lock is granted.
   */
  static Timing timing(BackendInfo info) {
    Timing usual = Timing.of(info, Duration.ofSeconds(8));
    Duration requestTimeout = Duration.ofSeconds(6);
    return new Timing(
        Duration.ofSeconds(3),
        Duration.ofSeconds(8),
        usual.longTtl(),
        requestTimeout,
        usual.bound().minus(usual.requestTimeout()).plus(requestTimeout));
  }

  /**
   * Loads the classes of a client once for all tests of a JVM, because dozens of tests start at the
   * same time and would wait for class loading.
   */
  private EtcdUnderTest warmedUp() throws InterruptedException {
    LockOptions patient = LockOptions.builder().requestTimeout(Duration.ofSeconds(30)).build();
    LockOptions fixed = patient.toBuilder().autoRenew(false).build();
    try (LockClient first = LockClient.open(uri(), patient);
        LockClient second = LockClient.open(uri(), fixed)) {
      Lease lease = first.lock("warm-up").acquire();
      lease.renew();
      CompletableFuture<Lease> waiter = second.lock("warm-up").acquireAsync();
      while (first.admin().inspect("warm-up").waiters().isEmpty()) {
        Thread.onSpinWait();
      }
      lease.release();
      waiter.join().release();
    }
    return this;
  }

  @Override
  public Optional<Permissions> permissions() throws IOException {
    return asUser
        ? Optional.of(userPermissions(USER, type -> Backends.permit(etcd.leader(), USER, type)))
        : Optional.empty();
  }
}
