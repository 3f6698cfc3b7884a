package dev.interlock.micrometer;

import dev.interlock.LockKind;
import io.micrometer.observation.Observation;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** What is known of an acquisition or a hold that is observed. */
public final class LockContext extends Observation.Context {

  private final LockObservation observation;
  private final String backend;
  private final LockKind kind;
  private final String lockName;
  private volatile @Nullable String outcome;
  private volatile long token;

  LockContext(LockObservation observation, String backend, LockKind kind, String lockName) {
    this.observation = observation;
    this.backend = backend;
    this.kind = kind;
    this.lockName = lockName;
  }

  LockContext held(long fencingToken) {
    LockContext hold = new LockContext(LockObservation.HOLD, backend, kind, lockName);
    hold.token = fencingToken;
    return hold;
  }

  void end(String how) {
    outcome = how;
  }

  void token(long fencingToken) {
    token = fencingToken;
  }

  /** {@return what is observed} */
  public LockObservation observation() {
    return observation;
  }

  /** {@return the backend's name, such as {@code redis}} */
  public String backend() {
    return backend;
  }

  /** {@return the kind of lock} */
  public LockKind kind() {
    return kind;
  }

  /** {@return the lock's name; those of a set are joined} */
  public String lockName() {
    return lockName;
  }

  /**
   * {@return how it ended, as in {@link LockMeter.Tag#OUTCOME}; {@code none} while it has not} An
   * acquisition whose lease was handed off within the client is {@code acquired}, too.
   */
  public String outcome() {
    String how = outcome;
    return how == null ? "none" : how;
  }

  /** {@return the fencing token; empty before there is a lease, and if there are no tokens} */
  public OptionalLong fencingToken() {
    long known = token;
    return known == 0 ? OptionalLong.empty() : OptionalLong.of(known);
  }
}
