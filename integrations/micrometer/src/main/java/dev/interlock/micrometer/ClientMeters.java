package dev.interlock.micrometer;

import static java.util.Objects.requireNonNull;

import com.google.errorprone.annotations.CanIgnoreReturnValue;
import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.LeaseInfo;
import dev.interlock.LockClient;
import dev.interlock.LockEvent;
import dev.interlock.LockKind;
import dev.interlock.LossReason;
import dev.interlock.Registration;
import dev.interlock.ReleaseOutcome;
import dev.interlock.WaiterInfo;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.TimeGauge;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The meters of one client in one registry. */
final class ClientMeters {

  private record Key(LockKind kind, String group) {}

  private final MeterRegistry registry;
  private final Tags tags;
  private final LockGroups groups;

  @GuardedBy("this")
  private final Map<Key, EventMeters> meters = new HashMap<>();

  @GuardedBy("this")
  private final List<Meter> all = new ArrayList<>();

  @GuardedBy("this")
  private @Nullable Registration registration;

  @GuardedBy("this")
  private boolean ended;

  ClientMeters(MeterRegistry registry, Tags tags, LockGroups groups) {
    this.registry = registry;
    this.tags = tags;
    this.groups = groups;
  }

  void addGauges(LockClient client, LockKind kind) {
    addGauge(LockMeter.HELD, kind, client, it -> leases(it, kind).count());
    addLongest(
        LockMeter.HELD_LONGEST, kind, client, it -> leases(it, kind).map(LeaseInfo::heldFor));
    addGauge(LockMeter.WAITING, kind, client, it -> waiters(it, kind).count());
    addLongest(
        LockMeter.WAITING_LONGEST, kind, client, it -> waiters(it, kind).map(WaiterInfo::waited));
  }

  private void addGauge(
      LockMeter meter, LockKind kind, LockClient client, ToDoubleFunction<LockClient> value) {
    add(
        Gauge.builder(meter.getName(), client, value)
            .description(meter.description())
            .tags(tagsOf(kind))
            .register(registry));
  }

  private void addLongest(
      LockMeter meter,
      LockKind kind,
      LockClient client,
      Function<LockClient, Stream<Duration>> durations) {
    add(
        TimeGauge.builder(
                meter.getName(),
                client,
                TimeUnit.NANOSECONDS,
                it ->
                    durations
                        .apply(it)
                        .max(Comparator.naturalOrder())
                        .orElse(Duration.ZERO)
                        .toNanos())
            .description(meter.description())
            .tags(tagsOf(kind))
            .register(registry));
  }

  private static Stream<LeaseInfo> leases(LockClient client, LockKind kind) {
    return client.leases().stream().filter(lease -> lease.kind() == kind);
  }

  private static Stream<WaiterInfo> waiters(LockClient client, LockKind kind) {
    return client.waiters().stream().filter(waiter -> waiter.kind() == kind);
  }

  synchronized void follow(LockClient client) {
    registration = client.onEvent(this::record);
    if (groups.isNone()) {
      // Registered with zero, so that a monitoring system sees the first loss as an increase.
      metersOf(new Key(LockKind.EXCLUSIVE, LockGroups.NONE));
    }
  }

  synchronized void end() {
    ended = true;
    if (registration != null) {
      registration.close();
    }
    all.forEach(registry::remove);
  }

  private void record(LockEvent event) {
    String group = groups.of(event.name());
    synchronized (this) {
      // An event may still arrive after the registration is closed.
      if (!ended) {
        metersOf(new Key(event.kind(), group)).record(event);
      }
    }
  }

  @CanIgnoreReturnValue
  private synchronized <M extends Meter> M add(M meter) {
    all.add(meter);
    return meter;
  }

  @CanIgnoreReturnValue
  @GuardedBy("this")
  private EventMeters metersOf(Key key) {
    return meters.computeIfAbsent(key, EventMeters::new);
  }

