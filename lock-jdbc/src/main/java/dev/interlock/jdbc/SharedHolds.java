package dev.interlock.jdbc;

import com.google.common.base.Joiner;
import dev.interlock.LockKind;
import dev.interlock.LockState;
import dev.interlock.spi.Claim;
import dev.interlock.spi.LockStates;
import dev.interlock.spi.Share;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The holders and waiters of a shared lock: the content of one row at one moment of the server's
 * clock. Times are microseconds since 1970. Not thread-safe.
 *
 * <p>Claims of the same weight wait as one party. A claim is refused if another party has waited
 * for longer and could not be granted beside it. The party loses this precedence when one of its
 * claims is granted and another would find no room. If there is room for more, as for readers, it
 * loses the precedence a short time later. So no later reader overtakes a writer, and each party
 * overtakes another at most once.
 *
 * <p>A release makes a reservation for the client of a party that has waited longest. A reservation
 * is a hold without a claim, which soon ends unless that client comes.
 */
final class SharedHolds {

  private record Hold(
      String claim, int weight, long token, long grantedAt, long expiresAt, String label) {

    boolean isReservation() {
      return claim.startsWith(LockRow.WAITER_PREFIX);
    }
  }

  /** A client that requests a reservation. */
  private record Client(String id, long since, long until) {
    private static final Client NONE = new Client("", 0, 0);
  }

  /** All waiting claims of one weight. */
  private static final class Party {
    final int weight;
    final long since;
    long until;

    /** The client that has waited longest among those that request a reservation. */
    Client client = Client.NONE;

    Party(int weight, long since, long until) {
      this.weight = weight;
      this.since = since;
      this.until = until;
    }

    boolean isBefore(Party other) {
      return since < other.since || (since == other.since && weight > other.weight);
    }
  }

  /**
   * The reason why a claim is not granted.
   *
   * @param retryAtMicros when to ask again, by the server's clock
   * @param holder the label of a holder, if one is in the way
   */
  record Refusal(long retryAtMicros, @Nullable String holder) {}

  private final LockKind kind;
  private final int capacity;
  private final long precedenceMicros;
  private final long now;
  private final List<Hold> holds = new ArrayList<>();
  private final List<Party> parties = new ArrayList<>();
  private boolean revoked;

  private SharedHolds(LockKind kind, int capacity, long precedenceMicros, long now) {
    this.kind = kind;
    this.capacity = capacity;
    this.precedenceMicros = precedenceMicros;
    this.now = now;
  }

  /** Returns the state of a free lock of the share's kind and capacity. */
  static SharedHolds none(Share share, long precedenceMicros, long now) {
    return new SharedHolds(share.kind(), share.capacity(), precedenceMicros, now);
  }

  /**
   * Parses what {@link #content} returned. Drops holds and waits that have ended.
   *
   * @throws IllegalArgumentException if it is anything else
   */
  static SharedHolds read(
      LockKind kind,
      int capacity,
      boolean revoked,
      String content,
      long precedenceMicros,
      long now) {
    SharedHolds state = new SharedHolds(kind, capacity, precedenceMicros, now);
    for (String line : content.split("\n", -1)) {
      if (!line.isEmpty()) {
        state.readLine(line.split("\t", -1));
      }
    }
    state.revoked = revoked && !state.holds.isEmpty();
    return state;
  }

  private void readLine(String[] words) {
    if (words[0].equals("hold") && words.length == 7) {
      Hold hold =
          new Hold(
              words[1],
              Integer.parseInt(words[2]),
              Long.parseLong(words[3]),
              Long.parseLong(words[4]),
              Long.parseLong(words[5]),
              words[6]);
      // A reservation that begins in the future was made before the clock was set back, and does
      // not count. A lock that was granted then is still held.
      if (hold.expiresAt > now && !(hold.isReservation() && hold.grantedAt > now)) {
        holds.add(hold);
      }
    } else if (words[0].equals("wait") && words.length == 7) {
      Party party =
          new Party(Integer.parseInt(words[1]), Long.parseLong(words[2]), Long.parseLong(words[3]));
      Client client = new Client(words[4], Long.parseLong(words[5]), Long.parseLong(words[6]));
      // A wait that begins in the future was recorded before the clock was set back.
      if (client.until > now && client.since <= now) {
        party.client = client;
      }
      if (party.until > now && party.since <= now) {
        parties.add(party);
      }
    } else {
      throw new IllegalArgumentException("neither a hold nor a wait: " + words[0]);
    }
  }

