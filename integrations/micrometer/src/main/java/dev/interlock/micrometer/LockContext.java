package dev.interlock.micrometer;

import dev.interlock.LockKind;
import io.micrometer.observation.Observation;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** The context of an observed acquisition or hold. */
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

  LockContext forHold(long fencingToken) {
    LockContext hold = new LockContext(LockObservation.HOLD, backend, kind, lockName);
    hold.token = fencingToken;
    return hold;
  }

  void setOutcome(String outcome) {
    this.outcome = outcome;
  }

  void setToken(long fencingToken) {
    token = fencingToken;
  }

  /** {@return whether an acquisition or a hold is observed} */
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

  /** {@return the lock's name, or the joined names of a set} */
  public String lockName() {
    return lockName;
  }

  /**
   * {@return the outcome, as in {@link LockMeter.Tag#OUTCOME}, or {@code none} before the end} An
   * acquisition whose lease was handed off within the client is {@code acquired}, too.
   */
  public String outcome() {
    String current = outcome;
    return current == null ? "none" : current;
  }

  /** {@return the fencing token; empty before there is a lease, or without tokens} */
  public OptionalLong fencingToken() {
    long current = token;
    return current == 0 ? OptionalLong.empty() : OptionalLong.of(current);
  }
}
