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
 * What several claims hold of one name, and who waits for it: the content of one row, at one moment
 * of the server's clock. Times are microseconds since 1970. Not safe for use by several threads.
 *
 * <p>Claims of one weight wait as one party. A claim is refused if another party has waited for
 * longer and could not be granted beside it. A party's turn ends when one of it is granted and
 * another would find no room; if there is room for more, as for readers, a short time later. So a
 * writer is passed by no reader that comes later, and each party by each other one only once.
 *
 * <p>Of a party, a release makes a reservation for the client that has waited longest: a hold of no
 * claim, which ends soon unless that client comes.
 */
final class SharedHolds {

  /** One claim's hold. */
  private record Hold(
      String claim, int weight, long token, long grantedAt, long expiresAt, String label) {

    boolean isReservation() {
      return claim.startsWith(LockRow.WAITER_PREFIX);
    }
  }

  /** A client that asks for a reservation. */
  private record Client(String id, long since, long until) {
    private static final Client NONE = new Client("", 0, 0);
  }

  /** All claims of one weight that wait. */
  private static final class Party {
    final int weight;
    final long since;
    long until;

    /** The client that has waited longest of those that ask for a reservation. */
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
   * Why a claim is not granted.
   *
   * @param retryAtMicros when to ask again, by the server's clock
   * @param holder the label of a holder, if one is in the way
   */
  record Refusal(long retryAtMicros, @Nullable String holder) {}

  private final LockKind kind;
  private final int capacity;
  private final long turnMicros;
  private final long now;
  private final List<Hold> holds = new ArrayList<>();
  private final List<Party> parties = new ArrayList<>();
  private boolean revoked;

  private SharedHolds(LockKind kind, int capacity, long turnMicros, long now) {
    this.kind = kind;
    this.capacity = capacity;
    this.turnMicros = turnMicros;
    this.now = now;
  }

  /** Returns the state of a name that nobody holds, about to be used as the share says. */
  static SharedHolds none(Share share, long turnMicros, long now) {
    return new SharedHolds(share.kind(), share.capacity(), turnMicros, now);
  }

  /**
   * Reads what {@link #content} wrote, without holds and waits that have ended.
   *
   * @throws IllegalArgumentException if it is anything else
   */
  static SharedHolds read(
      LockKind kind, int capacity, boolean revoked, String content, long turnMicros, long now) {
    SharedHolds state = new SharedHolds(kind, capacity, turnMicros, now);
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
      // A reservation of the future is of before the clock was set back; a lock of then is held.
      if (hold.expiresAt > now && !(hold.isReservation() && hold.grantedAt > now)) {
        holds.add(hold);
      }
    } else if (words[0].equals("wait") && words.length == 7) {
      Party party =
          new Party(Integer.parseInt(words[1]), Long.parseLong(words[2]), Long.parseLong(words[3]));
      Client client = new Client(words[4], Long.parseLong(words[5]), Long.parseLong(words[6]));
      // What began in the future was noted before the clock was set back.
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

  /** {@return the content of the row: a line for each hold, in the order of grants, and party} */
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

  /** {@return whether the name is neither held nor waited for, and may be used as anything} */
  boolean isFree() {
    return holds.isEmpty() && parties.isEmpty();
  }

  /** {@return when the last hold and the last wait have ended; now, if there are none} */
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
   * Grants the claim if there is room for it beside those that hold the name and those that wait.
   * Otherwise notes that it waits, if it does. A claim that has a hold already asks a second time,
   * because the first answer was lost, and is granted again.
   *
   * @param claim a claim that uses the name as all others do
   * @param client the id of the client that makes it, beginning with {@link LockRow#WAITER_PREFIX}
   * @param since since when the client waits, if it asks for a reservation; null if it does not
   * @param token its token, if it is granted
   * @param expiresAt until when the hold lasts
   * @return null if it is granted
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
    Party mine = parties.stream().filter(party -> party.weight == weight).findFirst().orElse(null);
    Long ahead = turnsAhead(weight, used, mine);
    if (previous == null && (ahead != null || used + weight > capacity)) {
      Refusal refusal = refusal(weight, used, ahead);
      await(claim, mine, client, since);
      return refusal;
    }
    holds.remove(previous);
    holds.remove(reservation);
    if (previous == null && mine != null) {
      if (mine.client.id.equals(client)) {
        mine.client = Client.NONE;
      }
      boolean more = used + 2L * weight <= capacity;
      mine.until = more ? Math.min(mine.until, now + turnMicros) : now;
      parties.removeIf(party -> party.until <= now);
      if (!more && !mine.client.equals(Client.NONE)) {
        // As if it asked again now.
        Party next = new Party(weight, now, mine.client.until);
        next.client = mine.client;
        parties.add(next);
      }
    }
    holds.add(new Hold(claim.id(), weight, token, now, expiresAt, claim.label()));
    return null;
  }

  /** Returns when the first party ends whose turn comes before a claim's; null if none does. */
  private @Nullable Long turnsAhead(int weight, long used, @Nullable Party mine) {
    Long first = null;
    for (Party other : parties) {
      boolean excludes = used + weight + other.weight > capacity;
      if (other != mine && excludes && other.isBefore(mine == null ? last(weight) : mine)) {
        if (used + other.weight <= capacity && 2L * other.weight <= capacity) {
          other.until = Math.min(other.until, now + turnMicros);
        }
        first = first == null ? other.until : Math.min(first, other.until);
      }
    }
    return first;
  }

  private static Party last(int weight) {
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

  private void await(Claim claim, @Nullable Party mine, String client, @Nullable Long since) {
    if (JdbcBackend.comesAgain(claim)) {
      long until = now + micros(claim.reservation());
      Party party = mine;
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

  /** {@return whether a release is to make a reservation for the client} */
  boolean isNext(String client) {
    return parties.stream().anyMatch(party -> party.client.id.equals(client));
  }

  /** Extends the hold of a claim. Returns when it would have ended, or null if there is none. */
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

  /** Ends the hold of a claim. Returns when it would have ended, or null if there is none. */
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
   * Lets the hold of a claim last until another time without the claim. Returns when it would have
   * ended, or null if there is none.
   */
  @Nullable Long releaseAfter(Claim claim, long expiresAt) {
    Long end = change(claim.id(), claim.deferredId(), expiresAt);
    if (end != null) {
      return end;
    }
    // The first answer may have been lost. A late copy of the request does not prolong the hold.
    Hold deferred = holdOf(claim.deferredId());
    return deferred == null
        ? null
        : renew(claim.deferredId(), Math.min(deferred.expiresAt, expiresAt));
  }

  /** {@return whether anybody waits} */
  boolean isAwaited() {
    return !parties.isEmpty();
  }

  /**
   * Makes a reservation for a client of those who have waited longest, if they find room now.
   *
   * @return whether they do
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

  /** {@return the state for people} */
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