  /**
   * {@return the content of the row: a line for each hold in the order of the grants, and a line
   * for each party}
   */
  String content() {
    Joiner tabs = Joiner.on('\t');
    StringBuilder text = new StringBuilder();
    for (Hold hold : holds) {
      tabs.appendTo(text, "hold", hold.claim, hold.weight, hold.token, hold.grantedAt);
      tabs.appendTo(text.append('\t'), hold.expiresAt, hold.label).append('\n');
    }
    for (Party party : parties) {
      Client client = party.client;
      tabs.appendTo(text, "wait", party.weight, party.since, party.until);
      tabs.appendTo(text.append('\t'), client.id, client.since, client.until).append('\n');
    }
    return text.toString();
  }

  LockKind kind() {
    return kind;
  }

  int capacity() {
    return capacity;
  }

  boolean isRevoked() {
    return revoked;
  }

  /**
   * {@return whether the lock is neither held nor awaited, so that the name may become any kind of
   * lock}
   */
  boolean isFree() {
    return holds.isEmpty() && parties.isEmpty();
  }

  /** {@return the time at which all holds and waits have ended; now if there are none} */
  long expiresAt() {
    return Stream.concat(
            holds.stream().map(Hold::expiresAt), parties.stream().map(party -> party.until))
        .reduce(now, Math::max);
  }

  private long used() {
    return revoked ? capacity : holds.stream().mapToLong(hold -> hold.weight).sum();
  }

  private @Nullable Hold holdOf(String claim) {
    return holds.stream().filter(hold -> hold.claim.equals(claim)).findFirst().orElse(null);
  }

  /**
   * Grants the claim if there is room for it beside the holders, and beside the waiters that
   * precede it. Otherwise records that the claim waits, if it does. A claim that already has a hold
   * asks again because the first answer was lost, and is granted again.
   *
   * @param claim a claim that agrees with all others on the kind and capacity
   * @param client the id of its client, which begins with {@link LockRow#WAITER_PREFIX}
   * @param since the time since which the client has waited; null if it requests no reservation
   * @param token the token of the grant
   * @param expiresAt the time until which the hold lasts
   * @return null if the claim is granted
   */
  @Nullable Refusal acquire(
      Claim claim, String client, @Nullable Long since, long token, long expiresAt) {
    Hold previous = revoked ? null : holdOf(claim.id());
    Hold reservation = revoked ? null : holdOf(client);
    int weight = claim.share().weight();
    long used =
        used()
            - (previous == null ? 0 : previous.weight)
            - (reservation == null ? 0 : reservation.weight);
    Party own = parties.stream().filter(party -> party.weight == weight).findFirst().orElse(null);
    Long ahead = earliestPrecedingEnd(weight, used, own);
    if (previous == null && (ahead != null || used + weight > capacity)) {
      Refusal refusal = refusal(weight, used, ahead);
      await(claim, own, client, since);
      return refusal;
    }
    holds.remove(previous);
    holds.remove(reservation);
    if (previous == null && own != null) {
      if (own.client.id.equals(client)) {
        own.client = Client.NONE;
      }
      boolean more = used + 2L * weight <= capacity;
      own.until = more ? Math.min(own.until, now + precedenceMicros) : now;
      parties.removeIf(party -> party.until <= now);
      if (!more && !own.client.equals(Client.NONE)) {
        // The client joins the new party as if it asked again now.
        Party next = new Party(weight, now, own.client.until);
        next.client = own.client;
        parties.add(next);
      }
    }
    holds.add(new Hold(claim.id(), weight, token, now, expiresAt, claim.label()));
    return null;
  }

  /** Returns the earliest end of the parties that precede a claim; null if there are none. */
  private @Nullable Long earliestPrecedingEnd(int weight, long used, @Nullable Party own) {
    Long first = null;
    for (Party other : parties) {
      boolean excludes = used + weight + other.weight > capacity;
      if (other != own && excludes && other.isBefore(own == null ? lastParty(weight) : own)) {
        if (used + other.weight <= capacity && 2L * other.weight <= capacity) {
          other.until = Math.min(other.until, now + precedenceMicros);
        }
        first = first == null ? other.until : Math.min(first, other.until);
      }
    }
    return first;
  }

  private static Party lastParty(int weight) {
    return new Party(weight, Long.MAX_VALUE, 0);
  }

