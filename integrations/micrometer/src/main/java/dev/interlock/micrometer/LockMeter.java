package dev.interlock.micrometer;

import static io.micrometer.core.instrument.Meter.Type.COUNTER;
import static io.micrometer.core.instrument.Meter.Type.GAUGE;
import static io.micrometer.core.instrument.Meter.Type.TIMER;

import dev.interlock.LockEvent;
import dev.interlock.LockKind;
import dev.interlock.LossReason;
import dev.interlock.ReleaseOutcome;
import io.micrometer.common.docs.KeyName;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.docs.MeterDocumentation;
import org.jspecify.annotations.Nullable;

/**
 * The meters that {@link LockMetrics} registers. All have the tags {@link Tag#BACKEND}, {@link
 * Tag#CLIENT} and {@link Tag#KIND}.
 */
public enum LockMeter implements MeterDocumentation {
  /** The duration of acquisitions, from the call to the lease or to the failure. */
  ACQUIRE(
      "interlock.acquire",
      TIMER,
      "Time from the call to the lease, or to the failure",
      Tag.LOCK_GROUP,
      Tag.OUTCOME),

  /** The duration of holds, from the grant to the end of the release or to the loss. */
  HOLD(
      "interlock.hold",
      TIMER,
      "Time from the grant to the end of the release, or to the loss",
      Tag.LOCK_GROUP,
      Tag.OUTCOME),

  /** Acquisitions that had to wait for a holder or for earlier waiters. */
  CONTENDED(
      "interlock.contended",
      COUNTER,
      "Acquisitions that had to wait for a holder or for earlier waiters",
      Tag.LOCK_GROUP),

  /** Attempts that failed because the store was unavailable, and were retried. */
  RETRIES(
      "interlock.retries",
      COUNTER,
      "Attempts that failed because the store was unavailable, and were retried",
      Tag.LOCK_GROUP),

  /** Renewals of leases. */
  RENEWALS("interlock.renewals", COUNTER, "Renewals of leases", Tag.LOCK_GROUP, Tag.OUTCOME),

  /** Warnings that a lease will be lost unless a renewal succeeds. */
  AT_RISK(
      "interlock.at.risk",
      COUNTER,
      "Warnings that a lease will be lost unless a renewal succeeds",
      Tag.LOCK_GROUP),

  /** Leases that were lost. */
  LOST("interlock.lost", COUNTER, "Leases that were lost", Tag.LOCK_GROUP, Tag.REASON),

  /** The leases that are held at this moment. */
  HELD("interlock.held", GAUGE, "Leases held now"),

  /** The age of the oldest lease that is held. */
  HELD_LONGEST("interlock.held.longest", GAUGE, "Age of the oldest lease held now"),

  /** The acquisitions that are waiting at this moment. */
  WAITING("interlock.waiting", GAUGE, "Acquisitions waiting now"),

  /** The age of the oldest acquisition that is waiting. */
  WAITING_LONGEST("interlock.waiting.longest", GAUGE, "Age of the oldest acquisition waiting now");

  /** The keys of the tags. The set of values of each is small and bounded. */
  public enum Tag implements KeyName {
    /** The backend's name, such as {@code redis}. */
    BACKEND("backend"),

    /** The client's name in the metrics, as given to {@link LockMetrics}. */
    CLIENT("client"),

    /** The {@link LockKind}, in lower case: {@code exclusive}, {@code read_write}. */
    KIND("kind"),

    /** The group that {@link LockGroups} assigns to the lock's name; {@code none} without them. */
    LOCK_GROUP("lock.group"),

    /**
     * The outcome. Of an acquisition: {@code acquired}, {@code handed_off}, or a {@link
     * LockEvent.NotAcquired.Reason} in lower case. Of a hold: {@code lost}, or a {@link
     * ReleaseOutcome} in lower case. Of a renewal: {@code confirmed} or {@code failed}.
     */
    OUTCOME("outcome"),

    /** The {@link LossReason}, in lower case. */
    REASON("reason");

    private final String key;

    Tag(String key) {
      this.key = key;
    }

    @Override
    public String asString() {
      return key;
    }
  }

  private final String meter;
  private final Meter.Type type;
  private final String description;

  @SuppressWarnings("ImmutableEnumChecker") // never written
  private final KeyName[] own;

  LockMeter(String meter, Meter.Type type, String description, KeyName... own) {
    this.meter = meter;
    this.type = type;
    this.description = description;
    this.own = own;
  }

  @Override
  public String getName() {
    return meter;
  }

  @Override
  public Meter.Type getType() {
    return type;
  }

  @Override
  public @Nullable String getBaseUnit() {
    return this == HELD_LONGEST || this == WAITING_LONGEST ? "seconds" : null;
  }

  @Override
  public KeyName[] getKeyNames() {
    return KeyName.merge(new KeyName[] {Tag.BACKEND, Tag.CLIENT, Tag.KIND}, own);
  }

  /** {@return one line that describes the meter} */
  public String description() {
    return description;
  }
}
