package dev.interlock.jdbc;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.interlock.BackendInfo;
import dev.interlock.LockException;
import dev.interlock.LockState;
import dev.interlock.LossReason;
import dev.interlock.jdbc.LockTable.Taken;
import dev.interlock.jdbc.Requests.Attempts;
import dev.interlock.jdbc.Requests.Request;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockPage;
import dev.interlock.spi.LockStates;
import dev.interlock.spi.Renewal;
import dev.interlock.spi.TimeSource;
import dev.interlock.spi.WakeUp;
import java.sql.SQLException;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiFunction;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Locks as rows that expire by the server's clock. A single statement decides about an exclusive
 * lock. The row of a shared lock is read, the client decides, and the result is written if the row
 * has not changed. See {@link LockTable}.
 */
final class JdbcBackend implements LockBackend {

  private static final Logger log = LoggerFactory.getLogger(JdbcBackend.class);

  /**
   * The number of new rows after which a client purges old ones. A purge deletes more rows than
   * this.
   */
  private static final int NEW_ROWS_PER_PURGE = 32;

  /** Purges rows of unused names even if there are few new rows. */
  private static final Duration MAX_PURGE_INTERVAL = Duration.ofMinutes(10);

  private static final Duration MIN_PURGE_INTERVAL = Duration.ofSeconds(1);

  private static final Duration MAX_TTL = Duration.ofDays(36_500);

  /** The poll interval of the next waiter if it is not notified of releases. */
  private static final Duration NEXT_WAITER_POLL = Duration.ofMillis(100);

  private final JdbcDatabase database;
  private final String endpoint;
  private final Schema schema;
  private final LockTable table;
  private final Connections connections;
  private final Requests requests;
  private final Failures failures;
  private final @Nullable PostgreSqlListener listener;
  private final Runnable closing;
  private final TimeSource time;
  private final AtomicInteger newRows =
      new AtomicInteger(ThreadLocalRandom.current().nextInt(NEW_ROWS_PER_PURGE));
  private final AtomicLong nextPurge = new AtomicLong();

  /** The number of waits above which those that are over are removed. */
  private static final int MAX_WAITS = 1_000;

  /** The names that this client waits for. */
  private final Map<String, Wait> waits = new ConcurrentHashMap<>();

  /**
   * A client's wait for a name, by its own clock.
   *
   * @param until the time at which it is over unless the client asks again
   */
  private record Wait(long since, long until) {
    boolean isOver(long now) {
      return until - now < 0;
    }
  }

  /**
   * Opens a backend, and creates its table if it is missing.
   *
   * @param listening the source of the connection that listens to releases
   * @param closing called when the client is closed
   */
  JdbcBackend(
      JdbcDatabase database,
      String endpoint,
      JdbcSettings settings,
      Connections connections,
      Connections listening,
      Runnable closing,
      BackendContext context) {
    this.time = context.time();
    this.database = database;
    this.endpoint = endpoint;
    this.failures = new Failures(database.scheme(), endpoint, settings.table());
    this.schema = new Schema(database, settings, failures);
    this.table = new LockTable(database, settings);
    this.connections = connections;
    this.requests = new Requests(connections, database, failures, time);
    this.listener =
        database == JdbcDatabase.POSTGRESQL
                && PostgreSqlDriver.isPresent()
                && listening.mayHave(PostgreSqlListener.MIN_CONNECTIONS)
            ? new PostgreSqlListener(listening, settings.table(), endpoint, time)
            : null;
    this.closing = closing;
    nextPurge.set(
        time.nanoTime() + ThreadLocalRandom.current().nextLong(MAX_PURGE_INTERVAL.toNanos()));
    Deadline deadline = Deadline.in(time, context.options().requestTimeout());
    try {
      schema.ensure(requests, deadline);
      failures.recordAdmission();
      requests.detectPooler(deadline);
    } catch (InterruptedException e) {
      throw failures.interrupted(e);
    }
  }

  @Override
  public BackendInfo info() {
    return database.info();
  }

  @Override
  public String endpoint() {
    return endpoint;
  }

  @Override
  public Attempt tryAcquire(Claim claim, Deadline deadline) throws InterruptedException {
    return requests.repeatable(
        deadline,
        new Attempts(),
        session -> {
          Attempt attempt = takeOrCreate(session, claim, deadline);
          if (attempt instanceof Attempt.Granted) {
            connections.protect(claim);
            waits.remove(claim.name());
          } else if (willAskAgain(claim)) {
            recordWait(claim);
          }
          return attempt;
        });
  }

