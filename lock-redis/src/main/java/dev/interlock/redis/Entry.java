package dev.interlock.redis;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.interlock.redis.Wire.Call;
import dev.interlock.redis.server.LockKeys;
import dev.interlock.redis.server.Script;
import dev.interlock.redis.server.StoredHold;
import dev.interlock.redis.server.StoredShare;
import dev.interlock.redis.server.StoredValue;
import dev.interlock.spi.Claim;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** A claim as it is on Redis, and what to ask for it. */
abstract class Entry {

  private static final byte[] LISTENING = {'1'};

  final LockKeys keys;

  private Entry(LockKeys keys) {
    this.keys = keys;
  }

  static Entry of(Claim claim, LockKeys keys) {
    return claim.share().isExclusive() ? new Exclusive(claim, keys) : new Shared(claim, keys);
  }

  /**
   * Asks for the lock.
   *
   * @param waiter the id of this client in the line of those who wait
   * @param listening whether a watch hears of releases
   */
  abstract Call acquire(byte[] ttl, byte[] retention, byte[] waiter, boolean listening);

  abstract Call renew(byte[] ttl, byte[] retention);

  abstract Call release();

  /** Asks to keep the lock for a time without the claim. */
  abstract Call releaseAfter(Claim claim, byte[] delay, byte[] retention);

  /**
   * Returns the label of who holds the lock, from what a busy answer gives; null if it has none.
   */
  abstract @Nullable String holder(String stored);

  static byte[] number(long value) {
    return Long.toString(value).getBytes(UTF_8);
  }

  /** Has the key to itself. */
  private static final class Exclusive extends Entry {
    private final byte[] value;
    private final Duration reservation;

    Exclusive(Claim claim, LockKeys keys) {
      super(keys);
      this.reservation = claim.reservation();
      this.value = (claim.id() + '|' + claim.holder()).getBytes(UTF_8);
    }

    @Override
    Call acquire(byte[] ttl, byte[] retention, byte[] waiter, boolean listening) {
      if (reservation.isZero() && !listening) {
        return new Call(Script.ACQUIRE, keys, value, ttl, retention);
      }
      byte[] millis = number(reservation.plusNanos(999_999).toMillis());
      return listening
          ? new Call(Script.ACQUIRE, keys, value, ttl, retention, waiter, millis, LISTENING)
          : new Call(Script.ACQUIRE, keys, value, ttl, retention, waiter, millis);
    }

    @Override
    Call renew(byte[] ttl, byte[] retention) {
      return new Call(Script.RENEW, keys, value, ttl, retention);
    }

    @Override
    Call release() {
      return new Call(Script.RELEASE, keys, value);
    }

    @Override
    Call releaseAfter(Claim claim, byte[] delay, byte[] retention) {
      byte[] deferred = (claim.deferredId() + '|' + claim.holder()).getBytes(UTF_8);
      return new Call(Script.RELEASE_AFTER, keys, value, deferred, delay, retention);
    }

    @Override
    @Nullable String holder(String stored) {
      return stored.isEmpty() ? null : StoredValue.holder(stored);
    }
  }

  /** One of several holds. */
  private static final class Shared extends Entry {
    private final byte[] head;
    private final byte[] hold;
    private final byte[] id;
    private final byte[] weight;
    private final byte[] capacity;
    private final byte[] reservation;
    private final boolean isInLine;

    Shared(Claim claim, LockKeys keys) {
      super(keys);
      this.head = StoredShare.head(claim.share()).getBytes(UTF_8);
      this.hold = StoredShare.hold(claim).getBytes(UTF_8);
      this.id = claim.id().getBytes(UTF_8);
      this.weight = number(claim.share().weight());
      this.capacity = number(claim.share().capacity());
      this.reservation = number(claim.reservation().plusNanos(999_999).toMillis());
      this.isInLine = StoredShare.isInLine(claim);
    }

    /** Who waits is in the line, whether it hears of releases yet or not; readers need no place. */
    @Override
    Call acquire(byte[] ttl, byte[] retention, byte[] waiter, boolean listening) {
      return isInLine
          ? new Call(
              Script.SHARE_ACQUIRE,
              keys,
              head,
              hold,
              id,
              weight,
              capacity,
              ttl,
              retention,
              reservation,
              waiter)
          : new Call(
              Script.SHARE_ACQUIRE,
              keys,
              head,
              hold,
              id,
              weight,
              capacity,
              ttl,
              retention,
              reservation);
    }

    @Override
    Call renew(byte[] ttl, byte[] retention) {
      return new Call(Script.SHARE_RENEW, keys, hold, ttl, retention);
    }

    @Override
    Call release() {
      return new Call(Script.SHARE_RELEASE, keys, head, hold, id, weight, capacity);
    }

    @Override
    Call releaseAfter(Claim claim, byte[] delay, byte[] retention) {
      return new Call(
          Script.SHARE_RELEASE_AFTER,
          keys,
          hold,
          id,
          StoredShare.deferredHold(claim).getBytes(UTF_8),
          claim.deferredId().getBytes(UTF_8),
          delay,
          retention);
    }

    @Override
    @Nullable String holder(String stored) {
      StoredHold present = StoredHold.read(stored);
      return present == null ? null : present.holder();
    }
  }
}
