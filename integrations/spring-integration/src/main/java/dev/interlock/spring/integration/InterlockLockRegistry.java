package dev.interlock.spring.integration;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.Objects.requireNonNull;

import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LeasedLock;
import dev.interlock.LockClient;
import dev.interlock.LockException;
import dev.interlock.LockOptions;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.HexFormat;
import java.util.Optional;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;
import org.springframework.dao.DataAccessResourceFailureException;
import org.springframework.integration.support.locks.DistributedLock;
import org.springframework.integration.support.locks.ExpirableLockRegistry;
import org.springframework.integration.support.locks.RenewableLockRegistry;

/**
 * A lock registry of Spring Integration whose locks are leases of a {@link LockClient}. At most one
 * thread of all processes that use the same store holds the lock of a key, within the backend's
 * {@linkplain dev.interlock.FailureModel failure model}.
 *
 * <pre>{@code
 * @Bean
 * InterlockLockRegistry lockRegistry(LockClient client) {
 *   return new InterlockLockRegistry(client, "orders/");
 * }
 * }</pre>
 *
 * <p>Keys are strings of any length. Each key is a lock of its own: no key ever waits for another
 * one. The name of the lock is the prefix and the key. If that has 255 characters (code points) or
 * more, its end is replaced by the SHA-256 of the whole. The locks have no state, so {@link
 * #obtain} may be called each time; it returns equal locks for equal keys. The locks are reentrant
 * for each thread, whichever object is used, like the {@link LeasedLock} of the same client and
 * name.
 *
 * <p>The client's {@linkplain LockClient#options() options} apply. By default leases are renewed in
 * the background until they are unlocked, and the TTL only determines when the lock of a dead
 * process is free. With {@link LockOptions#autoRenew()} off, a lock ends at its TTL, like the locks
 * of Spring's own registries without a {@code renewalTaskScheduler}. If a thread ends while it
 * holds a lock, the lock is no longer renewed.
 *
 * <p>After a loss:
 *
 * <ul>
 *   <li>every remaining {@code unlock} throws {@link java.util.ConcurrentModificationException}, as
 *       in Spring's registries, and ends its hold;
 *   <li>a nested {@code lock} or {@code tryLock} throws {@link
 *       org.springframework.dao.CannotAcquireLockException}. So {@code LockRegistryLeaderInitiator}
 *       revokes the leadership at its next heartbeat;
 *   <li>the lease of {@link #lease} has completed its loss signal.
 * </ul>
 *
 * <p>{@code lock}, {@code lockInterruptibly} and {@code tryLock} throw {@code
 * CannotAcquireLockException} if the store does not answer. {@code unlock} by a thread that does
 * not hold the lock throws {@link IllegalMonitorStateException}. {@code unlock} does not fail if
 * the store does not answer: the client repeats the release in the background. {@code newCondition}
 * throws {@link UnsupportedOperationException}. If the client is closed, locks that were held are
 * lost, and all other calls throw {@link IllegalStateException}.
 *
 * <p>The registry does not close the client, and is safe for use by several threads.
 */
