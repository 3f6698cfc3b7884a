package dev.interlock.tck.specimen;

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
import java.util.List;
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

  /** {@return the name of a claim for the store} */
  String nameFor(Claim claim) {
    return sent(claim.name());
  }

  /** {@return the TTL of a claim for the store} */
  Duration ttlFor(Claim claim) {
    return claim.ttl();
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
    return altered(claim, claim.name(), ttl, claim.label(), claim.share());
  }

  /** {@return the claim with another name, TTL, label and share} */
  static Claim altered(Claim claim, String name, Duration ttl, String label, Share share) {
    return new Claim(
        name,
        claim.id(),
        ttl,
        claim.autoRenew(),
        label,
        claim.issuedAt(),
        share,
        claim.reservation());
  }

  /** {@return the grant with another token} */
  static Grant withToken(Grant grant, long token) {
    return Grant.forTtl(grant.claim(), token).validUntil(grant.validUntil());
  }

  /** {@return the state of a held lock with another name and other holders} */
  static LockState altered(LockState state, String name, List<LockState.Holder> holders) {
    return LockStates.held(
        name,
        state.kind().orElseThrow(),
        state.limit().orElse(Share.UNLIMITED),
        holders,
        state.waiters());
  }

  /** A wait in a place of the queue. */
  interface Wait {
    Attempt await(Deadline until) throws InterruptedException;
  }

  /** {@return the place with another wait} */
  static Place altered(Place right, Wait wait) {
    return new Place() {
      @Override
      public Attempt await(Deadline until) throws InterruptedException {
        return wait.await(until);
      }

      @Override
      public void close() {
        right.close();
      }
    };
  }

  private Claim sent(Claim claim) {
    return altered(claim, nameFor(claim), ttlFor(claim), labelFor(claim), sent(claim.share()));
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
    return altered(right, until -> received(claim, right.await(until)));
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
    return state.isHeld() ? shown(altered(state, name, state.holders())) : LockStates.free(name);
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
