package dev.interlock.spi;

import static dev.interlock.internal.Arguments.checkArgument;

import dev.interlock.LockConfigurationException;
import dev.interlock.LockKind;

/**
 * How much of a name a {@link Claim} takes. A name has a capacity, each claim a weight, and the
 * store grants a claim while the weights of all that hold the name stay within the capacity.
 *
 * <p>An exclusive lock is 1 of 1, a semaphore k of N, a reader 1 of {@link #UNLIMITED}, and a
 * writer all of that. All claims of a name have to {@linkplain #agreesWith agree} on its kind and
 * capacity while any of them is held or waits.
 *
 * @param kind what the name is used as
 * @param weight how much the claim takes, from 1 to the capacity
 * @param capacity how much there is
 */
public record Share(LockKind kind, int weight, int capacity) {

  /** The capacity of a read-write lock: more readers than any store can keep. */
  public static final int UNLIMITED = Integer.MAX_VALUE;

  /** An exclusive lock. */
  public static final Share EXCLUSIVE = new Share(LockKind.EXCLUSIVE, 1, 1);

  /** A reader of a read-write lock. */
  public static final Share READ = new Share(LockKind.READ_WRITE, 1, UNLIMITED);

  /** The writer of a read-write lock. */
  public static final Share WRITE = new Share(LockKind.READ_WRITE, UNLIMITED, UNLIMITED);

  /**
   * Checks the weight.
   *
   * @param kind see the record
   * @param weight see the record
   * @param capacity see the record
   */
  public Share {
    checkArgument(
        weight >= 1 && weight <= capacity, "the weight must be 1 to %s, not %s", capacity, weight);
  }

  /**
   * Returns some permits of a semaphore.
   *
   * @param permits how many, from 1 to the limit
   * @param limit how many there are
   * @return the share
   */
  public static Share ofSemaphore(int permits, int limit) {
    return new Share(LockKind.SEMAPHORE, permits, limit);
  }

  /** {@return whether it excludes all other holders} */
  public boolean isWhole() {
    return weight == capacity;
  }

  /** {@return whether it is that of an exclusive lock, the only kind that every backend has} */
  public boolean isExclusive() {
    return kind == LockKind.EXCLUSIVE;
  }

  /**
   * {@return whether both may be of one name: same kind, same capacity}
   *
   * @param other another share
   */
  public boolean agreesWith(Share other) {
    return kind == other.kind && capacity == other.capacity;
  }

  /**
   * Returns the failure of a claim that disagrees with what the name is in use as.
   *
   * @param name the lock's name
   * @param present the share of a claim that holds the name, or waits for it
   * @return the exception to throw
   */
  public LockConfigurationException disagreement(String name, Share present) {
    return new LockConfigurationException(
        "\""
            + name
            + "\" is in use as "
            + present.use()
            + " and cannot be acquired as "
            + use()
            + "; all clients have to use a name in the same way, or wait until it is free");
  }

  private String use() {
    return switch (kind) {
      case EXCLUSIVE -> "an exclusive lock";
      case READ_WRITE -> "a read-write lock";
      case SEMAPHORE -> "a semaphore of " + capacity + (capacity == 1 ? " permit" : " permits");
    };
  }
}