  private Attempt takeOrCreate(Session session, Claim claim, Deadline deadline)
      throws SQLException, InterruptedException {
    try {
      return take(session, claim, deadline);
    } catch (SQLException e) {
      schema.create(session, e);
      return take(session, claim, deadline);
    }
  }

  private Attempt take(Session session, Claim claim, Deadline deadline)
      throws SQLException, InterruptedException {
    return claim.share().isExclusive()
        ? takeAlone(session, claim, deadline)
        : takeShare(session, claim, deadline);
  }

  /**
   * Makes a request that may be repeated.
   *
   * @param ifMissing the answer if the table no longer exists, as after a restart without data: no
   *     lock is held then, and only a new lock needs the table
   */
  private <T> T ask(Deadline deadline, Attempts attempts, T ifMissing, Request<T> request)
      throws InterruptedException {
    return requests.repeatable(deadline, attempts, orIfMissing(ifMissing, request));
  }

  private <T> Request<T> orIfMissing(T answer, Request<T> request) {
    return session -> {
      try {
        return request.run(session);
      } catch (SQLException e) {
        schema.requireGone(session, e);
        return answer;
      }
    };
  }

  private Attempt takeAlone(Session session, Claim claim, Deadline deadline)
      throws SQLException, InterruptedException {
    Duration ttl = effectiveTtl(claim);
    while (true) {
      Taken taken = table.take(session, claim, SharedHolds.micros(ttl));
      LockRow row = taken.row();
      if (taken.token() > 0) {
        if (taken.inserted()) {
          newRows.incrementAndGet();
        }
        return new Attempt.Granted(Grant.forTtl(claim, taken.token(), ttl));
      }
      if (row != null && !row.isFree()) {
        requireAgreement(claim, row);
        Long since = waitsSince(claim, row.isReserved(), row.now());
        boolean next = row.isNext(table.waiter);
        if (since == null || (!next && row.isNextBefore(since))) {
          return busy(claim, row, next);
        }
        long wait = SharedHolds.micros(claim.reservation());
        if ((next && row.waitsUntil() - row.now() >= wait / 2)
            || table.mark(session, row.name(), since, row.now() + wait)) {
          return busy(claim, row, true);
        }
      }
      requests.pause(deadline);
    }
  }

  /**
   * Returns since when this client has waited, by the server's clock. Null if the claim does not
   * wait, or makes its first attempt: a lock that is soon free is then reserved for nobody. Where
   * waiters poll, also null while the lock is reserved for another client, which so gets the lock
   * several times in succession before it has to wait for a poll again.
   */
  private @Nullable Long waitsSince(Claim claim, boolean reserved, long now) {
    if (!willAskAgain(claim) || (reserved && !isNotifiedOfReleases())) {
      return null;
    }
    Wait wait = waitFor(claim.name());
    return wait == null ? null : now - TimeUnit.NANOSECONDS.toMicros(time.nanoTime() - wait.since);
  }

  /** Whether the claim waits and will make another attempt. */
  static boolean willAskAgain(Claim claim) {
    return claim.reservation().toMillis() > 0;
  }

  private @Nullable Wait waitFor(String name) {
    Wait wait = waits.get(name);
    return wait == null || wait.isOver(time.nanoTime()) ? null : wait;
  }

  private void recordWait(Claim claim) {
    long now = time.nanoTime();
    if (waits.size() > MAX_WAITS) {
      waits.values().removeIf(wait -> wait.isOver(now));
    }
    Wait wait = waitFor(claim.name());
    long since = wait == null ? claim.issuedAt() : wait.since;
    waits.put(claim.name(), new Wait(since, now + claim.reservation().toNanos()));
  }

  private boolean isNotifiedOfReleases() {
    return listener != null && listener.isListening() && !requests.isPooled();
  }

  private Attempt busy(Claim claim, LockRow row, boolean next) {
    Duration remaining = row.remaining().plusMillis(1);
    return row.isReserved()
        ? new Attempt.Busy(remaining, null)
        : busy(claim, remaining, row.holder(), next);
  }

