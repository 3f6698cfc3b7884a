package dev.interlock.storm.workers;

import dev.interlock.Acquirable;
import dev.interlock.BackendInfo;
import dev.interlock.Capability;
import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockKind;
import dev.interlock.LockOptions;
import dev.interlock.spi.Share;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;

/**
 * A name that the clients of a storm compete for.
 *
 * @param name the lock's name
 * @param kind the kind of lock that they use it as
 * @param limit the limit of a semaphore; otherwise 1
 */
public record UsedName(String name, LockKind kind, int limit) {
  private static final int SEMAPHORE_LIMIT = 3;
  private static final int WRITERS_PER_TEN = 3;

  /**
   * Returns the names with their kinds: exclusive locks first, then a read-write lock and a
   * semaphore if the backend has them.
   */
  public static List<UsedName> of(List<String> locks, List<String> others, BackendInfo backend) {
    List<UsedName> used = new ArrayList<>();
    locks.forEach(name -> used.add(new UsedName(name, LockKind.EXCLUSIVE, 1)));
    if (backend.has(Capability.READ_WRITE)) {
      used.add(new UsedName(others.get(0), LockKind.READ_WRITE, 1));
    }
    if (backend.has(Capability.SEMAPHORE)) {
      used.add(new UsedName(others.get(1), LockKind.SEMAPHORE, SEMAPHORE_LIMIT));
    }
    return used;
  }

  /** Draws a share: readers more often than writers, one permit more often than several. */
  Share drawShare(Random random) {
    return switch (kind) {
      case EXCLUSIVE -> Share.EXCLUSIVE;
      case READ_WRITE -> random.nextInt(10) < WRITERS_PER_TEN ? Share.WRITE : Share.READ;
      case SEMAPHORE ->
          Share.ofSemaphore(random.nextBoolean() ? 1 : 1 + random.nextInt(limit), limit);
    };
  }

  Share whole() {
    return switch (kind) {
      case EXCLUSIVE -> Share.EXCLUSIVE;
      case READ_WRITE -> Share.WRITE;
      case SEMAPHORE -> Share.ofSemaphore(limit, limit);
    };
  }

  /** {@return the lock or permits that acquire the share} */
  Acquirable<Lease> share(
      Share share, LockClient client, Consumer<? super LockOptions.Builder> options) {
    return switch (kind) {
      case EXCLUSIVE -> client.lock(name, options);
      case READ_WRITE ->
          share.isWhole()
              ? client.readWriteLock(name, options).writeLock()
              : client.readWriteLock(name, options).readLock();
      case SEMAPHORE -> client.semaphore(name, limit, options).permits(share.weight());
    };
  }

  /** {@return the lock or permits that acquire all of the name} */
  Acquirable<Lease> whole(LockClient client, Consumer<? super LockOptions.Builder> options) {
    return share(whole(), client, options);
  }
}
