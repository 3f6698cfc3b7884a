package dev.interlock.cli;

import dev.interlock.Acquirable;
import dev.interlock.Capability;
import dev.interlock.Lease;
import dev.interlock.LockClient;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The kind of lock to acquire: one of these options, or none for an exclusive lock. */
final class ShareOptions {

  @Option(
      names = "--shared",
      description =
          "Hold the lock together with other commands that have --shared: the read lock of a"
              + " read-write lock.")
  private boolean shared;

  @Option(
      names = "--exclusive",
      description =
          "Hold the lock alone, where other commands have --shared: the write lock of a read-write"
              + " lock. Without any of these options the name is a plain exclusive lock, which every"
              + " backend has and which does not combine with --shared.")
  private boolean exclusive;

  @Option(
      names = "--permits",
      paramLabel = "K/N",
      converter = Permits.Converter.class,
      description = "Hold K of the N permits of a semaphore. All commands must give the same N.")
  private @Nullable Permits permits;

  /** Fails if the backend lacks the capability for this. Sends nothing to the store. */
  void requireCapability(LockTarget target) {
    if (shared || exclusive) {
      target.require(Capability.READ_WRITE, "read-write locks");
    } else if (permits != null) {
      target.require(Capability.SEMAPHORE, "semaphores");
    }
  }

  /** {@return the lock or permits of the name} */
  Acquirable<Lease> of(LockClient client, String name) {
    if (shared) {
      return client.readWriteLock(name).readLock();
    } else if (exclusive) {
      return client.readWriteLock(name).writeLock();
    } else if (permits != null) {
      return client.semaphore(name, permits.limit()).permits(permits.count());
    } else {
      return client.lock(name);
    }
  }

  /** {@return the words before the name in a message} */
  String noun() {
    if (permits == null) {
      return shared ? "shared lock" : "lock";
    }
    return permits.count() + " of " + permits.limit() + " permits of";
  }
}