  /**
   * Returns the answer that others hold the lock or will get it first.
   *
   * @param next whether the next release reserves the lock for this client
   */
  private Attempt busy(Claim claim, Duration retryAfter, @Nullable String holder, boolean next) {
    boolean first = willAskAgain(claim) && waitFor(claim.name()) == null;
    boolean polls = (next || first) && !isNotifiedOfReleases();
    return new Attempt.Busy(
        polls && retryAfter.compareTo(NEXT_WAITER_POLL) > 0 ? NEXT_WAITER_POLL : retryAfter,
        holder);
  }

  private Attempt takeShare(Session session, Claim claim, Deadline deadline)
      throws SQLException, InterruptedException {
    Duration ttl = effectiveTtl(claim);
    while (true) {
      LockRow row = table.read(session, claim.name());
      long now = row.now();
      SharedHolds state = stateFor(claim, row);
      long token = Math.max(row.fence() + 1, LockTable.token(now));
      String before = state.content();
      SharedHolds.Refusal refusal =
          state.acquire(
              claim,
              table.waiter,
              waitsSince(claim, state.isReserved(), now),
              token,
              now + SharedHolds.micros(ttl));
      if (refusal != null && before.equals(state.content())) {
        return busy(claim, state, refusal, now);
      }
      long fence = refusal == null ? token : row.fence();
      boolean written =
          row.isMissing()
              ? table.insert(session, claim.name(), state, fence)
              : table.replace(session, row, state, fence, Long.MAX_VALUE, false);
      if (written) {
        if (row.isMissing()) {
          newRows.incrementAndGet();
        }
        return refusal == null
            ? new Attempt.Granted(Grant.forTtl(claim, token, ttl))
            : busy(claim, state, refusal, now);
      }
      requests.pause(deadline);
    }
  }

  /**
   * Returns the holders and waiters of the claim's lock. Refuses a claim that disagrees with them
   * on its kind or capacity.
   */
  private SharedHolds stateFor(Claim claim, LockRow row) throws SQLException {
    if (row.isShared()) {
      SharedHolds state = row.shared(database.precedenceMicros());
      if (!state.isFree()) {
        requireAgreement(claim, row);
        return state;
      }
    } else if (!row.isFree()) {
      requireAgreement(claim, row);
    }
    return SharedHolds.none(claim.share(), database.precedenceMicros(), row.now());
  }

  private static void requireAgreement(Claim claim, LockRow row) {
    if (!claim.share().agreesWith(row.use())) {
      throw claim.share().disagreement(claim.name(), row.use());
    }
  }

  private Attempt busy(Claim claim, SharedHolds state, SharedHolds.Refusal refusal, long now) {
    long micros = Math.max(0, Math.min(refusal.retryAtMicros() - now, database.maxPollMicros()));
    Duration retryAfter = Duration.of(micros, ChronoUnit.MICROS).plusMillis(1);
    return busy(claim, retryAfter, refusal.holder(), state.isNext(table.waiter));
  }

  @Override
  public Renewal renew(Grant grant, Deadline deadline) throws InterruptedException {
    return renewAll(List.of(grant), deadline).get(0);
  }

  @Override
  public int maxGrantsPerRenewal() {
    return 256;
  }

  @Override
  public List<Renewal> renewAll(List<Grant> grants, Deadline deadline) throws InterruptedException {
    Map<Long, List<Claim>> alone =
        grants.stream()
            .filter(grant -> grant.claim().share().isExclusive())
            .collect(
                Collectors.groupingBy(
                    grant -> SharedHolds.micros(grant.effectiveTtl()),
                    TreeMap::new,
                    Collectors.mapping(Grant::claim, Collectors.toList())));
    Map<Claim, Renewal> outcomes = new HashMap<>();
    for (Map.Entry<Long, List<Claim>> sameTtl : alone.entrySet()) {
      renewAlone(sameTtl.getValue(), sameTtl.getKey(), deadline, outcomes);
    }
    for (Grant grant : grants) {
      if (!grant.claim().share().isExclusive()) {
        outcomes.put(grant.claim(), renewShare(grant, deadline));
      }
    }
    return grants.stream().map(grant -> outcomes.get(grant.claim())).toList();
  }

  private static Renewal outcome(boolean held) {
    return held
        ? new Renewal.Confirmed()
        : new Renewal.Lost(
            LossReason.TAKEN,
            "its row is gone, has expired, was revoked, or belongs to another holder");
  }

