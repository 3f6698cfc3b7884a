package dev.interlock.redlock;

import static dev.interlock.redis.server.ScriptCall.number;
import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.Objects.requireNonNull;

import dev.interlock.BackendInfo;
import dev.interlock.Capability;
import dev.interlock.FailureModel.Guarantee;
import dev.interlock.Fault;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockException;
import dev.interlock.LockState;
import dev.interlock.LockUnavailableException;
import dev.interlock.LossReason;
import dev.interlock.redis.server.LockKeys;
import dev.interlock.redis.server.ScriptCall;
import dev.interlock.redis.server.Subscriber;
import dev.interlock.redlock.Round.Answer;
import dev.interlock.redlock.VoteCount.Outcome;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.BackendInfoBuilder;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.DelayedTasks;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockPage;
import dev.interlock.spi.Renewal;
import dev.interlock.spi.TimeSource;
import dev.interlock.spi.WakeUp;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * Keeps locks as keys that expire, on a majority of independent nodes.
 *
 * <p>{@link VoteCount} counts the votes, and explains why each token is higher than all before.
 * {@link Admission} decides which nodes may vote.
 *
 * <p>A node's clock measures the TTL from the execution of the request, ours from before the
 * request was sent. The validity is shorter than the TTL by {@link RedlockSettings#drift()},
 * because clocks differ in speed, and by 2 ms for rounding. A node whose clock is <em>stepped</em>
 * forward drops the lock too early, and so may a majority.
 */
final class RedlockBackend implements LockBackend {

  static final String NAME = "redlock";

  /** A shorter TTL would be mostly used up by drift, rounding and the answers of a majority. */
  static final Duration MIN_TTL = Duration.ofMillis(50);

  private static final int MAX_REPEATS = 2;

  /** Higher, because a reader is repeated whenever others get ahead; one of them does each time. */
  private static final int MAX_REPEATS_AMONG_READERS = 200;

  /** The limits of a waiter's pause, in addition to the engine's millisecond, at first. */
  private static final long MIN_POLL_PAUSE = Duration.ofMillis(1).toNanos() / 2;

  private static final long MAX_POLL_PAUSE = Duration.ofMillis(2).toNanos();
  private static final long MAX_VOTE_WAIT = Duration.ofMillis(2).toNanos();

  private static final long MIN_SPLIT_PAUSE = Duration.ofMillis(1).toNanos();
  private static final long MAX_SPLIT_PAUSE = Duration.ofMillis(100).toNanos();

  /** The splits in a row after which a majority may be held, and out of reach, for long. */
  private static final int MAX_PROMPT_SPLITS = 3;

  private static final int MAX_WAITS = 1_000;
  private static final int MAX_CONSECUTIVE_SPLITS = 10;

  private static final Answer GONE_BEFORE =
      new Answer(
          null,
          new Vote.Refused(
              "it was restarted, or its answer was lost, and the lock is not there any more"));

  private static final Answer RESTORED = new Answer(List.of("restored".getBytes(UTF_8)), null);
  private static final Answer TAKEN =
      new Answer(List.of("gone".getBytes(UTF_8), "taken".getBytes(UTF_8)), null);

  /**
   * The promises. A minority of the nodes may be dead, stopped, cut off, or restarted with or
   * without its data. If several nodes drop a lock that is still valid (clocks stepped forward, a
   * person), there may be a second holder, with a higher token. Eviction may also remove the
   * records that nodes keep of themselves.
   */
  static final BackendInfo INFO =
      BackendInfoBuilder.of(
              NAME,
              "a key per lock on a majority of independent Redis servers, expiring with its TTL; tokens"
                  + " that a majority has confirmed")
          .capabilities(
              Capability.FENCING,
              Capability.STARVATION_FREE,
              Capability.REVOKE,
              Capability.REPLICATED,
              Capability.LIST,
              Capability.READ_WRITE,
              Capability.DEFERRED_RELEASE)
          .granularity(Duration.ofMillis(20))
          .minTtl(MIN_TTL)
          .guarantee(
              Guarantee.EXCLUSION_AND_TOKENS,
              Fault.CLIENT_KILLED,
              Fault.CLIENT_STOPPED,
              Fault.CONNECTION_LOST,
              Fault.PARTITION,
              Fault.SERVER_STOPPED,
              Fault.SERVER_RESTARTED,
              Fault.SERVER_RESTARTED_EMPTY,
              Fault.MINORITY_LOST,
              Fault.MACHINE_SUSPENDED)
          .guarantee(Guarantee.TOKENS_ONLY, Fault.SERVER_CLOCK_STEPPED, Fault.FORCED_RELEASE)
          .guarantee(Guarantee.NOT_APPLICABLE, Fault.ASYNC_FAILOVER, Fault.LEADER_CHANGED)
          .build();

  /** The pause before a release is sent again to a node that refused it. */
  private static final Duration REFUSED_RELEASE_PAUSE = Duration.ofMillis(500);

  /** More releases that were refused are not repeated. */
  private static final int MAX_REPEATED = 1_000;

  private record Refused(int node, Object releaseId) {}

  /** The refused releases that are about to be sent again. */
  private final Set<Refused> toRepeat = ConcurrentHashMap.newKeySet();

  private final Cluster cluster;
  private final DelayedTasks delayed = new DelayedTasks("interlock-redlock-delayed");
  private final RedlockSettings settings;
  private final TimeSource time;
  private final Administration administration;

  /**
   * The wait of this client for a name, as of its last attempt.
   *
   * @param splits the number of attempts in a row that found no majority of this or another claim
   * @param mayBeShort whether the wait may end before a subscription would pay
   * @param since the beginning of the wait
   * @param until the time until which nodes keep the client's place in the line
   */
  private record Wait(int splits, boolean mayBeShort, long since, long until) {}

  private final Map<String, Wait> waits = new ConcurrentHashMap<>();

  RedlockBackend(Cluster cluster, RedlockSettings settings, TimeSource time) {
    this.cluster = cluster;
    this.settings = settings;
    this.time = time;
    this.administration = new Administration(cluster, settings.namespace(), time);
  }

  @Override
  public BackendInfo info() {
    return INFO;
  }

  @Override
  public String endpoint() {
    return cluster.endpoint();
  }

  // --- acquiring --------------------------------------------------------------------------------

  @Override
  public Attempt tryAcquire(Claim claim, Deadline deadline) throws InterruptedException {
    requireTtlWithinMax(claim);
    cluster.census().rejoin(deadline);
    cluster.census().renewListing();
    boolean leads = cluster.pipelines().tryLead();
    try {
      return attempt(claim, deadline);
    } finally {
      if (leads) {
        cluster.pipelines().endLead();
      }
    }
  }

  /** Returns the time for which this client has waited for a name. */
  private long waitedMillis(@Nullable Wait wait) {
    long now = time.nanoTime();
    return wait == null || wait.until - now < 0 ? 0 : 1 + (now - wait.since) / 1_000_000;
  }

  private Attempt attempt(Claim claim, Deadline deadline) throws InterruptedException {
    Entry entry = Entry.fresh(claim, cluster.size());
    Requests requests = requests(claim, entry);
    long sentAt = time.nanoTime();
    Acquisition acquisition = ask(requests, deadline);
    Outcome outcome = acquisition.await(deadline);
    int maxRepeats = claim.share().isWhole() ? MAX_REPEATS : MAX_REPEATS_AMONG_READERS;
    for (int again = 0; again < maxRepeats && mayBeRepeated(outcome, acquisition); again++) {
      acquisition = ask(requests, deadline);
      outcome = acquisition.await(deadline);
    }
    if (outcome == Outcome.ACQUIRED) {
      long until = validUntil(claim, sentAt);
      entry.confirm(until);
      waits.remove(claim.name());
      return new Attempt.Granted(
          new Grant(claim, acquisition.token(), until, requests.ttl, requests.ttl, true));
    }
    if (outcome == Outcome.BUSY) {
      // Late votes can then be withdrawn together with the others, before they hinder anybody.
      long pause = Math.min(time.nanoTime() - sentAt, MAX_VOTE_WAIT);
      acquisition.awaitMissingVotes(deadline.atMost(Duration.ofNanos(pause)));
      withdraw(requests, acquisition, deadline);
      return busy(requests, acquisition);
    }
    LockException failure = acquisition.failure();
    if (failure instanceof LockConfigurationException) {
      withdraw(requests, acquisition, deadline);
    }
    throw failure;
  }

  private Entry entry(Claim claim) {
    return Entry.of(claim, cluster.size());
  }

  private Requests requests(Claim claim, Entry entry) {
    return new Requests(cluster, settings, claim, entry, effectiveTtl(claim));
  }

  private Acquisition ask(Requests requests, Deadline deadline) {
    long now = time.wallMillis();
    Claim claim = requests.claim;
    Acquisition acquisition =
        new Acquisition(
            requests,
            claim.share().isWhole() ? Hint.at(now) : Hint.forReaderAt(now),
            waitedMillis(waits.get(claim.name())),
            deadline.atMost(settings.nodeTimeout()),
            time);
    acquisition.start();
    return acquisition;
  }

  /**
   * Whether a majority holds the lock for an attempt that could not be elected. This happens if a
   * node was lost after its vote, and a later vote has too high a fence. A repeated request gets a
   * higher fence than before, so the nodes can agree on another token.
   *
   * <p>This is the same as withdrawing the attempt and starting another one, to which each node
   * grants the lock again. Late requests of the first round can only raise fences.
   */
  private boolean mayBeRepeated(Outcome outcome, Acquisition acquisition) {
    return outcome == Outcome.UNAVAILABLE && acquisition.holders().size() >= cluster.majority();
  }

  /**
   * Releases all nodes that have granted the lock, and those that grant it later. Waits for the
   * former, so that an attempt that found the lock busy leaves nothing behind.
   */
  private void withdraw(Requests requests, Acquisition acquisition, Deadline deadline)
      throws InterruptedException {
    requests.entry.withdraw();
    Round round = new Round(cluster, time);
    List<Integer> holders = acquisition.holders();
    acquisition.withdraw(node -> release(requests, round, node));
    round.await(
        deadline.atMost(settings.nodeTimeout()),
        () -> holders.stream().allMatch(node -> round.answer(node) != null));
  }

  /**
   * Returns when to poll. With a known holder, this is the end of its TTL, or soon if the client is
   * not notified of the release. Without a known holder the vote may have been split, and the
   * others will withdraw. The client then polls soon, at random, and later each time, because the
   * majority of a holder may also be out of reach. If several claims hold a name together, each
   * node names another one. So for shares, a split that lasts too long is taken for several
   * holders.
   */
  private Attempt.Busy busy(Requests requests, Acquisition acquisition) {
    Claim claim = requests.claim;
    VoteCount.Holder holder = acquisition.holder();
    long now = time.nanoTime();
    if (waits.size() > MAX_WAITS) {
      // Most of these names are no longer in use.
      waits.values().removeIf(wait -> wait.until - now < 0);
    }
    boolean isExclusive = claim.share().isExclusive();
    Wait previous = waits.get(claim.name());
    int splits =
        holder != null
            ? 0
            : Math.min(previous == null ? 1 : previous.splits + 1, MAX_CONSECUTIVE_SPLITS);
    boolean mayBeShort = isExclusive && splits <= MAX_PROMPT_SPLITS;
    long since = claim.issuedAt();
    long until = since + claim.reservation().toNanos();
    if (previous != null && previous.until - now >= 0) {
      since = previous.since;
      until = previous.until - until > 0 ? previous.until : until;
    }
    waits.put(claim.name(), new Wait(splits, mayBeShort, since, until));
    if (holder != null) {
      String label = requests.stored.holder(holder.value());
      boolean isNotified =
          !claim.reservation().isZero() && cluster.subscriber(0).isWatching(requests.keys());
      return !isExclusive || isNotified
          ? busyFor(requests, holder.remainingMillis(), label)
          : new Attempt.Busy(Duration.ofNanos(random(MIN_POLL_PAUSE, MAX_POLL_PAUSE)), label);
    }
    if (splits == MAX_CONSECUTIVE_SPLITS && !isExclusive) {
      return busyFor(requests, acquisition.remainingMillis(), null);
    }
    long maxPause = Math.min(MIN_SPLIT_PAUSE << splits, MAX_SPLIT_PAUSE);
    return new Attempt.Busy(Duration.ofNanos(random(maxPause / 2, maxPause)));
  }

  private static long random(long min, long max) {
    return ThreadLocalRandom.current().nextLong(min, max);
  }

  private Attempt.Busy busyFor(Requests requests, long remainingMillis, @Nullable String holder) {
    long remaining = Math.max(0, remainingMillis);
    if (!requests.claim.reservation().isZero() && !cluster.isSubscribed(requests.keys())) {
      remaining = Math.min(remaining, Subscriber.UNSUBSCRIBED_POLL_MILLIS);
    }
    // Rounded up: the lock is held during the last fraction of a millisecond, too.
    return new Attempt.Busy(Duration.ofMillis(remaining + 1), holder);
  }

  // --- renewing ---------------------------------------------------------------------------------

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
    cluster.census().renewListing();
    long sentAt = time.nanoTime();
    List<Round> rounds = new ArrayList<>(grants.size());
    for (Grant grant : grants) {
      rounds.add(renewal(grant, deadline));
    }
    List<Renewal> outcomes = new ArrayList<>(grants.size());
    for (int i = 0; i < rounds.size(); i++) {
      Round round = rounds.get(i);
      round.await(deadline, () -> round.isDecided("renewed", "gone"));
      outcomes.add(outcome(grants.get(i), round, sentAt));
    }
    return outcomes;
  }

  /**
   * Asks all nodes to renew. While the lease is certain, this also restores the lock on a node that
   * lacked it at the last renewal, or refused its vote because of a late release. That node does
   * not count for this renewal, so a lock that a majority has lost never comes back.
   */
  private Round renewal(Grant grant, Deadline deadline) {
    Entry entry = entry(grant.claim());
    Requests requests = requests(grant.claim(), entry);
    byte[] token = number(grant.token());
    boolean isExclusive = grant.claim().share().isExclusive();
    Round round = new Round(cluster, time);
    Deadline sendBefore = deadline.atMost(settings.nodeTimeout());
    round.ask(
        each ->
            round.new Question(each, sendBefore) {
              private boolean counts = true;

              @Override
              public @Nullable ScriptCall call(String run) {
                boolean restore = entry.isToBeRestoredOn(node, time.nanoTime());
                counts = !entry.lacks(node);
                if (restore && !entry.markSent(node, run)) {
                  return null;
                }
                return requests.renew(run.getBytes(UTF_8), token, restore);
              }

              @Override
              public void complete(Object reply) {
                Answer answer = cluster.answer(node, reply);
                if (answer.words() != null && cluster.refusal(node, answer) == null) {
                  answer =
                      isExclusive
                          ? renewed(entry, node, answer)
                          : shareRenewed(entry, node, answer, counts);
                }
                round.put(node, answer);
              }
            });
    return round;
  }

  private static Answer renewed(Entry entry, int node, Answer answer) {
    // Even if another claim has the lock there: that may be an attempt that finds no majority.
    entry.setLacking(node, isGone(answer));
    return answer;
  }

  /**
   * Records the answer about a share. Among readers, a later token does not show that a lease is
   * lost, so a node ignores it when it restores a share. Instead the node counts only if its answer
   * arrived while the lease was certain, because no excluded claim can have been elected by then.
   *
   * @param counts whether the node was believed to have the share when it was asked
   */
  private Answer shareRenewed(Entry entry, int node, Answer answer, boolean counts) {
    if (answer.is("granted")) {
      entry.markRestored(node, time.nanoTime());
      return RESTORED;
    }
    if (answer.is("busy")) {
      return TAKEN;
    }
    if (isGone(answer)) {
      entry.setLacking(node, true);
    }
    return answer.is("renewed") && !counts ? RESTORED : answer;
  }

  private static boolean isGone(Answer answer) {
    return answer.is("gone") && !Round.text(answer.reply().get(1)).equals("revoked");
  }

  private Renewal outcome(Grant grant, Round round, long sentAt) {
    if (round.count("renewed") >= cluster.majority()) {
      long until = validUntil(grant.claim(), sentAt);
      entry(grant.claim()).confirm(until);
      return new Renewal.Renewed(until);
    }
    if (round.count("gone") > cluster.size() - cluster.majority()) {
      Map<String, Integer> reasons = new HashMap<>();
      for (int node = 0; node < cluster.size(); node++) {
        Answer answer = round.answer(node);
        if (answer != null && answer.is("gone")) {
          reasons.merge(Round.text(answer.reply().get(1)), 1, Integer::sum);
        }
      }
      return new Renewal.Lost(LossReason.TAKEN, gone(reasons));
    }
    return new Renewal.Failed(round.undecided());
  }

  private String gone(Map<String, Integer> reasons) {
    StringBuilder answers = new StringBuilder();
    reasons.forEach(
        (reason, count) ->
            answers
                .append(answers.isEmpty() ? "" : ", ")
                .append(
                    switch (reason) {
                      case "absent" -> "the key is gone";
                      case "ended" -> "the hold has ended";
                      case "revoked" -> "the lock was revoked";
                      default -> "another claim has the lock";
                    })
                .append(" on ")
                .append(count)
                .append(" of ")
                .append(cluster.size())
                .append(" nodes"));
    return answers.toString();
  }

  // --- releasing --------------------------------------------------------------------------------

  @Override
  public boolean release(Claim claim, Deadline deadline) throws InterruptedException {
    Entry entry = entry(claim);
    entry.withdraw();
    Requests requests = requests(claim, entry);
    boolean leads = cluster.pipelines().tryLead();
    try {
      Round round = new Round(cluster, time);
      for (int node = 0; node < cluster.size(); node++) {
        release(requests, round, node);
      }
      return round.verdict("released", deadline);
    } finally {
      if (leads) {
        cluster.pipelines().endLead();
      }
    }
  }

  /** Sends the release to one node as soon as it can be reached. */
  private void release(Requests requests, Round round, int to) {
    Entry entry = requests.entry;
    if (!entry.mayBeOn(to)) {
      round.put(to, new Answer(List.of("not held".getBytes(UTF_8)), null));
      return;
    }
    Deadline until = forRelease(requests);
    cluster.send(
        to,
        round.new Question(to, until) {
          private boolean asked;
          private boolean inDoubt;

          @Override
          public ScriptCall call(String run) {
            inDoubt |= asked || entry.mayBeForgottenBy(node, run);
            asked = true;
            Vote.Granted grant = inDoubt ? null : entry.grantToWithdraw(node);
            return grant == null ? requests.stored.release() : requests.withdraw(grant);
          }

          /** A missing lock proves nothing if it may have been released or forgotten before. */
          @Override
          public void complete(Object reply) {
            Answer answer = cluster.answer(node, reply);
            round.put(node, inDoubt && answer.is("not held") ? GONE_BEFORE : answer);
            repeatIfRefused(reply, this, entry);
          }

          @Override
          public String releaseId() {
            return requests.stored.id();
          }
        });
  }

  /** Sends a release again to a node that refused it, for example because it was busy. */
  private void repeatIfRefused(Object reply, Round.Question release, Entry entry) {
    Refused refused = new Refused(release.node, requireNonNull(release.releaseId()));
    if (Round.isError(reply)
        && entry.isHeldBy(release.node)
        && toRepeat.size() < MAX_REPEATED
        && toRepeat.add(refused)) {
      delayed.run(
          () -> {
            toRepeat.remove(refused);
            cluster.send(release.node, release);
          },
          REFUSED_RELEASE_PAUSE);
    }
  }

  /** Returns the deadline of a release, after which the lock has expired. */
  private Deadline forRelease(Requests requests) {
    return Deadline.in(time, requests.ttl.plus(settings.nodeTimeout()));
  }

  /**
   * Defers the release. Nodes count as they do in a renewal: one on which the lock was restored
   * since the last renewal does not. The delay may not exceed the time after which a restarted node
   * votes again.
   */
  @Override
  public boolean releaseAfter(Claim claim, Duration delay, Deadline deadline)
      throws InterruptedException {
    long millis = (long) Math.ceil(delay.toNanos() * (1 + settings.drift()) / 1_000_000);
    if (millis > settings.maxTtl().toMillis()) {
      throw LockUnavailableException.notSent(
          NAME, cluster.endpoint(), "a lock is kept for at most maxTtl without renewal", null);
    }
    long end = time.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
    AtomicBoolean isLost = new AtomicBoolean();
    Entry entry = entry(claim);
    entry.defer();
    Requests requests = requests(claim, entry);
    Round round = new Round(cluster, time);
    Deadline sendBefore = forRelease(requests);
    round.ask(
        each ->
            round.new Question(each, sendBefore) {
              private boolean inDoubt;
              private boolean asked;

              /**
               * A node that is reached later than the others keeps the lock no longer than they do.
               */
              @Override
              public ScriptCall call(String run) {
                inDoubt |= asked || entry.mayBeForgottenBy(node, run);
                asked = true;
                long remaining = TimeUnit.NANOSECONDS.toMillis(end - time.nanoTime() + 999_999);
                return remaining > 0
                    ? requests.stored.releaseAfter(
                        number(remaining), number(remaining + settings.fenceRetention().toMillis()))
                    : requests.stored.release();
              }

              @Override
              public String releaseId() {
                return requests.stored.id();
              }

              /** A missing lock may prove nothing, as in a release. */
              @Override
              public void complete(Object reply) {
                Answer answer = cluster.answer(node, reply);
                if (inDoubt && answer.is("not held")) {
                  answer = GONE_BEFORE;
                } else if (answer.is("released") && entry.lacks(node)) {
                  answer = RESTORED;
                }
                round.put(node, answer);
                repeatIfRefused(reply, this, entry);
                if (isLost.get()) {
                  endDeferred(requests, round, node);
                }
              }
            });
    boolean isKept = round.verdict("released", deadline);
    if (!isKept) {
      isLost.set(true);
      for (int each = 0; each < cluster.size(); each++) {
        endDeferred(requests, round, each);
      }
    }
    return isKept;
  }

  /** Releases a node that keeps a lock which a majority did not have. */
  private void endDeferred(Requests requests, Round kept, int on) {
    Answer answer = kept.answer(on);
    if (answer == null || answer.is("not held")) {
      return;
    }
    Deadline until = forRelease(requests);
    cluster.send(
        on,
        new Round(cluster, time).new Question(on, until) {
          @Override
          public ScriptCall call(String run) {
            return requests.stored.releaseDeferred();
          }

          @Override
          public String releaseId() {
            return requests.claim.deferredId();
          }
        });
  }

  // --- inspecting, listing, forcing -------------------------------------------------------------

  @Override
  public LockState inspect(String name, Deadline deadline) throws InterruptedException {
    return administration.inspect(name, deadline);
  }

  @Override
  public LockPage list(String prefix, @Nullable String cursor, int limit, Deadline deadline)
      throws InterruptedException {
    return administration.list(prefix, cursor, limit, deadline);
  }

  @Override
  public boolean forceRelease(String name, Deadline deadline) throws InterruptedException {
    return administration.forceRelease(name, deadline);
  }

  @Override
  public boolean revoke(String name, Deadline deadline) throws InterruptedException {
    return administration.revoke(name, deadline);
  }

  // --- waiting ----------------------------------------------------------------------------------

  @Override
  public Watch watch(String name, WakeUp wakeUp) {
    LockKeys keys = LockKeys.of(settings.namespace(), name);
    Wait wait = waits.get(name);
    return wait == null || !wait.mayBeShort
        ? new ReleaseWatch(cluster, keys, wakeUp)
        : new DelayedWatch(delayed, () -> new ReleaseWatch(cluster, keys, wakeUp));
  }

  @Override
  public void close() {
    delayed.close();
    cluster.close();
  }

  // --- TTLs ------------------------------------------------------------------------------------

  private void requireTtlWithinMax(Claim claim) {
    if (claim.ttl().compareTo(settings.maxTtl()) > 0) {
      throw new LockConfigurationException(
          NAME
              + " at "
              + cluster.endpoint()
              + ": a TTL of "
              + claim.ttl()
              + " is longer than maxTtl ("
              + settings.maxTtl()
              + "), the time after which a restarted node votes again");
    }
  }

  /** Rounds the TTL up to whole milliseconds, and to the minimum. */
  private static Duration effectiveTtl(Claim claim) {
    Duration ttl = claim.ttl();
    if (ttl.compareTo(MIN_TTL) < 0) {
      return MIN_TTL;
    }
    // A lease keeps this object, so it is the claim's own if possible.
    Duration rounded = Duration.ofMillis(ttl.plusNanos(999_999).toMillis());
    return rounded.equals(ttl) ? ttl : rounded;
  }

  private long validUntil(Claim claim, long sentAt) {
    long kept = effectiveTtl(claim).toNanos();
    long certain = kept - (long) (kept * settings.drift()) - 2_000_000;
    return sentAt + Math.min(claim.ttl().toNanos(), certain);
  }
}
