package dev.interlock.micrometer;

import static java.util.Objects.requireNonNull;

import dev.interlock.micrometer.LockObservation.HighKey;
import dev.interlock.micrometer.LockObservation.LowKey;
import io.micrometer.common.KeyValues;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationConvention;
import java.util.Locale;
import java.util.OptionalLong;

/**
 * The default names and keys of observations of locks. To change them, pass a subclass to {@link
 * ObservedLocks}, or register one with the observation registry as a {@link
 * io.micrometer.observation.GlobalObservationConvention}.
 */
public class LockObservationConvention implements ObservationConvention<LockContext> {

  private final LockObservation observation;

  /**
   * Creates the convention of acquisitions or of holds.
   *
   * @param observation the observation that the convention is for
   */
  public LockObservationConvention(LockObservation observation) {
    this.observation = requireNonNull(observation, "observation");
  }

  @Override
  public boolean supportsContext(Observation.Context context) {
    return context instanceof LockContext of && of.observation() == observation;
  }

  @Override
  public String getName() {
    return observation.getName();
  }

  @Override
  public String getContextualName(LockContext context) {
    return observation.getContextualName();
  }

  @Override
  public KeyValues getLowCardinalityKeyValues(LockContext context) {
    return KeyValues.of(
        LowKey.BACKEND.withValue(context.backend()),
        LowKey.KIND.withValue(context.kind().name().toLowerCase(Locale.ROOT)),
        LowKey.OUTCOME.withValue(context.outcome()));
  }

  @Override
  public KeyValues getHighCardinalityKeyValues(LockContext context) {
    KeyValues name = KeyValues.of(HighKey.NAME.withValue(context.lockName()));
    OptionalLong token = context.fencingToken();
    return token.isEmpty()
        ? name
        : name.and(HighKey.TOKEN.withValue(Long.toString(token.getAsLong())));
  }
}
