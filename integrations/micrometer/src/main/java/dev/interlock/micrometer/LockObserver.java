package dev.interlock.micrometer;

import dev.interlock.BackendInfo;
import dev.interlock.Capability;
import dev.interlock.LockKind;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationConvention;
import io.micrometer.observation.ObservationRegistry;

/** Begins observations of one client's locks. */
record LockObserver(
    BackendInfo backend,
    ObservationRegistry registry,
    ObservationConvention<LockContext> acquire,
    ObservationConvention<LockContext> hold) {

  ObservedAcquisition begin(LockKind kind, String name) {
    LockContext context = new LockContext(LockObservation.ACQUIRE, backend.name(), kind, name);
    Observation parent = registry.getCurrentObservation();
    Observation observation =
        Observation.createNotStarted(acquire, () -> context, registry).start();
    return new ObservedAcquisition(this, context, observation, parent);
  }

  boolean hasTokens() {
    return backend.has(Capability.FENCING);
  }
}
