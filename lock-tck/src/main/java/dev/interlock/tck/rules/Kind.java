package dev.interlock.tck.rules;

import dev.interlock.Acquirable;
import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.tck.process.RemoteTask;
import dev.interlock.tck.process.Worker;
import java.util.List;

/** The kinds of acquirables that tests use, also in another process. */
enum Kind implements RuleTest.AcquirableFactory {
  LOCK,
  READER,
  WRITER,
  /** One permit of two. */
  ONE_PERMIT,
  /** Both permits. */
  ALL_PERMITS;

  @Override
  public Acquirable<Lease> of(LockClient client, String name) {
    return switch (this) {
      case LOCK -> client.lock(name);
      case READER -> client.readWriteLock(name).readLock();
      case WRITER -> client.readWriteLock(name).writeLock();
      case ONE_PERMIT -> client.semaphore(name, 2);
      case ALL_PERMITS -> client.semaphore(name, 2).permits(2);
    };
  }

  /** Acquires a name as a kind, keeps the lease, and returns its effective TTL. */
  static final class Acquire implements RemoteTask {
    @Override
    public String run(Worker worker, List<String> arguments) throws Exception {
      String name = arguments.get(0);
      Lease lease = valueOf(arguments.get(1)).of(worker.client(), name).acquire();
      worker.keep(name, lease);
      return lease.effectiveTtl().toString();
    }
  }
}
