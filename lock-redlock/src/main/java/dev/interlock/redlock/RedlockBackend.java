package dev.interlock.redlock;

import static dev.interlock.redis.server.ScriptCall.number;
import static java.nio.charset.StandardCharsets.UTF_8;

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
import dev.interlock.spi.Grant;
import dev.interlock.spi.Later;
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
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * Locks as keys that expire, on a majority of independent nodes.
 *
 * <p>{@link VoteCount} counts the votes, and explains why the resulting token is higher than all
 * before. {@link Admission} decides which nodes may vote.
 *
 * <p>A node's clock measures the TTL from the execution of the request, ours from before it was
 * sent. For clocks of different speed we subtract {@link RedlockSettings#drift()} of the TTL, and 2
 * ms for rounding. A node whose clock is <em>stepped</em> forward drops the lock too early, and so
 * may a majority.
 */
final class RedlockBackend implements LockBackend {

  static final String NAME = "redlock";

  /** Below this, drift, rounding and a majority's answers would take most of the TTL. */
  static final Duration MIN_TTL = Duration.ofMillis(50);

  private static final int MOST_REPEATS = 2;

  /** Others may get the same token each time, but one of them gets ahead each time. */
  private static final int MOST_REPEATS_AMONG_READERS = 200;

  /**
   * How long waiters pause, on top of the engine's millisecond, if the lock changes hands often.
   */
  private static final long LEAST_PAUSE = Duration.ofMillis(1).toNanos() / 2;

  private static final long MOST_PAUSE = Duration.ofMillis(2).toNanos();
  private static final long FOR_LATE_VOTES = Duration.ofMillis(2).toNanos();

  private static final long FIRST_PAUSE = Duration.ofMillis(1).toNanos();
  private static final long LONGEST_PAUSE = Duration.ofMillis(100).toNanos();

  /** After more of them in a row, a majority may be held and out of reach for long. */
  private static final int MOST_PROMPT_SPLITS = 3;

  private static final int MOST_LOOKS = 1_000;
  private static final int MOST_SPLITS_IN_ROW = 10;

  private static final Answer GONE_BEFORE =
      new Answer(
          null,
          new Vote.Refused("it was restarted, or its answer was lost, and the lock is not there any more"));

  private static final Answer RESTORED = new Answer(List.of("restored".getBytes(UTF_8)), null);
  private static final Answer TAKEN =
      new Answer(List.of("gone".getBytes(UTF_8), "taken".getBytes(UTF_8)), null);

  /**
   * A minority of the nodes may be dead, stopped, cut off, or restarted with or without its data.
   * If several nodes drop a lock that is still valid (clocks stepped forward, a person), there may
   * be a second holder, with a higher token. Eviction may also take the records that nodes keep of
   * themselves.
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
          .promise(
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
          .promise(Guarantee.TOKENS_ONLY, Fault.SERVER_CLOCK_STEPPED, Fault.FORCED_RELEASE)
          .promise(Guarantee.NOT_APPLICABLE, Fault.ASYNC_FAILOVER, Fault.LEADER_CHANGED)
          .build();

  private final Cluster cluster;
  private final Later later = new Later("interlock-redlock-later");
  private final RedlockSettings settings;
  private final TimeSource time;
  private final Administration administration;

  /**
   * What the last attempt for a name that this client does not hold has found.
   *
   * @param splits how many attempts in a row found no majority, neither for themselves nor for
   *     another
   * @param mayBeShort whether the wait may end before it is worth a subscription
   * @param since when the client began to wait
   * @param until for how long it is waited for
   */
  private record Look(int splits, boolean mayBeShort, long since, long until) {}

  private final Map<String, Look> looks = new ConcurrentHashMap<>();

  /** Works on nodes that have been connected to. */
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
    requireAtMostMaxTtl(claim);
    cluster.census().comeBack(deadline);
    cluster.census().keepListed();
    boolean ownIo = cluster.pipelines().begin();
    try {
      return attempt(claim, deadline);
    } finally {
      if (ownIo) {
        cluster.pipelines().end();
      }
    }
  }

  /** Returns for how many milliseconds this client has waited for a name. */
  private long waited(@Nullable Look look) {
    long now = time.nanoTime();
    return look == null || look.until - now < 0 ? 0 : 1 + (now - look.since) / 1_000_000;
  }

  private Attempt attempt(Claim claim, Deadline deadline) throws InterruptedException {
    Entry entry = Entry.fresh(claim, cluster.size());
    Requests requests = requests(claim, entry);
    long sentAt = time.nanoTime();
    Acquisition acquisition = ask(requests, deadline);
    Outcome outcome = acquisition.await(deadline);
    int most = claim.share().isWhole() ? MOST_REPEATS : MOST_REPEATS_AMONG_READERS;
    for (int again = 0; again < most && mayBeRepeated(outcome, acquisition); again++) {
      acquisition = ask(requests, deadline);
      outcome = acquisition.await(deadline);
    }
    if (outcome == Outcome.ACQUIRED) {
      long until = validUntil(claim, sentAt);
      entry.confirmed(until);
      looks.remove(claim.name());
      return new Attempt.Granted(Grant.expiring(claim, acquisition.token(), until, requests.ttl));
    }
    if (outcome == Outcome.BUSY) {
      // Late votes can be taken back together with the others then, before they are in the way.
      long pause = Math.min(time.nanoTime() - sentAt, FOR_LATE_VOTES);
      acquisition.awaitRest(deadline.orIn(Duration.ofNanos(pause)));
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
            claim.share().isWhole() ? Hint.at(now) : Hint.amongOthersAt(now),
            waited(looks.get(claim.name())),
            deadline.orIn(settings.nodeTimeout()),
            time);
    acquisition.begin();
    return acquisition;
  }

  /**
   * Whether a majority holds the lock for an attempt that could not be elected: a node was lost
   * after its vote, and a later vote has too high a fence. A repeated question gets a higher fence
   * than before, so the nodes can agree on another token.
   *
   * <p>This is the same as giving the attempt up and beginning another one, to which each node
   * grants the lock again. Late requests of the first round can only raise fences.
   */
  private boolean mayBeRepeated(Outcome outcome, Acquisition acquisition) {
    return outcome == Outcome.UNAVAILABLE && acquisition.holders().size() >= cluster.majority();
  }

  /**
   * Releases all nodes that have granted the lock, or grant it later, and waits for the former: of
   * an attempt that found the lock busy nothing remains.
   */
  private void withdraw(Requests requests, Acquisition acquisition, Deadline deadline)
      throws InterruptedException {
    requests.entry.withdraw();
    Round round = new Round(cluster, time);
    List<Integer> holders = acquisition.holders();
    acquisition.giveUp(node -> release(requests, round, node));
    round.await(
        deadline.orIn(settings.nodeTimeout()),
        () -> holders.stream().allMatch(node -> round.answer(node) != null));
  }

  /**
   * Says when to poll: at the end of a known holder's TTL, but soon if no message of its release is
   * expected. Without a known holder the vote may have been split, and the others will withdraw:
   * soon then, at random, and later each time, because a holder's majority may also be out of
   * reach. Of several that hold a name together, each node names another one. So where there may be
   * several, what looks like a split for too long is taken for that.
   */
  private Attempt.Busy busy(Requests requests, Acquisition acquisition) {
    Claim claim = requests.claim;
    VoteCount.Holder holder = acquisition.holder();
    long now = time.nanoTime();
    if (looks.size() > MOST_LOOKS) {
      // Most of these names are no longer in use.
      looks.values().removeIf(look -> look.until - now < 0);
    }
    boolean isExclusive = claim.share().isExclusive();
    Look before = looks.get(claim.name());
    int inRow =
        holder != null ? 0 : Math.min(before == null ? 1 : before.splits + 1, MOST_SPLITS_IN_ROW);
    boolean mayBeShort = isExclusive && inRow <= MOST_PROMPT_SPLITS;
    long since = claim.issuedAt();
    long until = since + claim.reservation().toNanos();
    if (before != null && before.until - now >= 0) {
      since = before.since;
      until = before.until - until > 0 ? before.until : until;
    }
    looks.put(claim.name(), new Look(inRow, mayBeShort, since, until));
    if (holder != null) {
      String label = requests.stored.holder(holder.value());
      boolean isNotified =
          !claim.reservation().isZero() && cluster.subscriber(0).isWatching(requests.keys());
      return !isExclusive || isNotified
          ? busyFor(requests, holder.leftMillis(), label)
          : new Attempt.Busy(Duration.ofNanos(random(LEAST_PAUSE, MOST_PAUSE)), label);
    }
    if (inRow == MOST_SPLITS_IN_ROW && !isExclusive) {
      return busyFor(requests, acquisition.leftMillis(), null);
    }
    long most = Math.min(FIRST_PAUSE << inRow, LONGEST_PAUSE);
    return new Attempt.Busy(Duration.ofNanos(random(most / 2, most)));
  }

  private static long random(long least, long most) {
    return ThreadLocalRandom.current().nextLong(least, most);
  }

  private Attempt.Busy busyFor(Requests requests, long leftMillis, @Nullable String holder) {
    long left = Math.max(0, leftMillis);
    if (!requests.claim.reservation().isZero() && !cluster.hears(requests.keys())) {
      left = Math.min(left, Subscriber.DEAF_POLL_MILLIS);
    }
    // Rounded up: the last fraction of a millisecond is the holder's.
    return new Attempt.Busy(Duration.ofMillis(left + 1), holder);
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
    cluster.census().keepListed();
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
   * Asks all nodes to renew. Restores the lock, as long as the lease is certain, on a node that
   * lacked it at the last renewal or refused its vote because of a late release. That node does not
   * count for this renewal, so a lock that a majority has lost never comes back.
   */
  private Round renewal(Grant grant, Deadline deadline) {
    Entry entry = entry(grant.claim());
    Requests requests = requests(grant.claim(), entry);
    byte[] token = number(grant.token());
    boolean isExclusive = grant.claim().share().isExclusive();
    Round round = new Round(cluster, time);
    Deadline sendBefore = deadline.orIn(settings.nodeTimeout());
    round.ask(
        each ->
            round.new Question(each, sendBefore) {
              private boolean counts = true;

              @Override
              public @Nullable ScriptCall call(String run) {
                boolean restore = entry.isToBeRestoredOn(node, time.nanoTime());
                counts = !entry.lacks(node);
                if (restore && !entry.touch(node, run)) {
                  return null;
                }
                return requests.renew(run.getBytes(UTF_8), token, restore);
              }

              @Override
              public void answered(Object reply) {
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
    // Also if it is taken, perhaps by an attempt that will find no majority.
    entry.missingOn(node, isGone(answer));
    return answer;
  }

  /**
   * Takes the answer about a share. Among readers, later tokens are no sign of a lost lease, so a
   * node ignores them when it gives a share again. Instead it counts only if its answer arrived
   * while the lease was certain, so that nobody else can have been elected.
   *
   * @param counts whether the node was thought to have the share when it was asked
   */
  private Answer shareRenewed(Entry entry, int node, Answer answer, boolean counts) {
    if (answer.is("granted")) {
      entry.restoredOn(node, time.nanoTime());
      return RESTORED;
    }
    if (answer.is("busy")) {
      return TAKEN;
    }
    if (isGone(answer)) {
      entry.missingOn(node, true);
    }
    return answer.is("renewed") && !counts ? RESTORED : answer;
  }

  private static boolean isGone(Answer answer) {
    return answer.is("gone") && !Round.text(answer.reply().get(1)).equals("revoked");
  }

  private Renewal outcome(Grant grant, Round round, long sentAt) {
    if (round.count("renewed") >= cluster.majority()) {
      long until = validUntil(grant.claim(), sentAt);
      entry(grant.claim()).confirmed(until);
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
      return new Renewal.Gone(LossReason.TAKEN, gone(reasons));
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
    boolean ownIo = cluster.pipelines().begin();
    try {
      Round round = new Round(cluster, time);
      for (int node = 0; node < cluster.size(); node++) {
        release(requests, round, node);
      }
      return round.verdict("released", deadline);
    } finally {
      if (ownIo) {
        cluster.pipelines().end();
      }
    }
  }

  /** Sends the release to one node, as soon as it can be reached. */
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
            Vote.Granted grant = inDoubt ? null : entry.quietlyLeaving(node);
            return grant == null ? requests.stored.release() : requests.withdraw(grant);
          }

          /** A missing lock says nothing if it may have been released before, or forgotten. */
          @Override
          public void answered(Object reply) {
            Answer answer = cluster.answer(node, reply);
            round.put(node, inDoubt && answer.is("not held") ? GONE_BEFORE : answer);
          }

          @Override
          public String releaseId() {
            return requests.stored.id();
          }
        });
  }

  /** Returns until when a release is of use: then the lock has expired. */
  private Deadline forRelease(Requests requests) {
    return Deadline.in(time, requests.ttl.plus(settings.nodeTimeout()));
  }

  /**
   * Counts like a renewal: not on a node that was given the lock again since the last one, and not
   * for longer than a restarted node waits before it votes.
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

              /** A node that can be reached later only keeps the lock no longer than the others. */
              @Override
              public ScriptCall call(String run) {
                inDoubt |= asked || entry.mayBeForgottenBy(node, run);
                asked = true;
                long rest = TimeUnit.NANOSECONDS.toMillis(end - time.nanoTime() + 999_999);
                return rest > 0
                    ? requests.stored.releaseAfter(
                        number(rest), number(rest + settings.fenceRetention().toMillis()))
                    : requests.stored.release();
              }

              @Override
              public String releaseId() {
                return requests.stored.id();
              }

              /** As in a release, a missing lock may say nothing. */
              @Override
              public void answered(Object reply) {
                Answer answer = cluster.answer(node, reply);
                if (inDoubt && answer.is("not held")) {
                  answer = GONE_BEFORE;
                } else if (answer.is("released") && entry.lacks(node)) {
                  answer = RESTORED;
                }
                round.put(node, answer);
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

  /** Frees a node that keeps a lock which most of them did not have. */
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
    Look look = looks.get(name);
    return look == null || !look.mayBeShort
        ? new ReleaseWatch(cluster, keys, wakeUp)
        : new DelayedWatch(later, () -> new ReleaseWatch(cluster, keys, wakeUp));
  }

  @Override
  public void close() {
    later.close();
    cluster.close();
  }

  // --- TTLs ------------------------------------------------------------------------------------

  private void requireAtMostMaxTtl(Claim claim) {
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

  /** Rounds up to whole milliseconds, and to a TTL that does not end before a majority answers. */
  private static Duration effectiveTtl(Claim claim) {
    Duration ttl = claim.ttl();
    if (ttl.compareTo(MIN_TTL) < 0) {
      return MIN_TTL;
    }
    // A lease keeps it: mostly the same object as its claim.
    Duration rounded = Duration.ofMillis(ttl.plusNanos(999_999).toMillis());
    return rounded.equals(ttl) ? ttl : rounded;
  }

  private long validUntil(Claim claim, long sentAt) {
    long kept = effectiveTtl(claim).toNanos();
    long certain = kept - (long) (kept * settings.drift()) - 2_000_000;
    return sentAt + Math.min(claim.ttl().toNanos(), certain);
  }
}
