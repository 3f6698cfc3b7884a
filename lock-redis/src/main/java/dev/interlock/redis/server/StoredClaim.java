package dev.interlock.redis.server;

import static dev.interlock.redis.server.ScriptCall.number;
import static java.nio.charset.StandardCharsets.UTF_8;

import dev.interlock.LockConfigurationException;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Share;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A claim as it is stored: as the value of the lock's key, or as one of several holds in a sorted
 * set. Makes the calls for the claim that are the same on every backend.
 */
public final class StoredClaim {

  private final Claim claim;
  private final LockKeys keys;
  private final String id;
  private final byte[] owner;

  private StoredClaim(Claim claim, LockKeys keys) {
    this.claim = claim;
    this.keys = keys;
    this.id = claim.id();
    String text = isExclusive() ? id + '|' + claim.label() : StoredShare.hold(claim);
    this.owner = text.getBytes(UTF_8);
  }

  /**
   * {@return the stored form of a claim}
   *
   * @param claim any claim
   * @param namespace the prefix of all keys
   */
  public static StoredClaim of(Claim claim, String namespace) {
    return new StoredClaim(claim, LockKeys.of(namespace, claim.name()));
  }

  /** {@return whether the claim has the key to itself} */
  public boolean isExclusive() {
    return claim.share().isExclusive();
  }

  /** {@return the keys of the lock} */
  public LockKeys keys() {
    return keys;
  }

  /** {@return the claim's id; kept here because the claim renders it anew for each call} */
  public String id() {
    return id;
  }

  /** {@return the text by which scripts recognize the claim: the whole value, or the hold} */
  public byte[] owner() {
    return owner;
  }

  /** {@return the arguments that describe the claim to the scripts that grant or end it} */
  public List<byte[]> identity() {
    return isExclusive() ? List.of(owner) : identity(id, owner);
  }

  private List<byte[]> identity(String id, byte[] hold) {
    Share share = claim.share();
    return List.of(
        StoredShare.head(share).getBytes(UTF_8),
        hold,
        id.getBytes(UTF_8),
        number(share.weight()),
        number(share.capacity()));
  }

  /** {@return whether the claim has a place in the line of waiters} */
  public boolean isInLine() {
    return isExclusive() ? !claim.reservation().isZero() : StoredShare.isInLine(claim);
  }

  /** {@return the time for which the claim's place in the line is kept, in milliseconds} */
  public byte[] reservation() {
    return number(claim.reservation().plusNanos(999_999).toMillis());
  }

  /** {@return the call that releases the lock if the claim has it} */
  public ScriptCall release() {
    return release(identity());
  }

  /** {@return the call that releases the lock if it is {@linkplain #releaseAfter kept}} */
  public ScriptCall releaseDeferred() {
    return release(isExclusive() ? List.of(deferred()) : identity(claim.deferredId(), deferred()));
  }

  private ScriptCall release(List<byte[]> arguments) {
    return new ScriptCall(
        isExclusive() ? Script.RELEASE : Script.SHARE_RELEASE, List.of(keys.lock()), arguments);
  }

  /**
   * {@return the call that defers the release: if the claim has the lock, the lock stays taken for
   * a time without the claim}
   *
   * @param delay that time, in milliseconds
   * @param retention the time for which the fence is kept, in milliseconds
   */
  public ScriptCall releaseAfter(byte[] delay, byte[] retention) {
    List<byte[]> lock = List.of(keys.lock());
    if (isExclusive()) {
      return new ScriptCall(
          Script.RELEASE_AFTER, lock, List.of(owner, deferred(), delay, retention));
    }
    byte[] deferredId = claim.deferredId().getBytes(UTF_8);
    return new ScriptCall(
        Script.SHARE_RELEASE_AFTER,
        lock,
        List.of(owner, id.getBytes(UTF_8), deferred(), deferredId, delay, retention));
  }

  private byte[] deferred() {
    String text =
        isExclusive() ? claim.deferredId() + '|' + claim.label() : StoredShare.deferredHold(claim);
    return text.getBytes(UTF_8);
  }

  /**
   * {@return the label of the holder; null if there is none}
   *
   * @param stored the holder's text in the reply {@code busy}
   */
  public @Nullable String holder(String stored) {
    if (isExclusive()) {
      return stored.isEmpty() ? null : StoredValue.holder(stored);
    }
    StoredHold hold = StoredHold.read(stored);
    return hold == null ? null : hold.holder();
  }

  /**
   * {@return the failure of the claim if the name is in use as another kind of lock; null for any
   * other content of the key}
   *
   * @param found the content of the key in the reply {@code foreign}
   */
  public @Nullable LockConfigurationException disagreement(String found) {
    Share currentUse = StoredShare.use(found);
    return currentUse == null ? null : claim.share().disagreement(claim.name(), currentUse);
  }
}
