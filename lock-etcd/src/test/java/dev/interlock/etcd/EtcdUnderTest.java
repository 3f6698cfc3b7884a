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

/** A disposable etcd as the kit wants to see it. */
final class EtcdUnderTest extends EtcdStore {

  /** Who may do what the documents say that clients need. */
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
   * Starts members that leave it to the operating system when to write to the disk. What they wrote
   * survives the end of their process, which is what tests do to them, and a busy disk delays no
   * answer.
   */
  static EtcdUnderTest start(int members) throws InterruptedException {
    EtcdCluster etcd = Testbed.etcd().members(members).forFaults().withoutSync().start();
    return new EtcdUnderTest(etcd, false).warmedUp();
  }

  /** The same, one member, with another election time-out. */
  static EtcdUnderTest startWithElection(Duration timeout) throws InterruptedException {
    EtcdCluster etcd = Testbed.etcd().forFaults().withoutSync().electionTimeout(timeout).start();
    return new EtcdUnderTest(etcd, false).warmedUp();
  }

  /** The same, one member, for clients who may do what the documents say that they need. */
  static EtcdUnderTest startForUser() throws IOException, InterruptedException {
    EtcdCluster etcd = Testbed.etcd().password("s3cret").forFaults().withoutSync().start();
    Backends.addUser(etcd.leader(), USER, "READWRITE");
    return new EtcdUnderTest(etcd, true).warmedUp();
  }

  /**
   * The usual durations, longer by what a busy machine needs that runs the tests' clients, the
   * server, and for three members three of them: an answer may take seconds then, and a lease of
   * the usual TTL has run out before the lock is granted.
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
   * Loads what a client needs, once for all tests of a JVM: they start by the dozen at the same
   * time, and would wait for classes.
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