  private Tags tagsOf(LockKind kind) {
    return tags.and(LockMeter.Tag.KIND.asString(), valueOf(kind));
  }

  private static String valueOf(Enum<?> constant) {
    return constant.name().toLowerCase(Locale.ROOT);
  }

  /** The timers and counters of one kind of lock and one group. */
  private final class EventMeters {
    private final Tags common;
    private final Map<String, Timer> acquireTimers;
    private final Map<String, Timer> holdTimers;
    private final Map<String, Counter> lossCounters;
    private final Map<String, Counter> renewalCounters;
    private final Counter contended;
    private final Counter retries;
    private final Counter atRisk;

    EventMeters(Key key) {
      common = tagsOf(key.kind()).and(LockMeter.Tag.LOCK_GROUP.asString(), key.group());
      acquireTimers =
          byTag(
              values(LockEvent.NotAcquired.Reason.values(), "acquired", "handed_off"),
              outcome -> timer(LockMeter.ACQUIRE, outcome));
      holdTimers =
          byTag(
              values(ReleaseOutcome.values(), "lost")
                  .filter(outcome -> !outcome.equals(valueOf(ReleaseOutcome.ALREADY_LOST))),
              outcome -> timer(LockMeter.HOLD, outcome));
      lossCounters =
          byTag(
              values(LossReason.values()),
              reason -> counter(LockMeter.LOST, with(LockMeter.Tag.REASON, reason)));
      renewalCounters =
          byTag(
              Stream.of("confirmed", "failed"),
              outcome -> counter(LockMeter.RENEWALS, with(LockMeter.Tag.OUTCOME, outcome)));
      contended = counter(LockMeter.CONTENDED, common);
      retries = counter(LockMeter.RETRIES, common);
      atRisk = counter(LockMeter.AT_RISK, common);
    }

    private static Stream<String> values(Enum<?>[] constants, String... further) {
      return Stream.concat(Arrays.stream(constants).map(ClientMeters::valueOf), Stream.of(further));
    }

    private static <M> Map<String, M> byTag(Stream<String> values, Function<String, M> meter) {
      return values.collect(Collectors.toMap(Function.identity(), meter));
    }

    private Tags with(LockMeter.Tag tag, String value) {
      return common.and(tag.asString(), value);
    }

    private Timer timer(LockMeter meter, String outcome) {
      return add(
          Timer.builder(meter.getName())
              .description(meter.description())
              .tags(with(LockMeter.Tag.OUTCOME, outcome))
              .register(registry));
    }

    private Counter counter(LockMeter meter, Tags tagged) {
      return add(
          Counter.builder(meter.getName())
              .description(meter.description())
              .tags(tagged)
              .register(registry));
    }

    void record(LockEvent event) {
      if (event instanceof LockEvent.Acquired grant) {
        meterOf(acquireTimers, grant.handedOff() ? "handed_off" : "acquired")
            .record(grant.waited());
      } else if (event instanceof LockEvent.NotAcquired end) {
        meterOf(acquireTimers, valueOf(end.reason())).record(end.waited());
      } else if (event instanceof LockEvent.Released release) {
        meterOf(holdTimers, valueOf(release.outcome())).record(release.heldFor());
      } else if (event instanceof LockEvent.Lost loss) {
        meterOf(holdTimers, "lost").record(loss.heldFor());
        meterOf(lossCounters, valueOf(loss.loss().reason())).increment();
      } else if (event instanceof LockEvent.Renewed) {
        meterOf(renewalCounters, "confirmed").increment();
      } else if (event instanceof LockEvent.RenewalFailed) {
        meterOf(renewalCounters, "failed").increment();
      } else if (event instanceof LockEvent.Waiting) {
        contended.increment();
      } else if (event instanceof LockEvent.AttemptFailed) {
        retries.increment();
      } else if (event instanceof LockEvent.AtRisk) {
        atRisk.increment();
      }
    }

    private static <M> M meterOf(Map<String, M> meters, String value) {
      return requireNonNull(meters.get(value));
    }
  }
}
