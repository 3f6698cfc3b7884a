package dev.interlock.storm.verdict;

import dev.interlock.storm.workers.Client;
import dev.interlock.storm.workers.Entry;
import dev.interlock.tck.history.Event;
import dev.interlock.tck.process.Journal;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Everything that the clients of a storm have recorded: events, leases and other entries. */
public final class RecordedHistory {
  /** The longest time between the withdrawal of a place and its record. */
  private static final long MAX_RECORDING_DELAY_NANOS = Duration.ofSeconds(2).toNanos();

  private static final Set<String> RELEASE_OUTCOMES = Set.of("RELEASED", "HANDED_OFF");

  /** The events for the history checker. */
  final List<Event> events = new ArrayList<>();

  /**
   * The events with earlier requests: each lease counts as requested when its place in the queue
   * may have been entered. A thread may take over the place of another thread of its client that
   * has stopped waiting, and the store may already have granted the lock to that place.
   */
  final List<Event> eventsFromPlaces = new ArrayList<>();

  /** The leases in the order of their grants. */
  final List<Lease> leases = new ArrayList<>();

  public final List<ResourceUse> resources = new ArrayList<>();

  /** The time for which the store keeps a lease without renewal, in nanoseconds. */
  long effectiveTtl;

  private final List<Object> entries = new ArrayList<>();

  /** Threads and connections of one client, after its first leases and in the end. */
  public record ResourceUse(
      String client,
      int threadsBefore,
      int threadsAfter,
      int connectionsBefore,
      int connectionsAfter) {}

  static final class Lease {
    /** The client, without the number of its incarnation. */
    final String client;

    final Event.Granted grant;

    /** The end of its validity, whether or not it ended before. */
    long validUntil;

    private long ended = Long.MAX_VALUE;

    /** The time at which its loss was reported. */
    long reported = Long.MAX_VALUE;

    /** The outcome of its release; empty if there was none, or the process was killed meanwhile. */
    private String outcome = "";

    private Lease(String client, Event.Granted grant) {
      this.client = client;
      this.grant = grant;
      this.validUntil = grant.validUntil();
    }

    long token() {
      return grant.token();
    }

    long from() {
      return grant.at();
    }

    /** {@return whether the lease excludes all others} */
    boolean isWhole() {
      return grant.weight() == grant.capacity();
    }

    /** {@return the time until which the holder relied on the lease} */
    long until() {
      return Math.min(validUntil, ended);
    }

    boolean isLost() {
      return reported != Long.MAX_VALUE;
    }

    boolean isReleased() {
      return RELEASE_OUTCOMES.contains(outcome);
    }
  }

  /** Reads the journals of some clients. */
  public static RecordedHistory read(List<? extends Client> clients) throws IOException {
    RecordedHistory records = new RecordedHistory();
    for (Client client : clients) {
      for (Path journal : client.journals()) {
        records.add(
            client.name(), Journal.<Object>read(journal, List.of(Event.class, Entry.class)));
      }
    }
    records.sort();
    return records;
  }

  /** Sorts the leases by their grants. Must be called after the last journal was added. */
  void sort() {
    leases.sort(Comparator.comparingLong(Lease::from));
  }

  /** Adds one incarnation's journal. */
  void add(String client, List<?> journal) {
    Map<String, Lease> byId = new HashMap<>();
    List<Entry.NoLease> lastFirst =
        journal.stream()
            .filter(Entry.NoLease.class::isInstance)
            .map(Entry.NoLease.class::cast)
            .sorted(Comparator.comparingLong(Entry.NoLease::at).reversed())
            .toList();
    List<Entry.Size> sizes = new ArrayList<>();
    for (Object entry : journal) {
      if (entry instanceof Event event) {
        events.add(event);
        eventsFromPlaces.add(
            event instanceof Event.Granted grant ? fromPlace(grant, lastFirst) : event);
      } else {
        entries.add(entry);
      }
      if (entry instanceof Event.Granted granted) {
        Lease lease = new Lease(client, granted);
        byId.put(granted.lease(), lease);
        leases.add(lease);
      } else if (entry instanceof Event.Extended extended) {
        Lease lease = leaseOf(byId, extended.lease());
        lease.validUntil = Math.max(lease.validUntil, extended.validUntil());
      } else if (entry instanceof Event.Ended end) {
        Lease lease = leaseOf(byId, end.lease());
        lease.ended = Math.min(lease.ended, end.at());
      } else if (entry instanceof Entry.LossReported reported) {
        Lease lease = leaseOf(byId, reported.lease());
        lease.reported = Math.min(lease.reported, reported.at());
      } else if (entry instanceof Entry.Released released) {
        leaseOf(byId, released.lease()).outcome = released.outcome();
      } else if (entry instanceof Entry.EffectiveTtl ttl) {
        effectiveTtl = Math.max(effectiveTtl, ttl.nanos());
      } else if (entry instanceof Entry.Size size) {
        sizes.add(size);
      }
    }
    if (sizes.size() == 2) {
      Entry.Size before = sizes.get(0);
      Entry.Size after = sizes.get(1);
      resources.add(
          new ResourceUse(
              client,
              before.threads(),
              after.threads(),
              before.connections(),
              after.connections()));
    }
  }

  /** {@return the grant with the time of the request that may have entered its place} */
  private static Event.Granted fromPlace(Event.Granted grant, List<Entry.NoLease> lastFirst) {
    long requestedAt = grant.requestedAt();
    for (Entry.NoLease attempt : lastFirst) {
      if (attempt.name().equals(grant.name())
          && attempt.at() >= requestedAt
          && attempt.at() - MAX_RECORDING_DELAY_NANOS <= grant.at()) {
        requestedAt = Math.min(requestedAt, attempt.requestedAt());
      }
    }
    return new Event.Granted(
        grant.lease(),
        grant.name(),
        grant.token(),
        grant.holder(),
        requestedAt,
        grant.at(),
        grant.validUntil(),
        grant.weight(),
        grant.capacity());
  }

  private static Lease leaseOf(Map<String, Lease> byId, String id) {
    Lease lease = byId.get(id);
    if (lease == null) {
      throw new IllegalArgumentException(
          "the journal has an event of lease " + id + " before its grant");
    }
    return lease;
  }

  <E extends Entry> List<E> entries(Class<E> kind) {
    return entries.stream().filter(kind::isInstance).map(kind::cast).toList();
  }
}
