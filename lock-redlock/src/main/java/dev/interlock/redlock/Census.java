package dev.interlock.redlock;

import static dev.interlock.redis.server.ScriptCall.number;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockException;
import dev.interlock.LockUnavailableException;
import dev.interlock.redis.server.Request;
import dev.interlock.redis.server.Script;
import dev.interlock.redis.server.ScriptCall;
import dev.interlock.redlock.NodeStatus.Kind;
import dev.interlock.redlock.Round.Answer;
import dev.interlock.spi.DaemonThreads;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.TimeSource;
import dev.interlock.spi.WakeUp;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Decides which nodes may vote. Every client does this work: when it has reconnected to a node, or
 * a node refuses to vote, it examines all nodes and takes the steps that {@link Admission} decides.
 */
final class Census implements AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(Census.class);

  /** The limits of the pause between two examinations. */
  private static final Duration MAX_PAUSE = Duration.ofSeconds(5);

  private static final Duration MIN_PAUSE = Duration.ofMillis(50);

  /** The pause while a node cannot be admitted although its quarantine is over. */
  private static final Duration PAUSE_AFTER_QUARANTINE = Duration.ofMillis(500);

  /** The maximum time between two exchanges of listings, while locks are acquired or renewed. */
  private static final Duration MAX_LISTING_INTERVAL = Duration.ofSeconds(5);

  private static final int MAX_EXAMINATIONS_AT_OPENING = 4;

  /** The time for which a node is watched that stopped answering during its quarantine. */
  private static final Duration MAX_SILENCE_IN_QUARANTINE = Duration.ofMinutes(2);

  /** The minimum time to wait for the other nodes when a majority has answered. */
  private static final Duration MIN_STRAGGLER_WAIT = Duration.ofMillis(50);

  /** The result of one examination of all nodes. */
  private record Examination(List<NodeStatus> statuses, Listings listings, long startedAt) {}

  private final Cluster cluster;
  private final RedlockSettings settings;
  private final TimeSource time;
  private final Admission admission;
  private final ListingExchange exchange;

  /** The process of each node at its last examination. */
  private final Map<Integer, String> runs = new ConcurrentHashMap<>();

  private final ScheduledThreadPoolExecutor examiner =
      DaemonThreads.one("interlock-redlock-census", MAX_PAUSE.plusSeconds(1));

  /** The next examination; guarded by {@link #examiner}. None until the client is open. */
  private @Nullable Future<?> nextExamination;

  private long nextExaminationAt;
  private boolean isOpen;

  /** The processes that could be admitted according to the last examination. */
  private Set<String> candidates = Set.of();

  /** The time at which each node was last seen in quarantine. */
  private final Map<Integer, Long> quarantinedAt = new HashMap<>();

  /** The processes whose conflict with listings of other clients was logged. */
  private final Set<String> disputed = new HashSet<>();

  private final AtomicLong lastExaminedAt = new AtomicLong(System.nanoTime());

  /** The time at which a majority last recorded our listing, without a conflict. */
  private volatile long listedAt = System.nanoTime();

  /** One thread at a time checks the listings; the others use its result. */
  private final ReentrantLock rejoinLock = new ReentrantLock();

  /** The conflict that was found after the nodes had recorded our listing; valid for a maxTtl. */
  @GuardedBy("rejoinLock")
  private @Nullable LockException refusal;

  @GuardedBy("rejoinLock")
  private long refusedAt;

  /** The time since which another client has been founding the cluster; null if none is. */
  private @Nullable Long foundingSince;

  Census(Cluster cluster, RedlockSettings settings, TimeSource time) {
    this.cluster = cluster;
    this.settings = settings;
    this.time = time;
    this.admission = new Admission(settings.durable());
    this.exchange = new ListingExchange(cluster, settings, time);
  }

  /**
   * Connects to the nodes, and admits those that may vote.
   *
   * @throws LockException if a server cannot be a node, or no majority answers
   */
  void open(Deadline deadline) throws InterruptedException {
    int examinations = 0;
    while (examinations < MAX_EXAMINATIONS_AT_OPENING) {
      long examinedAt = System.nanoTime();
      Round round = examineAll(deadline);
      for (int node = 0; node < cluster.size(); node++) {
        Answer answer = round.answer(node);
        if (answer != null
            && answer.silence() instanceof Vote.Failed failed
            && failed.problem() instanceof LockConfigurationException wrong) {
          throw wrong;
        }
      }
      List<NodeStatus> statuses = statuses(round, true);
      Listings listings = exchange.run(statuses, Set.of(), ListingExchange.READ_ONLY, deadline);
      Examination examination = new Examination(statuses, listings, examinedAt);
      requireMajority(round, statuses);
      exchange.refuseUnlisted(examination.listings());
      boolean changed = takeSteps(examination, deadline);
      if (foundingSince != null) {
        var unused = new WakeUp(time).await(deadline.atMost(MIN_PAUSE));
        examinations += deadline.hasPassed() ? 1 : 0;
      } else if (changed) {
        examinations++;
      } else {
        break;
      }
    }
    long now = System.nanoTime();
    exchange.refuseUnlisted(
        exchange.run(statuses(examineAll(deadline), true), Set.of(), now, deadline));
    listedAt = now;
    synchronized (examiner) {
      isOpen = true;
    }
    examineWithin(MIN_PAUSE);
  }

  /** Schedules an examination after a pause, unless an earlier one is due. */
  void examineWithin(Duration pause) {
    synchronized (examiner) {
      long at = System.nanoTime() + pause.toNanos();
      if (!isOpen || (nextExamination != null && nextExaminationAt - at <= 0)) {
        return;
      }
      if (nextExamination != null) {
        nextExamination.cancel(false);
      }
      try {
        nextExamination =
            examiner.schedule(this::runExamination, pause.toMillis(), TimeUnit.MILLISECONDS);
        nextExaminationAt = at;
      } catch (RejectedExecutionException closed) {
        log.debug("the lock client is closed; the nodes are not examined any more", closed);
      }
    }
  }

  private void runExamination() {
    synchronized (examiner) {
      nextExamination = null;
    }
    try {
      Deadline deadline = Deadline.in(time, settings.nodeTimeout().multipliedBy(2));
      long startedAt = System.nanoTime();
      List<NodeStatus> statuses = statuses(examineAll(deadline), false);
      boolean isExpired = isListingExpired(startedAt);
      if (isExpired && NodeStatus.countReachable(statuses) >= cluster.majority()) {
        rejoin(statuses, startedAt, deadline);
        isExpired = false;
      }
      lastExaminedAt.set(startedAt);
      Listings listings =
          exchange.run(
              statuses, Set.of(), isExpired ? ListingExchange.READ_ONLY : startedAt, deadline);
      if (!isExpired && ListingExchange.countRecorded(statuses, listings) >= cluster.majority()) {
        listedAt = startedAt;
      }
      Examination examination = new Examination(statuses, listings, startedAt);
      if (takeSteps(examination, deadline) || foundingSince != null) {
        examineWithin(MIN_PAUSE);
      }
      for (int node = 0; node < cluster.size(); node++) {
        watchQuarantine(node, statuses.get(node));
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (LockException e) {
      log.warn("restarted nodes cannot be admitted yet: {}", e.getMessage());
    } catch (RuntimeException | Error e) {
      log.error("restarted nodes do not vote, because of a bug", e);
    }
  }

  /** Schedules the next examination for a node in quarantine, even if it has stopped answering. */
  private void watchQuarantine(int node, NodeStatus status) {
    Long seenAt = quarantinedAt.get(node);
    if (status.is(Kind.QUARANTINED)) {
      quarantinedAt.put(node, System.nanoTime());
      examineWithin(
          status.hasServed() ? PAUSE_AFTER_QUARANTINE : pauseFor(status.remainingMillis()));
    } else if (!status.is(Kind.UNREACHABLE)) {
      quarantinedAt.remove(node);
    } else if (seenAt != null && System.nanoTime() - seenAt < MAX_SILENCE_IN_QUARANTINE.toNanos()) {
      examineWithin(maxPause());
    }
  }

  /** Lets the nodes know our listing from time to time. Does not wait. */
  void renewListing() {
    long previous = lastExaminedAt.get();
    long now = System.nanoTime();
    long maxInterval = Math.min(MAX_LISTING_INTERVAL.toNanos(), settings.maxTtl().toNanos() / 3);
    if (now - previous > maxInterval && lastExaminedAt.compareAndSet(previous, now)) {
      examineWithin(Duration.ZERO);
    }
  }

  /** Whether the nodes may have forgotten our listing. Others may then have replaced a node. */
  private boolean isListingExpired(long now) {
    return now - listedAt > settings.maxTtl().toNanos();
  }

  /**
   * Checks the listings of other clients if no majority has recorded this client's listing for a
   * {@code maxTtl}. Examines the nodes for that, and waits for a majority, but only a little for
   * the other nodes.
   *
   * @throws LockConfigurationException if other clients do not list one of the nodes any more
   * @throws LockUnavailableException if this is possible but a node does not answer, or if no
   *     majority answers
   */
  void rejoin(Deadline deadline) throws InterruptedException {
    long now = System.nanoTime();
    if (!isListingExpired(now)) {
      return;
    }
    Deadline limit = deadline.atMost(settings.nodeTimeout());
    Round round = startExamination(limit);
    round.await(limit, () -> countHeard(round) >= cluster.majority());
    round.await(deadline.atMost(stragglerWait()), () -> false);
    List<NodeStatus> statuses = statuses(round, false);
    requireMajority(round, statuses);
    rejoin(statuses, now, deadline.atMost(settings.nodeTimeout().multipliedBy(2)));
  }

  private void rejoin(List<NodeStatus> statuses, long examinedAt, Deadline deadline)
      throws InterruptedException {
    if (!rejoinLock.tryLock(deadline.remainingNanos(), TimeUnit.NANOSECONDS)) {
      throw couldNotCheck();
    }
    try {
      if (!isListingExpired(examinedAt)) {
        return;
      }
      if (refusal != null && System.nanoTime() - refusedAt <= settings.maxTtl().toNanos()) {
        throw refusal;
      }
      refuseReplaced(statuses, examinedAt, deadline);
      listedAt = examinedAt;
    } finally {
      rejoinLock.unlock();
    }
  }

  /**
   * Throws if a node was replaced. Reads the listings before adding ours: if this client is
   * refused, its own listing would be taken for another client's the next time.
   */
  @GuardedBy("rejoinLock")
  private void refuseReplaced(List<NodeStatus> statuses, long examinedAt, Deadline deadline)
      throws InterruptedException {
    exchange.refusePerhapsUnlisted(
        exchangeWithMajority(statuses, ListingExchange.READ_ONLY, deadline));
    Listings listings = exchangeWithMajority(statuses, examinedAt, deadline);
    try {
      exchange.refusePerhapsUnlisted(listings);
    } catch (LockException e) {
      refusal = e;
      refusedAt = System.nanoTime();
      throw e;
    }
  }

  private Listings exchangeWithMajority(
      List<NodeStatus> statuses, long examinedAt, Deadline deadline) throws InterruptedException {
    Listings listings = exchange.run(statuses, Set.of(), examinedAt, deadline);
    if (listings.answers() < cluster.majority()) {
      throw couldNotCheck();
    }
    return listings;
  }

  private LockException couldNotCheck() {
    return cluster
        .failures()
        .passing("could not check in time whether other clients list the same nodes", null);
  }

  private Duration stragglerWait() {
    Duration tenth = settings.nodeTimeout().dividedBy(10);
    return tenth.compareTo(MIN_STRAGGLER_WAIT) < 0 ? MIN_STRAGGLER_WAIT : tenth;
  }

  /** Schedules an examination because a node refused to vote; 0 if it is not in quarantine. */
  void examineAfterQuarantine(long remainingMillis) {
    examineWithin(pauseFor(remainingMillis));
  }

  /** Returns the pause before the next examination, for a node in quarantine. */
  private Duration pauseFor(long remainingMillis) {
    long pause = Math.max(remainingMillis, MIN_PAUSE.toMillis());
    return Duration.ofMillis(Math.min(maxPause().toMillis(), pause));
  }

  /**
   * Returns the maximum pause, in which our listing {@linkplain #isListingExpired cannot expire}.
   */
  private Duration maxPause() {
    Duration third = settings.maxTtl().dividedBy(3);
    return third.compareTo(MAX_PAUSE) < 0 ? third : MAX_PAUSE;
  }

  private Round examineAll(Deadline deadline) throws InterruptedException {
    Round round = startExamination(deadline);
    round.await(deadline, () -> false);
    return round;
  }

  private Round startExamination(Deadline deadline) {
    Round round = new Round(cluster, time);
    for (int node = 0; node < cluster.size(); node++) {
      cluster.send(node, ask(round, node, deadline, null, NodeScripts.EXAMINE));
    }
    return round;
  }

  /**
   * Makes a request about a node's record.
   *
   * @param onlyRun the process to which the request may be sent; null for any
   */
  private Request ask(
      Round round,
      int node,
      Deadline deadline,
      @Nullable String onlyRun,
      Script script,
      byte[]... more) {
    return round.new Question(node, deadline) {
      @Override
      public @Nullable ScriptCall call(String run) {
        if (onlyRun != null && !onlyRun.equals(run)) {
          return null;
        }
        List<byte[]> arguments =
            new ArrayList<>(List.of(run.getBytes(UTF_8), cluster.maxTtlArgument()));
        arguments.addAll(List.of(more));
        runs.put(node, run);
        return new ScriptCall(script, List.of(cluster.record()), arguments);
      }
    };
  }

  /**
   * Returns the status of each node. A node of another cluster counts as unreachable.
   *
   * @param strict whether to throw instead
   */
  private List<NodeStatus> statuses(Round round, boolean strict) {
    List<NodeStatus> statuses = new ArrayList<>();
    for (int node = 0; node < cluster.size(); node++) {
      Answer answer = round.answer(node);
      statuses.add(
          answer == null
                  || answer.silence() != null
                  || !isOfThisCluster(node, answer.reply(), strict)
              ? NodeStatus.UNREACHABLE
              : NodeStatus.read(answer.reply(), runs.getOrDefault(node, "")));
    }
    return statuses;
  }

  /** Whether the record of a node has the same longest TTL and number of nodes, or neither. */
  private boolean isOfThisCluster(int node, List<?> status, boolean strict) {
    String maxTtl = NodeStatus.maxTtl(status);
    String nodeCount = NodeStatus.nodeCount(status);
    boolean hasOtherMaxTtl =
        !maxTtl.isEmpty() && !maxTtl.equals(new String(cluster.maxTtlArgument(), UTF_8));
    boolean hasOtherNodeCount =
        !nodeCount.isEmpty() && !nodeCount.equals(new String(cluster.nodeCountArgument(), UTF_8));
    if (strict && hasOtherMaxTtl) {
      throw cluster.otherMaxTtl(node, Long.parseLong(maxTtl));
    }
    if (strict && hasOtherNodeCount) {
      throw cluster.otherNodeCount(node, Long.parseLong(nodeCount));
    }
    return !hasOtherMaxTtl && !hasOtherNodeCount;
  }

  private static int countHeard(Round round) {
    return round.count(each -> each.silence() == null);
  }

  private void requireMajority(Round round, List<NodeStatus> statuses) {
    long reached = NodeStatus.countReachable(statuses);
    if (reached >= cluster.majority()) {
      return;
    }
    long ofOtherClusters = countHeard(round) - reached;
    if (ofOtherClusters > cluster.size() - cluster.majority()) {
      var unused = statuses(round, true); // throws
    }
    throw round.undecided();
  }

  /** Takes the steps that follow from an examination. Returns whether to examine again at once. */
  private boolean takeSteps(Examination examination, Deadline deadline)
      throws InterruptedException {
    List<NodeStatus> statuses = examination.statuses();
    List<Admission.Step> steps =
        admission.stepsFor(statuses, candidates, leavesTimeToFounder(statuses));
    Set<String> newCandidates = Admission.candidates(statuses);
    boolean hasNewCandidates = !candidates.containsAll(newCandidates);
    candidates = newCandidates;
    Set<Integer> entering = new HashSet<>();
    for (Admission.Step step : steps) {
      if (step instanceof Admission.Step.Admit
          && examination.listings().conflictFor(step.node()).isEmpty()) {
        entering.add(step.node());
      }
    }
    // Lists these nodes first, then reads the listings again. So if two clients admit different
    // nodes at the same time, or one rejoins meanwhile, at least one learns of the other.
    Listings listings =
        entering.isEmpty()
            ? examination.listings()
            : exchange.run(statuses, entering, examination.startedAt(), deadline);
    Round round = new Round(cluster, time);
    int sent = 0;
    for (Admission.Step step : steps) {
      if (step instanceof Admission.Step.Admit && listings.conflictFor(step.node()).isPresent()) {
        if (disputed.add(step.run())) {
          log.warn(
              "{} does not vote: it is {}",
              cluster.name(step.node()),
              exchange.describeConflict(listings, step.node()));
        }
        continue;
      }
      sent++;
      if (step instanceof Admission.Step.Admit admit) {
        log.info("{} votes from now on ({})", cluster.name(step.node()), admit.reason());
        cluster.send(
            step.node(),
            ask(
                round,
                step.node(),
                deadline,
                step.run(),
                NodeScripts.ADMIT,
                number(admit.floor()),
                admit.reason().name().getBytes(UTF_8),
                cluster.nodeCountArgument()));
      } else if (step instanceof Admission.Step.Count) {
        Request count =
            ask(
                round,
                step.node(),
                deadline,
                step.run(),
                NodeScripts.COUNT,
                cluster.nodeCountArgument());
        cluster.send(step.node(), count);
      } else {
        log.warn(
            "{} was restarted, may have forgotten locks, and does not vote for {}",
            cluster.name(step.node()),
            settings.maxTtl());
        cluster.send(
            step.node(), ask(round, step.node(), deadline, step.run(), NodeScripts.QUARANTINE));
      }
    }
    int asked = sent;
    round.await(deadline.atMost(settings.nodeTimeout()), () -> round.countAnswers() >= asked);
    return hasNewCandidates || asked > 0;
  }

  /** Whether to wait because another client may be founding the cluster. */
  private boolean leavesTimeToFounder(List<NodeStatus> statuses) {
    if (!Admission.isBeingFounded(statuses)) {
      foundingSince = null;
      return false;
    }
    long now = time.nanoTime();
    if (foundingSince == null) {
      foundingSince = now;
    }
    return now - foundingSince < settings.nodeTimeout().multipliedBy(2).toNanos();
  }

  @Override
  public void close() {
    examiner.shutdown();
  }
}
