package dev.interlock.tck.specimen;

import dev.interlock.LockKind;
import dev.interlock.LockState;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockPage;
import dev.interlock.spi.LockStates;
import dev.interlock.spi.QueueingBackend;
import dev.interlock.spi.Renewal;
import dev.interlock.spi.Share;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** A backend that alters requests to the store, or its answers. */
abstract class AlteredClaims extends ForwardingQueue {

  AlteredClaims(QueueingBackend right) {
    super(right);
  }

  /** {@return the lock's name for the store} */
  String sent(String name) {
    return name;
  }

  /** {@return the TTL for the store} */
  Duration sent(Duration ttl) {
    return ttl;
  }

  /** {@return the name of a claim for the store} */
  String nameFor(Claim claim) {
    return sent(claim.name());
  }

  /** {@return the TTL of a claim for the store} */
  Duration ttlFor(Claim claim) {
    return sent(claim.ttl());
  }

  /** {@return the label of a claim for the store} */
  String labelFor(Claim claim) {
    return claim.label();
  }

  /** {@return the share that the store is asked for} */
  Share sent(Share share) {
    return share;
  }

  /** {@return the grant for the client} */
  Grant received(Grant grant) throws InterruptedException {
    return grant;
  }

  /** Called when an attempt that does not wait has found the lock held. */
  void busy(String name) throws InterruptedException {}

  /** {@return the claim with another TTL} */
  static Claim withTtl(Claim claim, Duration ttl) {
    return new Claim(
        claim.name(),
        claim.id(),
        ttl,
        claim.autoRenew(),
        claim.label(),
        claim.issuedAt(),
        claim.share(),
        claim.reservation());
  }

  private Claim sent(Claim claim) {
    return new Claim(
        nameFor(claim),
        claim.id(),
        ttlFor(claim),
        claim.autoRenew(),
        labelFor(claim),
        claim.issuedAt(),
        sent(claim.share()),
        claim.reservation());
  }

  private Attempt received(Claim claim, Attempt attempt) throws InterruptedException {
    if (!(attempt instanceof Attempt.Granted granted)) {
      return attempt;
    }
    Grant grant = granted.grant();
    long sentAt = grant.validUntil() - grant.effectiveTtl().toNanos();
    long validUntil = sentAt + claim.ttl().toNanos();
    return new Attempt.Granted(
        received(new Grant(claim, grant.token(), validUntil, claim.ttl(), claim.ttl(), true)));
  }

  @Override
  public final Attempt tryAcquire(Claim claim, Deadline deadline) throws InterruptedException {
    Attempt attempt = received(claim, super.tryAcquire(sent(claim), deadline));
    if (attempt instanceof Attempt.Busy) {
      busy(claim.name());
    }
    return attempt;
  }

  @Override
  public final Place join(Claim claim, Deadline deadline) throws InterruptedException {
    Place right = super.join(sent(claim), deadline);
    return new Place() {
      @Override
      public Attempt await(Deadline until) throws InterruptedException {
        return received(claim, right.await(until));
      }

      @Override
      public void close() {
        right.close();
      }
    };
  }

  @Override
  public Renewal renew(Grant grant, Deadline deadline) throws InterruptedException {
    // the client shortens anything longer than the TTL
    return super.renew(
        new Grant(
            sent(grant.claim()),
            grant.token(),
            grant.validUntil(),
            grant.effectiveTtl(),
            grant.validityPerConfirmation(),
            grant.expiresOnStore()),
        deadline);
  }

  @Override
  public boolean release(Claim claim, Deadline deadline) throws InterruptedException {
    return super.release(sent(claim), deadline);
  }

  @Override
  public boolean releaseAfter(Claim claim, Duration delay, Deadline deadline)
      throws InterruptedException {
    return super.releaseAfter(sent(claim), delay, deadline);
  }

  @Override
  public LockState inspect(String name, Deadline deadline) throws InterruptedException {
    LockState state = super.inspect(sent(name), deadline);
    if (!state.isHeld()) {
      return LockStates.free(name);
    }
    LockKind kind = state.kind().orElseThrow();
    LockState received =
        LockStates.held(
            name, kind, state.limit().orElse(Share.UNLIMITED), state.holders(), state.waiters());
    return shown(received);
  }

  private LockState shown(LockState state) {
    return LockStates.mapTokens(state, token -> shown(state.name(), token));
  }

  @Override
  public LockPage list(String prefix, @Nullable String cursor, int limit, Deadline deadline)
      throws InterruptedException {
    LockPage page = super.list(prefix, cursor, limit, deadline);
    return new LockPage(page.locks().stream().map(this::shown).toList(), page.next());
  }

  /** {@return the token to show for a held lock} */
  long shown(String name, long token) {
    return token;
  }

  @Override
  public boolean forceRelease(String name, Deadline deadline) throws InterruptedException {
    return super.forceRelease(sent(name), deadline);
  }

  @Override
  public boolean revoke(String name, Deadline deadline) throws InterruptedException {
    return super.revoke(sent(name), deadline);
  }
}
