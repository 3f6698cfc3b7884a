package dev.interlock.spi;

import static dev.interlock.internal.Arguments.checkArgument;

import dev.interlock.LockConfigurationException;
import dev.interlock.LockKind;

/**
 * The part of a name that a {@link Claim} asks for. A name has a capacity, and each claim has a
 * weight. The store grants a claim if the weights of all holders of the name stay within the
 * capacity. Weights must be added in 64 bits: the sum of a reader and a writer exceeds an {@code
 * int}.
 *
 * <p>An exclusive lock is 1 of 1, permits of a semaphore are k of N, a reader is 1 of {@link
 * #UNLIMITED}, and a writer is all of that. All claims of a name have to {@linkplain #agreesWith
 * agree} on its kind and capacity while any of them holds it or waits for it.
 *
 * @param kind the kind of lock
 * @param weight the weight of the claim, from 1 to the capacity
 * @param capacity the capacity of the name
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
   * Returns the share of some permits of a semaphore.
   *
   * @param permits the number of permits, from 1 to the limit
   * @param limit the number of permits that there are
   * @return the share
   */
  public static Share ofSemaphore(int permits, int limit) {
    return new Share(LockKind.SEMAPHORE, permits, limit);
  }

  /** {@return whether this share excludes all other holders} */
  public boolean isWhole() {
    return weight == capacity;
  }

  /** {@return whether this is the share of an exclusive lock, which every backend supports} */
  public boolean isExclusive() {
    return kind == LockKind.EXCLUSIVE;
  }

  /**
   * {@return whether both shares can be of one name: they have the same kind and capacity}
   *
   * @param other another share
   */
  public boolean agreesWith(Share other) {
    return kind == other.kind && capacity == other.capacity;
  }

  /**
   * Returns the failure of a claim of this share if the name is in use with another kind or
   * capacity.
   *
   * @param name the lock's name
   * @param current the share of a claim that holds the name, or waits for it
   * @return the exception to throw
   */
  public LockConfigurationException disagreement(String name, Share current) {
    return new LockConfigurationException(
        "\""
            + name
            + "\" is in use as "
            + current.use()
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
