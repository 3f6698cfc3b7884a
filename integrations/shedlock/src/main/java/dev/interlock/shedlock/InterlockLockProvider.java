package dev.interlock.shedlock;

import static java.util.Objects.requireNonNull;

import dev.interlock.LockClient;
import dev.interlock.spi.Later;
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
 *   <li>{@code lockAtMostFor}, from 1 ms to 365 days: the lock ends then, even if the task is still
 *       running. The store keeps it for that long without renewal, so a shorter pause or outage
 *       does not cost the lock. If the process dies, the lock is free 1 s and 0.2 % of the time
 *       later, because the TTL exceeds it by that much, or when the store's shortest TTL ends. On
 *       ZooKeeper a lock lasts as long as the client's session, which is kept alive until then: a
 *       pause of the session's time-out costs the lock, and that of a dead process is free after
 *       it. Redlock refuses a time beyond its {@code maxTtl}.
 *   <li>{@code lockAtLeastFor}: after an earlier unlock the store keeps the lock for the rest of
 *       the time, whatever becomes of the process, with {@link
 *       dev.interlock.Capability#DEFERRED_RELEASE}. Otherwise, or until the store confirms it, the
 *       client keeps the lock: {@link LockClient#close(Duration)} waits for that, {@link
 *       LockClient#close()} frees the lock. If the process dies then, the lock stays taken as
 *       above.
 * </ul>
 *
 * <p>{@code unlock} never throws for a lost lock or an unreachable store. If the lock had ended
 * before, it logs a warning, because the task may have run elsewhere at the same time.
 *
 * <p>{@code extend} counts both times anew. It returns empty if the lock has ended, and throws
 * {@link dev.interlock.LockUnavailableException} if the store does not answer, after which the lock
 * is as before and may be extended again. A longer extension than the first {@code lockAtMostFor}
 * is kept by renewals in the background, so if the process dies, the lock is free after the first
 * one.
 *
 * <p>The provider does not close the client. It is safe for use by several threads, and so is what
 * it keeps in the background; a {@link SimpleLock} is for one thread at a time.
 */
public final class InterlockLockProvider implements ExtensibleLockProvider {

  private final LockClient client;
  private final String prefix;
  private final Later later = new Later("interlock-shedlock");

  /**
   * Creates a provider whose locks have the names that ShedLock gives them.
   *
   * @param client acquires the locks; the caller closes it
   */
  public InterlockLockProvider(LockClient client) {
    this(client, "");
  }

  /**
   * Creates a provider that puts a prefix before every name, so that no other use of the client has
   * the same names.
   *
   * @param client acquires the locks; the caller closes it
   * @param prefix what every name begins with, such as {@code shedlock/}; may be empty
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
   * @throws dev.interlock.LockConfigurationException if it can never succeed with the client's
   *     settings
   * @throws IllegalStateException if the client is closed
   */
  @Override
  public Optional<SimpleLock> lock(LockConfiguration configuration) {
    return TimedLease.acquire(
            client, prefix + configuration.getName(), configuration.getLockAtMostFor(), later)
        .map(lease -> new Held(lease, configuration));
  }

  @Override
  public String toString() {
    return "InterlockLockProvider[" + prefix + "* on " + client.endpoint() + "]";
  }

  /** What the task holds until it unlocks or extends. */
  private static final class Held extends AbstractSimpleLock {
    private final TimedLease lease;
    private final long lockedAt = System.nanoTime();

    Held(TimedLease lease, LockConfiguration configuration) {
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
          ? Optional.of(new Held(lease, extended))
          : Optional.empty();
    }
  }
}
