package dev.interlock.internal;

import dev.interlock.LeaseLostException;
import dev.interlock.LockEvent;
import dev.interlock.LockException;
import dev.interlock.LockKind;
import dev.interlock.ReleaseOutcome;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.OptionalLong;

/** The events that listeners get. */
final class Events {

  private Events() {}

  /** The properties that all events have. */
  record Source(
      String name, LockKind kind, long token, long acquisition, Instant time, String label) {}

  private interface SourcedEvent extends LockEvent {
    Source source();

    @Override
    default String name() {
      return source().name();
    }

    @Override
    default LockKind kind() {
      return source().kind();
    }

    @Override
    default OptionalLong fencingToken() {
      long token = source().token();
      return token == 0 ? OptionalLong.empty() : OptionalLong.of(token);
    }

    @Override
    default long acquisition() {
      return source().acquisition();
    }

    @Override
    default Instant time() {
      return source().time();
    }

    @Override
    default String label() {
      return source().label();
    }
  }

  record Waiting(Source source, Optional<String> heldBy)
      implements SourcedEvent, LockEvent.Waiting {}

  record AttemptFailed(Source source, LockException failure)
      implements SourcedEvent, LockEvent.AttemptFailed {}

  record NotAcquired(
      Source source,
      Reason reason,
      Duration waited,
      Optional<Throwable> failure,
      Optional<String> heldBy)
      implements SourcedEvent, LockEvent.NotAcquired {}

  record Acquired(Source source, Duration waited, boolean handedOff)
      implements SourcedEvent, LockEvent.Acquired {}

  record Renewed(Source source, Duration remaining) implements SourcedEvent, LockEvent.Renewed {}

  record RenewalFailed(Source source, Duration remaining, LockException failure)
      implements SourcedEvent, LockEvent.RenewalFailed {}

  record AtRisk(Source source, Duration remaining, LockException failure)
      implements SourcedEvent, LockEvent.AtRisk {}

  record Lost(Source source, LeaseLostException loss, Duration heldFor)
      implements SourcedEvent, LockEvent.Lost {}

  record Released(Source source, ReleaseOutcome outcome, Duration heldFor)
      implements SourcedEvent, LockEvent.Released {}
}
