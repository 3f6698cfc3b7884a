package dev.interlock.micrometer;

import static java.util.Objects.requireNonNull;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.LockClient;
import dev.interlock.LockEvent;
import dev.interlock.LockKind;
import dev.interlock.LossReason;
import dev.interlock.ReleaseOutcome;
import dev.interlock.Subscription;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The timers and counters of one client in one registry. */
final class EventMeters {

  private record Key(LockKind kind, String group) {}

  private final MeterRegistry registry;
  private final Tags tags;
  private final LockGroups groups;

  @GuardedBy("this")
  private final Map<Key, Meters> meters = new HashMap<>();

  @GuardedBy("this")
  private final List<Meter> all = new ArrayList<>();

  @GuardedBy("this")
  private @Nullable Subscription subscription;

  @GuardedBy("this")
  private boolean ended;

  EventMeters(MeterRegistry registry, Tags tags, LockGroups groups) {
    this.registry = registry;
    this.tags = tags;
    this.groups = groups;
  }

  synchronized void follow(LockClient client) {
    subscription = client.onEvent(this::record);
    if (groups.isNone()) {
      // With zero, so that a monitoring system sees the first loss as an increase.
      var unused = metersOf(new Key(LockKind.EXCLUSIVE, LockGroups.NONE));
    }
  }

  synchronized void end() {
    ended = true;
    if (subscription != null) {
      subscription.close();
    }
    all.forEach(registry::remove);
  }

  private void record(LockEvent event) {
    String group = groups.of(event.name());
    synchronized (this) {
      // An event may be on its way when the subscription is closed.
      if (!ended) {
        metersOf(new Key(event.kind(), group)).record(event);
      }
    }
  }

  private synchronized <M extends Meter> M added(M meter) {
    all.add(meter);
    return meter;
  }

  @GuardedBy("this")
  private Meters metersOf(Key key) {
    return meters.computeIfAbsent(key, made -> new Meters(made.kind(), made.group()));
  }

  /** The tags of all meters of a kind. */
  static Tags tagsOf(Tags client, LockKind kind) {
    return client.and(LockMeter.Tag.KIND.asString(), valueOf(kind));
  }

  private static String valueOf(Enum<?> constant) {
    return constant.name().toLowerCase(Locale.ROOT);
  }

  /** Those of one kind of lock and one group. */
  private final class Meters {
    private final Tags common;
    private final Timer acquired;
    private final Timer handedOff;
    private final Map<LockEvent.GaveUp.Reason, Timer> gaveUp =
        new EnumMap<>(LockEvent.GaveUp.Reason.class);
    private final Map<ReleaseOutcome, Timer> released = new EnumMap<>(ReleaseOutcome.class);
    private final Timer lost;
    private final Map<LossReason, Counter> losses = new EnumMap<>(LossReason.class);
    private final Counter contended;
    private final Counter retries;
    private final Counter renewed;
    private final Counter notRenewed;
    private final Counter atRisk;

    Meters(LockKind kind, String group) {
      common = tagsOf(tags, kind).and(LockMeter.Tag.LOCK_GROUP.asString(), group);
      acquired = timer(LockMeter.ACQUIRE, "acquired");
      handedOff = timer(LockMeter.ACQUIRE, "handed_off");
      for (LockEvent.GaveUp.Reason reason : LockEvent.GaveUp.Reason.values()) {
        gaveUp.put(reason, timer(LockMeter.ACQUIRE, valueOf(reason)));
      }
      for (ReleaseOutcome outcome : ReleaseOutcome.values()) {
        if (outcome != ReleaseOutcome.ALREADY_LOST) {
          released.put(outcome, timer(LockMeter.HOLD, valueOf(outcome)));
        }
      }
      lost = timer(LockMeter.HOLD, "lost");
      for (LossReason reason : LossReason.values()) {
        losses.put(
            reason,
            counter(LockMeter.LOST, common.and(LockMeter.Tag.REASON.asString(), valueOf(reason))));
      }
      contended = counter(LockMeter.CONTENDED, common);
      retries = counter(LockMeter.RETRIES, common);
      renewed = counter(LockMeter.RENEWALS, withOutcome("confirmed"));
      notRenewed = counter(LockMeter.RENEWALS, withOutcome("failed"));
      atRisk = counter(LockMeter.AT_RISK, common);
    }

    private Tags withOutcome(String outcome) {
      return common.and(LockMeter.Tag.OUTCOME.asString(), outcome);
    }

    private Timer timer(LockMeter meter, String outcome) {
      return added(
          Timer.builder(meter.getName())
              .description(meter.description())
              .tags(withOutcome(outcome))
              .register(registry));
    }

    private Counter counter(LockMeter meter, Tags with) {
      return added(
          Counter.builder(meter.getName())
              .description(meter.description())
              .tags(with)
              .register(registry));
    }

    void record(LockEvent event) {
      if (event instanceof LockEvent.Acquired grant) {
        (grant.handedOff() ? handedOff : acquired).record(grant.waited());
      } else if (event instanceof LockEvent.Released release) {
        of(released, release.outcome()).record(release.held());
      } else if (event instanceof LockEvent.GaveUp end) {
        of(gaveUp, end.reason()).record(end.waited());
      } else if (event instanceof LockEvent.Waiting) {
        contended.increment();
      } else if (event instanceof LockEvent.AttemptFailed) {
        retries.increment();
      } else if (event instanceof LockEvent.Renewed) {
        renewed.increment();
      } else if (event instanceof LockEvent.RenewalFailed) {
        notRenewed.increment();
      } else if (event instanceof LockEvent.AtRisk) {
        atRisk.increment();
      } else if (event instanceof LockEvent.Lost loss) {
        lost.record(loss.held());
        of(losses, loss.loss().reason()).increment();
      }
    }
  }

  // Each has a meter for each constant of its enum.
  private static <K, M> M of(Map<K, M> meters, K key) {
    return requireNonNull(meters.get(key));
  }
}
