package dev.interlock.shedlock;

import static java.util.Objects.requireNonNull;

import dev.interlock.LockClient;
import dev.interlock.spi.DelayedTasks;
import java.time.Duration;
import java.util.Optional;
import net.javacrumbs.shedlock.core.AbstractSimpleLock;
import net.javacrumbs.shedlock.core.ExtensibleLockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;

/**
 * A ShedLock provider whose locks are leases of a {@link LockClient}. At most one of the processes
 * that use the same store holds the lock of a name, within the backend's {@linkplain
 * dev.interlock.FailureModel failure model}.
 *
 * <pre>{@code
 * @Bean
 * LockProvider lockProvider(LockClient client) {
 *   return new InterlockLockProvider(client);
 * }
 * }</pre>
 *
 * <p>{@code lockAtMostFor} and {@code lockAtLeastFor} are counted from the moment at which the lock
 * is acquired, never by comparing the clocks of two machines.
 *
 * <ul>
 *   <li>{@code lockAtMostFor}, from 1 ms to 365 days: the lock ends after this time, even if the
 *       task is still running. The store keeps it for that long without renewal, so a shorter pause
 *       or outage does not cost the lock. The TTL is 1 s and 0.2 % longer than the time. If the
 *       process dies, the lock is free when the TTL or the store's shortest TTL ends. On ZooKeeper
 *       a lock lasts as long as the client's session: a pause as long as the session's time-out
 *       costs the lock, and the lock of a dead process is free after that time-out. Redlock refuses
 *       a time beyond its {@code maxTtl}.
 *   <li>{@code lockAtLeastFor}: with {@link dev.interlock.Capability#DEFERRED_RELEASE}, the store
 *       keeps the lock after an earlier unlock for the rest of the time, even if the process dies.
 *       Without it, or until the store confirms the request, the client keeps the lock. {@link
 *       LockClient#close(Duration)} then waits for it, and {@link LockClient#close()} frees the
 *       lock. If the process dies then, the lock stays taken as above.
 * </ul>
 *
 * <p>{@code unlock} never throws for a lost lock or an unreachable store. If the lock had ended
 * before, it logs a warning, because the task may have run elsewhere at the same time.
 *
 * <p>{@code extend} counts both times anew. It returns empty if the lock has ended. It throws
 * {@link dev.interlock.LockUnavailableException} if the store does not answer; the lock is then as
 * before, and may be extended again. Background renewals keep a lock whose extension is longer than
 * the first {@code lockAtMostFor}. If the process dies, that lock is free after the first {@code
 * lockAtMostFor}.
 *
 * <p>The provider does not close the client. It is safe for use by several threads. A {@link
 * SimpleLock} is for one thread at a time.
 */
public final class InterlockLockProvider implements ExtensibleLockProvider {

  private final LockClient client;
  private final String prefix;
  private final DelayedTasks delayed = new DelayedTasks("interlock-shedlock");

  /**
   * Creates a provider whose locks have the names that ShedLock gives them.
   *
   * @param client acquires the locks; the caller closes it
   */
  public InterlockLockProvider(LockClient client) {
    this(client, "");
  }

  /**
   * Creates a provider that puts a prefix before every name, to keep the names apart from other
   * locks of the client.
   *
   * @param client acquires the locks; the caller closes it
   * @param prefix the prefix of every name, such as {@code shedlock/}; may be empty
   */
  public InterlockLockProvider(LockClient client, String prefix) {
    this.client = requireNonNull(client, "client");
    this.prefix = requireNonNull(prefix, "prefix");
  }

  /**
   * Acquires the lock if it is free; does not wait for a holder. Blocks for at most the client's
   * request time-out.
   *
   * @param configuration the name, of at most 255 characters with the prefix, and the times
   * @return the lock, or empty if it is held
   * @throws IllegalArgumentException if the name is too long or not well-formed Unicode, or {@code
   *     lockAtMostFor} is less than 1 ms or more than 365 days
   * @throws dev.interlock.LockUnavailableException if the store did not answer
   * @throws dev.interlock.LockConfigurationException if the call can never succeed with the
   *     client's settings
   * @throws IllegalStateException if the client is closed
   */
  @Override
  public Optional<SimpleLock> lock(LockConfiguration configuration) {
    return TimedLease.acquire(
            client, prefix + configuration.getName(), configuration.getLockAtMostFor(), delayed)
        .map(lease -> new TaskLock(lease, configuration));
  }

  @Override
  public String toString() {
    return "InterlockLockProvider[" + prefix + "* on " + client.endpoint() + "]";
  }

  /** The lock of a task, until it unlocks or extends it. */
  private static final class TaskLock extends AbstractSimpleLock {
    private final TimedLease lease;
    private final long lockedAt = System.nanoTime();

    TaskLock(TimedLease lease, LockConfiguration configuration) {
      super(configuration);
      this.lease = lease;
    }

    @Override
    protected void doUnlock() {
      lease.unlock(lockedAt, lockConfiguration.getLockAtLeastFor());
    }

    @Override
    protected Optional<SimpleLock> doExtend(LockConfiguration extended) {
      return lease.extend(extended.getLockAtMostFor())
          ? Optional.of(new TaskLock(lease, extended))
          : Optional.empty();
    }
  }
}