public final class InterlockLockRegistry
    implements ExpirableLockRegistry<DistributedLock>, RenewableLockRegistry<DistributedLock> {

  /** The maximum length of a {@linkplain LockClient#lock(String) lock's name}, in code points. */
  private static final int MAX_NAME_LENGTH = 255;

  private final LockClient client;
  private final String prefix;

  /**
   * Creates a registry whose locks have their keys as names.
   *
   * @param client acquires the locks; the caller closes it
   */
  public InterlockLockRegistry(LockClient client) {
    this(client, "");
  }

  /**
   * Creates a registry that puts a prefix before every key.
   *
   * @param client acquires the locks; the caller closes it
   * @param prefix the prefix of every lock's name, such as {@code orders/}; may be empty
   */
  public InterlockLockRegistry(LockClient client, String prefix) {
    this.client = requireNonNull(client, "client");
    this.prefix = requireNonNull(prefix, "prefix");
  }

  /**
   * Returns the lock of a key. Does not contact the store.
   *
   * @param lockKey a string, not empty if there is no prefix
   * @return the lock
   * @throws IllegalArgumentException if the key is not a string, or not well-formed Unicode
   * @throws IllegalStateException if the client is closed
   */
  @Override
  public DistributedLock obtain(Object lockKey) {
    return lockOf(lockKey);
  }

  private RegistryLock lockOf(Object lockKey) {
    if (!(lockKey instanceof String key)) {
      throw new IllegalArgumentException(
          "the key of a lock must be a String, not "
              + (lockKey == null ? "null" : lockKey.getClass().getName()));
    }
    String name = nameOf(key);
    return new RegistryLock(this, name, client.lock(name).asLock());
  }

  private String nameOf(String key) {
    String name = prefix + key;
    if (name.codePointCount(0, name.length()) < MAX_NAME_LENGTH) {
      return name;
    }
    // Only such names have the maximum length, so they never equal the name of a shorter key.
    String digest = HexFormat.of().formatHex(sha256(name));
    return name.substring(0, name.offsetByCodePoints(0, MAX_NAME_LENGTH - digest.length()))
        + digest;
  }

  private static byte[] sha256(String name) {
    try {
      MessageDigest digest = MessageDigest.getInstance("SHA-256");
      digest.update(UTF_8.newEncoder().encode(CharBuffer.wrap(name)));
      return digest.digest();
    } catch (CharacterCodingException e) {
      throw new IllegalArgumentException("the key of a lock must be well-formed Unicode", e);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e); // every JVM has it
    }
  }

  /**
   * Returns the lease with which the current thread holds the lock of a key, for its {@linkplain
   * Lease#fencingToken() fencing token} and its {@linkplain Lease#onLoss() loss signal}. Unlock the
   * lock rather than releasing the lease.
   *
   * @param lockKey the key
   * @return the lease, which may have been lost; empty if the current thread does not hold the lock
   * @throws IllegalArgumentException if {@link #obtain} refuses the key
   * @throws IllegalStateException if the client is closed
   */
  public Optional<Lease> lease(Object lockKey) {
    return lockOf(lockKey).lease();
  }

  /**
   * Renews the lock of a key for a whole TTL from now, and waits until the store has confirmed
   * that. Not needed if the client renews automatically. Blocks for at most the request time-out.
   *
   * @param lockKey the key
   * @throws IllegalMonitorStateException if the current thread does not hold the lock
   * @throws IllegalStateException if the lock was lost; it cannot be brought back
   * @throws DataAccessResourceFailureException if the store did not confirm
   */
  @Override
  public void renewLock(Object lockKey) {
    renew(lockKey, null);
  }

  /**
   * Renews the lock of a key as {@link #renewLock(Object)} does, for the TTL with which it was
   * acquired. Unless the client renews automatically, that must not be shorter than the given TTL.
   *
   * @param lockKey the key
   * @param ttl the minimum time for which the lock has to be held
   * @throws IllegalArgumentException if the lock was acquired with a shorter TTL and is not renewed
   *     automatically; acquire it with {@link DistributedLock#lock(Duration)} for a longer one
   * @throws IllegalMonitorStateException if the current thread does not hold the lock
   * @throws IllegalStateException if the lock was lost; it cannot be brought back
   * @throws DataAccessResourceFailureException if the store did not confirm
   */
  @Override
  public void renewLock(Object lockKey, Duration ttl) {
    renew(lockKey, requireNonNull(ttl, "ttl"));
  }

  private void renew(Object lockKey, @Nullable Duration ttl) {
    Lease lease =
        lease(lockKey)
            .orElseThrow(
                () ->
                    new IllegalMonitorStateException(
                        "thread %s does not hold the lock \"%s\""
                            .formatted(Thread.currentThread().getName(), lockKey)));
    Duration acquiredTtl = lease.effectiveTtl();
    if (ttl != null && ttl.compareTo(acquiredTtl) > 0 && !client.options().autoRenew()) {
      throw new IllegalArgumentException(
          ("lock \"%s\" was acquired with a TTL of %s and is not renewed automatically, so it cannot"
                  + " be renewed for %s; acquire it with lock(ttl) or tryLock(waitTime, ttl)")
              .formatted(lease.name(), acquiredTtl, ttl));
    }
    try {
      lease.renewAsync().join();
    } catch (CompletionException e) {
      if (e.getCause() instanceof LeaseLostException loss) {
        throw new IllegalStateException("could not renew the lock: " + loss.getMessage(), loss);
      }
      if (e.getCause() instanceof LockException failure) {
        throw new DataAccessResourceFailureException(
            "could not renew the lock: " + failure.getMessage(), failure);
      }
      throw e.getCause() instanceof RuntimeException failure ? failure : e;
    }
  }

  /**
   * Does nothing, because the registry keeps no entries of locks that are not held.
   *
   * @param age ignored
   */
  @Override
  public void expireUnusedOlderThan(long age) {}

  LeasedLock lockWithTtl(String name, Duration ttl) {
    requireNonNull(ttl, "ttl");
    return client.lock(name, options -> options.ttl(ttl)).asLock();
  }

  @Override
  public String toString() {
    return "InterlockLockRegistry[" + prefix + "* on " + client.endpoint() + "]";
  }
}
