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

/** All that the clients of a storm have recorded: events, leases and other entries. */
public final class RecordedHistory {
  /** How much later than it was given up a place may be recorded as given up. */
  private static final long LATE = Duration.ofSeconds(2).toNanos();

  private static final Set<String> RELEASED = Set.of("RELEASED", "HANDED_OFF");

  /** For the history checker. */
  final List<Event> events = new ArrayList<>();

  /**
   * The same, but each lease was requested as early as the place in the queue may have been entered
   * in which it was granted. A thread may continue in the place of another one of its client that
   * has given up, and the store may have granted the lock to that place already.
   */
  final List<Event> eventsFromPlaces = new ArrayList<>();

  /** In order of their grants. */
  final List<Lease> leases = new ArrayList<>();

  public final List<ResourceUse> resources = new ArrayList<>();

  /** For how long the store keeps a lease without renewal, in nanoseconds. */
  long effectiveTtl;

  private final List<Object> others = new ArrayList<>();

  /** Threads and sockets of one client, after the first calm moment and after the last. */
  public record ResourceUse(
      String client,
      int threadsBefore,
      int threadsAfter,
      int connectionsBefore,
      int connectionsAfter) {}

  /** What is known of one lease. */
  static final class Lease {
    /** The client, without the number of its incarnation. */
    final String client;

    final Event.Granted grant;

    /** Until when it was valid at least, whether or not it ended before. */
    long validUntil;

    private long ended = Long.MAX_VALUE;

    /** When its loss was reported. */
    long reported = Long.MAX_VALUE;

    /** How its release ended; empty if it was not released, or its process was killed meanwhile. */
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

    /** Whether it excludes all others. */
    boolean isWhole() {
      return grant.weight() == grant.capacity();
    }

    /** Until when its holder relied on it. */
    long until() {
      return Math.min(validUntil, ended);
    }

    boolean isLost() {
      return reported != Long.MAX_VALUE;
    }

    boolean isReleased() {
      return RELEASED.contains(outcome);
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

  /** Brings the leases into the order of their grants, after the last journal was added. */
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
        others.add(entry);
      }
      if (entry instanceof Event.Granted granted) {
        Lease lease = new Lease(client, granted);
        byId.put(granted.lease(), lease);
        leases.add(lease);
      } else if (entry instanceof Event.Extended extended) {
        Lease lease = known(byId, extended.lease());
        lease.validUntil = Math.max(lease.validUntil, extended.validUntil());
      } else if (entry instanceof Event.Ended end) {
        Lease lease = known(byId, end.lease());
        lease.ended = Math.min(lease.ended, end.at());
      } else if (entry instanceof Entry.LossReported reported) {
        Lease lease = known(byId, reported.lease());
        lease.reported = Math.min(lease.reported, reported.at());
      } else if (entry instanceof Entry.Released released) {
        known(byId, released.lease()).outcome = released.outcome();
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

  /** A grant with the request that may have entered its place in the queue. */
  private static Event.Granted fromPlace(Event.Granted grant, List<Entry.NoLease> lastFirst) {
    long requestedAt = grant.requestedAt();
    for (Entry.NoLease givenUp : lastFirst) {
      if (givenUp.name().equals(grant.name())
          && givenUp.at() >= requestedAt
          && givenUp.at() - LATE <= grant.at()) {
        requestedAt = Math.min(requestedAt, givenUp.requestedAt());
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

  private static Lease known(Map<String, Lease> byId, String id) {
    Lease lease = byId.get(id);
    if (lease == null) {
      throw new IllegalArgumentException("no grant of " + id + " before what happened to it");
    }
    return lease;
  }

  /** The entries of one kind. */
  <E extends Entry> List<E> entries(Class<E> kind) {
    return others.stream().filter(kind::isInstance).map(kind::cast).toList();
  }
}