  private void renewAlone(
      List<Claim> claims, long ttlMicros, Deadline deadline, Map<Claim, Renewal> outcomes)
      throws InterruptedException {
    try {
      Set<String> unlocked =
          database == JdbcDatabase.POSTGRESQL && claims.size() > 1
              ? ask(
                  deadline,
                  Attempts.ofHolder(),
                  Set.of(),
                  session -> table.renewUnlocked(session, claims, ttlMicros))
              : Set.of();
      List<Claim> others = new ArrayList<>();
      for (Claim claim : claims) {
        if (unlocked.contains(claim.id())) {
          outcomes.put(claim, new Renewal.Confirmed());
        } else {
          others.add(claim); // the row is locked, or the lock is gone
        }
      }
      Set<String> holding =
          others.isEmpty()
              ? Set.of()
              : ask(
                  deadline,
                  Attempts.ofHolder(),
                  Set.of(),
                  session ->
                      table.renew(session, others, ttlMicros) == others.size()
                          ? others.stream().map(Claim::id).collect(Collectors.toSet())
                          : table.holding(session, others));
      others.forEach(claim -> outcomes.put(claim, outcome(holding.contains(claim.id()))));
    } catch (LockException e) {
      claims.forEach(claim -> outcomes.putIfAbsent(claim, new Renewal.Failed(e)));
    }
  }

  private Renewal renewShare(Grant grant, Deadline deadline) throws InterruptedException {
    String id = grant.claim().id();
    long ttl = SharedHolds.micros(grant.effectiveTtl());
    HoldChange change = new HoldChange((state, now) -> state.renew(id, now + ttl), state -> false);
    try {
      return outcome(
          ask(
              deadline,
              Attempts.ofHolder(),
              false,
              session -> changeHold(session, grant.claim(), change, deadline)));
    } catch (LockException e) {
      return new Renewal.Failed(e);
    }
  }

  /**
   * A change of a claim's hold.
   *
   * @param end changes the hold at a time of the server's clock, and returns the time at which it
   *     would have ended; null if there is no hold
   * @param wake whether, after the change, waiters must be notified
   */
  private record HoldChange(
      BiFunction<SharedHolds, Long, @Nullable Long> end, Predicate<SharedHolds> wake) {}

  /** Changes the hold of a claim on a shared lock. Returns whether there is one. */
  private boolean changeHold(Session session, Claim claim, HoldChange change, Deadline deadline)
      throws SQLException, InterruptedException {
    while (true) {
      LockRow row = table.read(session, claim.name());
      if (!row.isShared()) {
        return false;
      }
      SharedHolds state = row.shared(database.precedenceMicros());
      Long end = change.end.apply(state, row.now());
      if (end == null) {
        return false;
      }
      if (table.replace(session, row, state, row.fence(), end, change.wake.test(state))) {
        return true;
      }
      requests.pause(deadline);
    }
  }

  @Override
  public boolean release(Claim claim, Deadline deadline) throws InterruptedException {
    HoldChange change =
        new HoldChange((state, now) -> state.release(claim.id()), SharedHolds::reserveForFirst);
    return release(
        deadline,
        session -> {
          boolean done =
              claim.share().isExclusive()
                  ? table.release(session, claim)
                  : changeHold(session, claim, change, deadline);
          purge(session);
          return done;
        });
  }

  @Override
  public boolean releaseAfter(Claim claim, Duration delay, Deadline deadline)
      throws InterruptedException {
    long micros = SharedHolds.micros(delay);
    HoldChange change =
        new HoldChange(
            (state, now) -> state.releaseAfter(claim, now + micros), SharedHolds::isAwaited);
    return release(
        deadline,
        session ->
            claim.share().isExclusive()
                ? table.releaseAfter(session, claim, micros)
                : changeHold(session, claim, change, deadline));
  }

  private boolean release(Deadline deadline, Request<Boolean> request) throws InterruptedException {
    Attempts attempts = Attempts.ofHolder();
    boolean released = ask(deadline, attempts, false, request);
    if (!released && attempts.isInDoubt()) {
      throw failures.temporary(
          "the connection broke, and the lock is gone: this request released it, or it was lost"
              + " before",
          null);
    }
    return released;
  }

