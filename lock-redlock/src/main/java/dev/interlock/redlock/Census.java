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
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Which nodes may vote. Every client takes care of that: when it has reconnected to a node, and
 * when one refuses to vote, it examines all of them and does what {@link Admission} decides.
 */
final class Census implements AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(Census.class);

  private static final Duration LONGEST_PAUSE = Duration.ofSeconds(5);
  private static final Duration SHORTEST_PAUSE = Duration.ofMillis(50);
  private static final Duration UNTIL_OTHERS_CHANGE = Duration.ofMillis(500);
  private static final Duration BETWEEN_LISTINGS = Duration.ofSeconds(5);
  private static final int MOST_LOOKS_AT_OPENING = 4;
  private static final long NOT_NOTED = 0;

  /** For how long to watch a node that fell silent in quarantine. */
  private static final Duration LONGEST_PATIENCE = Duration.ofMinutes(2);

  /** The least time to wait for the other nodes when a majority has answered. */
  private static final Duration STRAGGLERS = Duration.ofMillis(50);

  /** What one examination of all nodes has shown. */
  private record Look(List<NodeStatus> statuses, Listings listings, long examinedAt) {}

  private final Cluster cluster;
  private final RedlockSettings settings;
  private final TimeSource time;
  private final Admission admission;

  /** The process of each node when it was examined last. */
  private final Map<Integer, String> runs = new ConcurrentHashMap<>();

  private final ScheduledThreadPoolExecutor looks =
      DaemonThreads.one("interlock-redlock-census", LONGEST_PAUSE.plusSeconds(1));

  /** The next look, and its time; guarded by {@link #looks}. None until the client is open. */
  private @Nullable Future<?> nextLook;

  private long nextLookAt;
  private boolean isOpen;

  /** The processes that had served their quarantine, or were blank, at the last look. */
  private Set<String> known = Set.of();

  /** When each node was last seen in quarantine. */
  private final Map<Integer, Long> confined = new HashMap<>();

  /** The processes whose conflict with listings of other clients was logged. */
  private final Set<String> disputed = new HashSet<>();

  private final AtomicLong lookedAt = new AtomicLong(System.nanoTime());

  /** When a majority of the nodes last noted what we list, without a conflict. */
  private volatile long listedAt = System.nanoTime();

  /** One thread at a time checks the listings; the others use its result. */
  private final ReentrantLock comingBack = new ReentrantLock();

  /** A conflict that was found after the nodes had noted ours; forgotten after a maxTtl. */
  @GuardedBy("comingBack")
  private @Nullable LockException refusal;

  @GuardedBy("comingBack")
  private long refusedAt;

  /** Since when another client has been founding the cluster. */
  private @Nullable Long foundingSince;

  Census(Cluster cluster, RedlockSettings settings, TimeSource time) {
    this.cluster = cluster;
    this.settings = settings;
    this.time = time;
    this.admission = new Admission(settings.durable());
  }

  /**
   * Connects to the nodes, and admits those that may vote.
   *
   * @throws LockException if a node cannot be one, or no majority answers
   */
  void open(Deadline deadline) throws InterruptedException {
    int looked = 0;
    while (looked < MOST_LOOKS_AT_OPENING) {
      long examinedAt = System.nanoTime();
      Round examined = examine(deadline);
      for (int node = 0; node < cluster.size(); node++) {
        Answer answer = examined.answer(node);
        if (answer != null
            && answer.silence() instanceof Vote.Failed failed
            && failed.problem() instanceof LockConfigurationException wrong) {
          throw wrong;
        }
      }
      List<NodeStatus> statuses = statuses(examined, true);
      Listings listings = exchangeListings(statuses, Set.of(), NOT_NOTED, deadline);
      Look look = new Look(statuses, listings, examinedAt);
      requireMajority(examined, statuses);
      refuseUnlisted(look.listings());
      boolean changed = follow(look, deadline);
      if (foundingSince != null) {
        var unused = new WakeUp(time).await(deadline.orIn(SHORTEST_PAUSE));
        looked += deadline.hasPassed() ? 1 : 0;
      } else if (changed) {
        looked++;
      } else {
        break;
      }
    }
    long now = System.nanoTime();
    refuseUnlisted(exchangeListings(statuses(examine(deadline), true), Set.of(), now, deadline));
    listedAt = now;
    synchronized (looks) {
      isOpen = true;
    }
    lookWithin(SHORTEST_PAUSE);
  }

  /** Looks after this time, or earlier. */
  void lookWithin(Duration pause) {
    synchronized (looks) {
      long at = System.nanoTime() + pause.toNanos();
      if (!isOpen || (nextLook != null && nextLookAt - at <= 0)) {
        return;
      }
      if (nextLook != null) {
        nextLook.cancel(false);
      }
      try {
        nextLook = looks.schedule(this::look, pause.toMillis(), TimeUnit.MILLISECONDS);
        nextLookAt = at;
      } catch (RejectedExecutionException closed) {
        log.debug("the client is closed; the nodes are not examined any more", closed);
      }
    }
  }

  private void look() {
    synchronized (looks) {
      nextLook = null;
    }
    try {
      Deadline deadline = Deadline.in(time, settings.nodeTimeout().multipliedBy(2));
      long begun = System.nanoTime();
      List<NodeStatus> statuses = statuses(examine(deadline), false);
      boolean away = isAway(begun);
      if (away && reached(statuses) >= cluster.majority()) {
        comeBack(statuses, begun, deadline);
        away = false;
      }
      lookedAt.set(begun);
      Listings listings = exchangeListings(statuses, Set.of(), away ? NOT_NOTED : begun, deadline);
      if (!away && notedBy(statuses, listings) >= cluster.majority()) {
        listedAt = begun;
      }
      Look look = new Look(statuses, listings, begun);
      if (follow(look, deadline) || foundingSince != null) {
        lookWithin(SHORTEST_PAUSE);
      }
      for (int node = 0; node < cluster.size(); node++) {
        watch(node, statuses.get(node));
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (LockException e) {
      log.warn("restarted nodes cannot be admitted yet: {}", e.getMessage());
    } catch (RuntimeException | Error e) {
      log.error("restarted nodes do not vote, because of a bug", e);
    }
  }

  /** Keeps watching a node in quarantine that does not answer for a while. */
  private void watch(int node, NodeStatus status) {
    Long confinedAt = confined.get(node);
    if (status.is(Kind.QUARANTINED)) {
      confined.put(node, System.nanoTime());
      lookWithin(status.hasServed() ? UNTIL_OTHERS_CHANGE : pauseFor(status.leftMillis()));
    } else if (!status.is(Kind.UNREACHABLE)) {
      confined.remove(node);
    } else if (confinedAt != null && System.nanoTime() - confinedAt < LONGEST_PATIENCE.toNanos()) {
      lookWithin(longestPause());
    }
  }

  /** Exchanges listings from time to time, without waiting, so that the nodes know ours. */
  void keepListed() {
    long before = lookedAt.get();
    long now = System.nanoTime();
    long most = Math.min(BETWEEN_LISTINGS.toNanos(), settings.maxTtl().toNanos() / 3);
    if (now - before > most && lookedAt.compareAndSet(before, now)) {
      lookWithin(Duration.ZERO);
    }
  }

  /** Whether nodes may have forgotten our listing, so that others may have replaced one of them. */
  private boolean isAway(long now) {
    return now - listedAt > settings.maxTtl().toNanos();
  }

  /**
   * If no majority has noted this client's listing for a {@code maxTtl}, examines the nodes and
   * waits for that. When a majority has answered, it waits only a little for the others.
   *
   * @throws LockConfigurationException if other clients no longer list one of the nodes
   * @throws LockUnavailableException if that may be so and a node is silent, or if no majority
   *     answers
   */
  void comeBack(Deadline deadline) throws InterruptedException {
    long now = System.nanoTime();
    if (!isAway(now)) {
      return;
    }
    Deadline limit = deadline.orIn(settings.nodeTimeout());
    Round examined = beginToExamine(limit);
    examined.await(limit, () -> heard(examined) >= cluster.majority());
    examined.await(deadline.orIn(forStragglers()), () -> false);
    List<NodeStatus> statuses = statuses(examined, false);
    requireMajority(examined, statuses);
    comeBack(statuses, now, deadline.orIn(settings.nodeTimeout().multipliedBy(2)));
  }

  private void comeBack(List<NodeStatus> statuses, long examinedAt, Deadline deadline)
      throws InterruptedException {
    if (!comingBack.tryLock(deadline.remainingNanos(), TimeUnit.NANOSECONDS)) {
      throw couldNotCheck();
    }
    try {
      if (!isAway(examinedAt)) {
        return;
      }
      if (refusal != null && System.nanoTime() - refusedAt <= settings.maxTtl().toNanos()) {
        throw refusal;
      }
      refuseReplaced(statuses, examinedAt, deadline);
      listedAt = examinedAt;
    } finally {
      comingBack.unlock();
    }
  }

  /**
   * Reads the listings before it sends ours, which would look like another client's the next time,
   * even if it is refused now.
   */
  @GuardedBy("comingBack")
  private void refuseReplaced(List<NodeStatus> statuses, long examinedAt, Deadline deadline)
      throws InterruptedException {
    refusePerhapsUnlisted(exchangeWithMajority(statuses, NOT_NOTED, deadline));
    Listings listings = exchangeWithMajority(statuses, examinedAt, deadline);
    try {
      refusePerhapsUnlisted(listings);
    } catch (LockException e) {
      refusal = e;
      refusedAt = System.nanoTime();
      throw e;
    }
  }

  private Listings exchangeWithMajority(List<NodeStatus> statuses, long since, Deadline deadline)
      throws InterruptedException {
    Listings listings = exchangeListings(statuses, Set.of(), since, deadline);
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

  private Duration forStragglers() {
    Duration tenth = settings.nodeTimeout().dividedBy(10);
    return tenth.compareTo(STRAGGLERS) < 0 ? STRAGGLERS : tenth;
  }

  /** Looks again after a node has refused to vote, perhaps for the rest of a quarantine. */
  void lookAfter(long leftMillis) {
    lookWithin(pauseFor(leftMillis));
  }

  /** Returns how long to wait for the end of a quarantine before the next look. */
  private Duration pauseFor(long leftMillis) {
    long least = Math.max(leftMillis, SHORTEST_PAUSE.toMillis());
    return Duration.ofMillis(Math.min(longestPause().toMillis(), least));
  }

  /** So short that a client that watches a node is not {@link #isAway} meanwhile. */
  private Duration longestPause() {
    Duration third = settings.maxTtl().dividedBy(3);
    return third.compareTo(LONGEST_PAUSE) < 0 ? third : LONGEST_PAUSE;
  }

  private Round examine(Deadline deadline) throws InterruptedException {
    Round round = beginToExamine(deadline);
    round.await(deadline, () -> false);
    return round;
  }

  private Round beginToExamine(Deadline deadline) {
    Round round = new Round(cluster, time);
    for (int node = 0; node < cluster.size(); node++) {
      cluster.send(node, ask(round, node, deadline, null, NodeScripts.EXAMINE));
    }
    return round;
  }

  /**
   * A question about the record.
   *
   * @param onlyRun the process to ask; null for any
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
        List<byte[]> arguments = new ArrayList<>(List.of(run.getBytes(UTF_8), cluster.longest()));
        arguments.addAll(List.of(more));
        runs.put(node, run);
        return new ScriptCall(script, List.of(cluster.record()), arguments);
      }
    };
  }

  /**
   * Returns the status of all nodes.
   *
   * @param strict whether to throw if a node was set up for another cluster, and not only to leave
   *     it out
   */
  private List<NodeStatus> statuses(Round examined, boolean strict) {
    List<NodeStatus> statuses = new ArrayList<>();
    for (int node = 0; node < cluster.size(); node++) {
      Answer answer = examined.answer(node);
      if (answer == null || answer.silence() != null) {
        statuses.add(NodeStatus.UNREACHABLE);
        continue;
      }
      List<?> words = answer.reply();
      String itsLongest = Round.text(words.get(3));
      String itsNumber = Round.text(words.get(4));
      boolean otherLongest =
          !itsLongest.isEmpty() && !itsLongest.equals(new String(cluster.longest(), UTF_8));
      boolean otherNumber =
          !itsNumber.isEmpty() && !itsNumber.equals(new String(cluster.number(), UTF_8));
      if (strict && otherLongest) {
        throw cluster.otherMaxTtl(node, Long.parseLong(itsLongest));
      }
      if (strict && otherNumber) {
        throw cluster.otherNumber(node, Long.parseLong(itsNumber));
      }
      if (otherLongest || otherNumber) {
        statuses.add(NodeStatus.UNREACHABLE);
        continue;
      }
      statuses.add(
          new NodeStatus(
              switch (Round.text(words.get(0))) {
                case "member" -> Kind.MEMBER;
                case "quarantined" -> Kind.QUARANTINED;
                case "restarted" -> Kind.RESTARTED;
                default -> Kind.BLANK;
              },
              runs.getOrDefault(node, ""),
              Long.parseLong(Round.text(words.get(1))),
              (Long) words.get(2),
              !itsNumber.isEmpty()));
    }
    return statuses;
  }

  /** By how many nodes; one that has never voted, or is in quarantine, notes nothing. */
  private static long notedBy(List<NodeStatus> statuses, Listings listings) {
    return IntStream.range(0, statuses.size())
        .filter(listings::hasAnswerOf)
        .mapToObj(statuses::get)
        .filter(status -> status.is(Kind.MEMBER) || status.is(Kind.RESTARTED))
        .count();
  }

  private static int heard(Round examined) {
    return examined.count(each -> each.silence() == null);
  }

  private void requireMajority(Round examined, List<NodeStatus> statuses) {
    long reached = reached(statuses);
    if (reached >= cluster.majority()) {
      return;
    }
    long ofOtherClusters = heard(examined) - reached;
    if (ofOtherClusters > cluster.size() - cluster.majority()) {
      var unused = statuses(examined, true); // throws what is wrong with them
    }
    throw examined.undecided();
  }

  private static long reached(List<NodeStatus> statuses) {
    return statuses.stream().filter(each -> !each.is(Kind.UNREACHABLE)).count();
  }

  /**
   * Reads the listings of all clients, and adds ours.
   *
   * @param entering the nodes to list beside the members
   * @param since when the nodes were examined, by {@link System#nanoTime()}; {@link #NOT_NOTED} to
   *     read only
   */
  private Listings exchangeListings(
      List<NodeStatus> statuses, Set<Integer> entering, long since, Deadline deadline)
      throws InterruptedException {
    Round round = new Round(cluster, time);
    Map<Integer, Listings.Reply> asked = new ConcurrentHashMap<>();
    for (int node = 0; node < cluster.size(); node++) {
      if (statuses.get(node).is(Kind.UNREACHABLE)) {
        continue;
      }
      cluster.send(
          node,
          round.new Question(node, deadline) {
            @Override
            public ScriptCall call(String run) {
              long up = cluster.upMillis(node);
              asked.put(node, new Listings.Reply(run, up, List.of()));
              return new ScriptCall(
                  NodeScripts.EXCHANGE_LISTINGS,
                  List.of(cluster.record()),
                  notes(statuses, entering, since));
            }
          });
    }
    long reached = reached(statuses);
    round.await(deadline, () -> round.count(any -> true) >= reached);
    return listings(round, asked);
  }

  private List<byte[]> notes(List<NodeStatus> statuses, Set<Integer> entering, long since) {
    List<byte[]> notes = new ArrayList<>(List.of(cluster.longest()));
    for (int node = 0; node < cluster.size() && since != NOT_NOTED; node++) {
      if (statuses.get(node).is(Kind.MEMBER) || entering.contains(node)) {
        notes.add(statuses.get(node).run().getBytes(UTF_8));
        notes.add(number(TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - since) + 1));
        notes.add(cluster.name(node).getBytes(UTF_8));
      }
    }
    return notes;
  }

  private Listings listings(Round called, Map<Integer, Listings.Reply> asked) {
    List<Listings.@Nullable Reply> replies = new ArrayList<>();
    for (int node = 0; node < cluster.size(); node++) {
      Answer answer = called.answer(node);
      Listings.Reply head = asked.get(node);
      if (answer == null || answer.words() == null || head == null) {
        replies.add(null);
        continue;
      }
      List<?> words = answer.reply();
      List<Listings.Listing> lines = new ArrayList<>();
      for (int i = 1; i < words.size(); i += 3) {
        lines.add(
            new Listings.Listing(
                Round.text(words.get(i)), (Long) words.get(i + 1), Round.text(words.get(i + 2))));
      }
      replies.add(new Listings.Reply(head.run(), head.upMillis(), lines));
    }
    long slack = Math.min(5_000, Math.max(1_000, settings.maxTtl().toMillis() / 4));
    return new Listings(cluster.names(), replies, slack);
  }

  private void refuseUnlisted(Listings listings) {
    listings
        .unlisted()
        .ifPresent(
            node -> {
              String problem = "is " + otherNodes(listings, node);
              throw cluster.failures(node).wrong(problem, null);
            });
  }

  private void refusePerhapsUnlisted(Listings listings) {
    refuseUnlisted(listings);
    listings
        .perhapsUnlisted()
        .ifPresent(
            node -> {
              String problem = "may be " + otherNodes(listings, node);
              throw cluster.failures(node).passing(problem + "; not all of them answer", null);
            });
  }

  private String otherNodes(Listings listings, int node) {
    return listings
        .conflictFor(node)
        .map(
            other ->
                "not among the "
                    + cluster.size()
                    + " nodes that other clients list; they listed "
                    + other.address()
                    + " "
                    + other.ageMillis()
                    + " ms ago; all clients of a cluster must list the same nodes")
        .orElse("");
  }

  /** Takes the steps that follow from a look; returns whether to look again at once. */
  private boolean follow(Look look, Deadline deadline) throws InterruptedException {
    List<NodeStatus> statuses = look.statuses();
    List<Admission.Step> steps = admission.after(statuses, known, isPatient(statuses));
    Set<String> nowKnown = Admission.known(statuses);
    boolean newlyKnown = !known.containsAll(nowKnown);
    known = nowKnown;
    Set<Integer> entering = new HashSet<>();
    for (Admission.Step step : steps) {
      if (step instanceof Admission.Step.Admit
          && look.listings().conflictFor(step.node()).isEmpty()) {
        entering.add(step.node());
      }
    }
    // Lists them first, then reads the listings again. So of two clients that bring in different
    // nodes at the same time, or of which one comes back, at least one learns of the other.
    Listings listings =
        entering.isEmpty()
            ? look.listings()
            : exchangeListings(statuses, entering, look.examinedAt(), deadline);
    Round round = new Round(cluster, time);
    int sent = 0;
    for (Admission.Step step : steps) {
      if (step instanceof Admission.Step.Admit && listings.conflictFor(step.node()).isPresent()) {
        if (disputed.add(step.run())) {
          log.warn(
              "{} does not vote: it is {}",
              cluster.name(step.node()),
              otherNodes(listings, step.node()));
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
                cluster.number()));
      } else if (step instanceof Admission.Step.Count) {
        Request count =
            ask(round, step.node(), deadline, step.run(), NodeScripts.COUNT, cluster.number());
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
    round.await(deadline.orIn(settings.nodeTimeout()), () -> round.count(any -> true) >= asked);
    return newlyKnown || asked > 0;
  }

  /** Whether another client still has time to found the cluster. */
  private boolean isPatient(List<NodeStatus> statuses) {
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
    looks.shutdown();
  }
}