  private Refusal refusal(int weight, long used, @Nullable Long ahead) {
    Comparator<Hold> byEnd = Comparator.comparingLong(hold -> hold.expiresAt);
    Hold inTheWay =
        (weight == capacity || revoked ? holds.stream().max(byEnd) : holds.stream().min(byEnd))
            .orElse(null);
    long end = inTheWay != null && used + weight > capacity ? inTheWay.expiresAt : Long.MAX_VALUE;
    return new Refusal(
        ahead == null ? end : Math.min(ahead, end),
        inTheWay == null || inTheWay.isReservation() ? null : inTheWay.label);
  }

  private void await(Claim claim, @Nullable Party own, String client, @Nullable Long since) {
    if (JdbcBackend.willAskAgain(claim)) {
      long until = now + micros(claim.reservation());
      Party party = own;
      if (party == null) {
        party = new Party(claim.share().weight(), now, until);
        parties.add(party);
      }
      party.until = Math.max(party.until, until);
      if (since != null
          && (party.client.equals(Client.NONE)
              || party.client.id.equals(client)
              || party.client.since > since)) {
        party.client = new Client(client, since, until);
      }
    }
  }

  boolean isReserved() {
    return holds.stream().anyMatch(Hold::isReservation);
  }

  /** {@return whether a release makes a reservation for the client} */
  boolean isNext(String client) {
    return parties.stream().anyMatch(party -> party.client.id.equals(client));
  }

  /**
   * Extends the hold of a claim. Returns the time at which it would have ended; null if there is
   * none.
   */
  @Nullable Long renew(String claim, long expiresAt) {
    return change(claim, claim, expiresAt);
  }

  private @Nullable Long change(String claim, String newClaim, long expiresAt) {
    Hold hold = revoked ? null : holdOf(claim);
    if (hold == null) {
      return null;
    }
    holds.set(
        holds.indexOf(hold),
        new Hold(newClaim, hold.weight, hold.token, hold.grantedAt, expiresAt, hold.label));
    return hold.expiresAt;
  }

  /**
   * Ends the hold of a claim. Returns the time at which it would have ended; null if there is none.
   */
  @Nullable Long release(String claim) {
    Hold hold = holdOf(claim);
    if (hold == null) {
      return null;
    }
    holds.remove(hold);
    revoked &= !holds.isEmpty();
    return hold.expiresAt;
  }

  /**
   * Defers the release of a claim's hold to another time. Returns the time at which the hold would
   * have ended; null if there is none.
   */
  @Nullable Long releaseAfter(Claim claim, long expiresAt) {
    Long end = change(claim.id(), claim.deferredId(), expiresAt);
    if (end != null) {
      return end;
    }
    // The first answer may have been lost. A late copy of the request must not prolong the hold.
    Hold deferred = holdOf(claim.deferredId());
    return deferred == null
        ? null
        : renew(claim.deferredId(), Math.min(deferred.expiresAt, expiresAt));
  }

  /** {@return whether there are waiters} */
  boolean isAwaited() {
    return !parties.isEmpty();
  }

  /**
   * Makes a reservation for a client of the party that has waited longest, if there is room for it
   * now.
   *
   * @return whether there is room
   */
  boolean reserveForFirst() {
    Party first = null;
    for (Party party : parties) {
      if (first == null || party.isBefore(first)) {
        first = party;
      }
    }
    if (first == null || used() + first.weight > capacity) {
      return false;
    }
    Client client = first.client;
    if (!client.equals(Client.NONE) && holdOf(client.id) == null) {
      long ends = now + LockTable.reservation(now - client.since);
      holds.add(new Hold(client.id, first.weight, 0, now, ends, ""));
      first.client = Client.NONE;
    }
    return true;
  }

  /** {@return the state for the operators' API} */
  LockState state(String name) {
    List<LockState.Holder> holders =
        holds.stream()
            .filter(hold -> !hold.isReservation())
            .map(
                hold ->
                    LockStates.holder(
                        kind,
                        hold.weight,
                        hold.label,
                        hold.token,
                        Duration.of(hold.expiresAt - now, ChronoUnit.MICROS),
                        instant(hold.grantedAt)))
            .toList();
    if (holders.isEmpty()) {
      return LockStates.free(name);
    }
    return LockStates.held(name, kind, capacity, holders, List.of());
  }

  static Instant instant(long micros) {
    return Instant.EPOCH.plus(micros, ChronoUnit.MICROS);
  }

  /** Rounds up. */
  static long micros(Duration duration) {
    return duration.plusNanos(999).toNanos() / 1_000;
  }
}