  /**
   * Deletes some old rows if this client has inserted many new ones, or the last purge was long
   * ago.
   */
  private void purge(Session session) {
    long now = time.nanoTime();
    long due = nextPurge.get();
    if (newRows.get() >= NEW_ROWS_PER_PURGE) {
      newRows.addAndGet(-NEW_ROWS_PER_PURGE);
    } else if (now - due < 0 || !nextPurge.compareAndSet(due, now + MAX_PURGE_INTERVAL.toNanos())) {
      return;
    }
    try {
      if (table.purge(session) >= LockTable.MAX_PURGED) {
        nextPurge.set(now + MIN_PURGE_INTERVAL.toNanos());
      }
    } catch (SQLException e) {
      log.debug("could not purge rows of free locks; the next purge will", e);
    }
  }

  @Override
  public LockState inspect(String name, Deadline deadline) throws InterruptedException {
    return ask(
        deadline,
        new Attempts(),
        LockStates.free(name),
        session -> table.read(session, name).state());
  }

  @Override
  public boolean forceRelease(String name, Deadline deadline) throws InterruptedException {
    return change(
        name,
        deadline,
        (session, row) -> {
          SharedHolds state = SharedHolds.none(row.use(), database.precedenceMicros(), row.now());
          return table.replace(session, row, state, row.fence(), Long.MAX_VALUE, true);
        });
  }

  @Override
  public boolean revoke(String name, Deadline deadline) throws InterruptedException {
    return change(name, deadline, table::revoke);
  }

  /** Changes a row, and returns false if it has changed since it was read. */
  private interface Change {
    boolean make(Session session, LockRow row) throws SQLException;
  }

  /**
   * Acts on the current holders of a lock. Does not repeat a change that may have been executed,
   * because that would hit the next holder.
   */
  private boolean change(String name, Deadline deadline, Change change)
      throws InterruptedException {
    while (true) {
      // The read may be repeated, and also shows that the connection works.
      Optional<LockRow> heldRow =
          ask(
              deadline,
              new Attempts(),
              Optional.empty(),
              session -> {
                LockRow row = table.read(session, name);
                return row.state().isHeld() ? Optional.of(row) : Optional.empty();
              });
      if (heldRow.isEmpty()) {
        return false;
      }
      if (requests.single(
          deadline, orIfMissing(false, session -> change.make(session, heldRow.get())))) {
        return true;
      }
      requests.pause(deadline);
    }
  }

  @Override
  public LockPage list(String prefix, @Nullable String cursor, int limit, Deadline deadline)
      throws InterruptedException {
    byte[] first = wellFormed(prefix).getBytes(UTF_8);
    byte[] from = cursor == null ? first : NameRange.after(NameRange.bytes(cursor));
    return ask(
        deadline,
        new Attempts(),
        new LockPage(List.of(), null),
        session -> {
          List<LockRow> rows = table.page(session, from, NameRange.end(first), limit);
          List<LockState> states = new ArrayList<>();
          for (LockRow row : rows) {
            LockState state = row.state();
            if (state.isHeld() && row.name().startsWith(prefix)) {
              states.add(state);
            }
          }
          return new LockPage(
              states,
              rows.size() < limit
                  ? null
                  : NameRange.text(LockTable.key(rows.get(rows.size() - 1).name())));
        });
  }

  /** Removes half a surrogate pair at the end of a prefix, which cannot be encoded. */
  private static String wellFormed(String prefix) {
    boolean half =
        !prefix.isEmpty() && Character.isHighSurrogate(prefix.charAt(prefix.length() - 1));
    return half ? prefix.substring(0, prefix.length() - 1) : prefix;
  }

  @Override
  public Watch watch(String name, WakeUp wakeUp) {
    return listener == null ? () -> {} : listener.watch(name, wakeUp);
  }

  @Override
  public void forget(Claim claim) {
    connections.forget(claim);
  }

  @Override
  public void close() {
    if (listener != null) {
      listener.close();
    }
    connections.close();
    closing.run();
  }

  /**
   * Raises the TTL to the minimum, below which drift, rounding and a slow commit would take most of
   * it.
   */
  private Duration effectiveTtl(Claim claim) {
    Duration ttl = claim.ttl();
    if (ttl.compareTo(info().minTtl()) < 0) {
      return info().minTtl();
    }
    if (ttl.compareTo(MAX_TTL) > 0) {
      return MAX_TTL;
    }
    return Duration.of(SharedHolds.micros(ttl), ChronoUnit.MICROS);
  }
}
