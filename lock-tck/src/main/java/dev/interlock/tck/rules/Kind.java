package dev.interlock.tck.rules;

import dev.interlock.Acquirable;
import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.tck.process.RemoteTask;
import dev.interlock.tck.process.Worker;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;

/** The kinds of acquirables that tests use, also in another process. */
enum Kind implements RuleTest.AcquirableFactory {
  LOCK,
  READER,
  WRITER,
  /** One permit of two. */
  ONE_PERMIT,
  /** Both permits. */
  ALL_PERMITS;

  /** {@return the share of the same kind of lock that excludes all others} */
  Kind whole() {
    return switch (this) {
      case LOCK -> LOCK;
      case READER, WRITER -> WRITER;
      case ONE_PERMIT, ALL_PERMITS -> ALL_PERMITS;
    };
  }

  @Override
  public Acquirable<Lease> of(LockClient client, String name) {
    return of(client, name, unchanged -> {});
  }

  /** {@return what a client acquires with options of its own} */
  Acquirable<Lease> of(LockClient client, String name, Consumer<LockOptions.Builder> change) {
    return switch (this) {
      case LOCK -> client.lock(name, change);
      case READER -> client.readWriteLock(name, change).readLock();
      case WRITER -> client.readWriteLock(name, change).writeLock();
      case ONE_PERMIT -> client.semaphore(name, 2, change);
      case ALL_PERMITS -> client.semaphore(name, 2, change).permits(2);
    };
  }

  /**
   * Acquires a name as a kind, keeps the lease, and returns its effective TTL. With a TTL as the
   * third argument, the lease is renewed.
   */
  static final class Acquire implements RemoteTask {
    @Override
    public String run(Worker worker, List<String> arguments) throws Exception {
      String name = arguments.get(0);
      Consumer<LockOptions.Builder> change =
          arguments.size() == 2
              ? unchanged -> {}
              : RuleTest.renewed(Duration.parse(arguments.get(2)));
      Lease lease = valueOf(arguments.get(1)).of(worker.client(), name, change).acquire();
      worker.keep(name, lease);
      return lease.effectiveTtl().toString();
    }
  }
}
