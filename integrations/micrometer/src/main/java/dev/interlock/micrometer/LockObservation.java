package dev.interlock.micrometer;

import io.micrometer.common.docs.KeyName;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationConvention;
import io.micrometer.observation.docs.ObservationDocumentation;

/**
 * The observations of {@link ObservedLocks}. Their names differ from those of {@link LockMeter}, so
 * that a registry which also derives meters from observations counts nothing twice.
 */
public enum LockObservation implements ObservationDocumentation {
  /** An acquisition, from the call to the lease or to the failure. */
  ACQUIRE("interlock.lock.acquire", "interlock.acquire"),

  /**
   * A hold, from the lease to the end of its release or to its loss. If work in {@link
   * dev.interlock.Lease#callWhileHeld} still runs then, the hold ends with the work.
   */
  HOLD("interlock.lock.hold", "interlock.hold");

  /** Keys with few values. */
  public enum LowKey implements KeyName {
    /** The backend's name. */
    BACKEND("backend"),
    /** The {@link dev.interlock.LockKind}, in lower case. */
    KIND("kind"),
    /** The outcome, as in {@link LockMeter.Tag#OUTCOME}; {@code none} before the end. */
    OUTCOME("outcome");

    private final String key;

    LowKey(String key) {
      this.key = key;
    }

    @Override
    public String asString() {
      return key;
    }
  }

  /** Keys with many values. */
  public enum HighKey implements KeyName {
    /** The lock's name. */
    NAME("interlock.lock.name"),
    /** The fencing token, once there is one. */
    TOKEN("interlock.lock.token");

    private final String key;

    HighKey(String key) {
      this.key = key;
    }

    @Override
    public String asString() {
      return key;
    }
  }

  /** Events during a hold. */
  public enum HoldEvent implements Observation.Event {
    /** The lease will be lost unless a renewal succeeds. */
    AT_RISK("interlock.at.risk"),
    /** The lease was lost. */
    LOST("interlock.lost");

    private final String event;

    HoldEvent(String event) {
      this.event = event;
    }

    @Override
    public String getName() {
      return event;
    }
  }

  private final String observation;
  private final String span;

  LockObservation(String observation, String span) {
    this.observation = observation;
    this.span = span;
  }

  @Override
  public String getName() {
    return observation;
  }

  @Override
  public String getContextualName() {
    return span;
  }

  @Override
  public Class<? extends ObservationConvention<? extends Observation.Context>>
      getDefaultConvention() {
    return LockObservationConvention.class;
  }

  @Override
  public KeyName[] getLowCardinalityKeyNames() {
    return LowKey.values();
  }

  @Override
  public KeyName[] getHighCardinalityKeyNames() {
    return HighKey.values();
  }

  @Override
  public Observation.Event[] getEvents() {
    return this == HOLD ? HoldEvent.values() : EMPTY_EVENT_NAMES;
  }
}
