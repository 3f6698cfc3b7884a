package dev.interlock.redlock;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockException;
import dev.interlock.redis.server.Failures;
import dev.interlock.redis.server.LockKeys;
import dev.interlock.redis.server.Script;
import dev.interlock.redis.server.Subscriber;
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
import java.util.LinkedHashMap;
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
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import redis.clients.jedis.Connection;

/**
 * The nodes, and which of them may vote. Every client takes care of that: when it has reconnected
 * to a node, and when one refuses to vote, it examines all of them and does what {@link Admission}
 * decides.
 */
final class Cluster implements AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(Cluster.class);

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
  private record Look(List<NodeStatus> statuses, Listings listings, long examinedAt) {

    long reached() {
      return statuses.stream().filter(each -> !each.is(Kind.UNREACHABLE)).count();
    }
  }

  /**
   * A node as the program names it.
   *
   * @param forMessages makes the connection for the messages of releases
   * @param forRequests makes the connection for requests
   */
  record Place(
      String name,
      boolean tls,
      Supplier<Connection> forMessages,
      Supplier<? extends Connection> forRequests) {}

  private record Node(
      String name,
      Failures failures,
      NodeConnections connections,
      NodePipeline pipeline,
      Subscriber subscriber) {}

  private final RedlockSettings settings;
  private final TimeSource time;
  private final String endpoint;
  private final Failures failures;
  private final Admission admission;
  private final byte[] record;
  private final byte[] longest;
  private final byte[] number;
  private final List<Node> nodes = new ArrayList<>();
  private final CallerIo callerIo;
  private final Map<String, String> nodeOfRun = new ConcurrentHashMap<>();

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

  /** When the nodes last noted what we list, without a conflict. */
  private volatile long listedAt = System.nanoTime();

  /** One thread at a time checks the listings; the others use its result. */
  private final ReentrantLock comingBack = new ReentrantLock();

  /** A conflict that was found after the nodes had noted ours; forgotten after a maxTtl. */
  @GuardedBy("comingBack")
  private @Nullable LockConfigurationException refusal;

  @GuardedBy("comingBack")
  private long refusedAt;

  /** Since when another client has been founding the cluster. */
  private @Nullable Long foundingSince;

  Cluster(List<Place> places, RedlockSettings settings, TimeSource time) {
    this.settings = settings;
    this.time = time;
    this.endpoint = places.stream().map(Place::name).collect(Collectors.joining(","));
    this.failures = new Failures(RedlockBackend.NAME, endpoint, false);
    this.admission = new Admission(settings.durable());
    this.record = (settings.namespace() + ":redlock").getBytes(UTF_8);
    this.longest = number(settings.maxTtl().toMillis());
    this.number = number(places.size());
    int timeout = (int) settings.nodeTimeout().toMillis();
    for (Place place : places) {
      Failures own = new Failures("redis", place.name(), place.tls());
      NodeConnections connections =
          new NodeConnections(place.name(), place.forRequests(), own, nodeOfRun);
      nodes.add(
          new Node(
              place.name(),
              own,
              connections,
              new NodePipeline(
                  place.name(), connections, own, time, timeout, run -> lookWithin(Duration.ZERO)),
              new Subscriber(
                  place.forMessages(), settings.namespace(), own, Subscriber.POKE_MILLIS)));
    }
    this.callerIo = new CallerIo(nodes.stream().map(Node::pipeline).toList());
  }

  static byte[] number(long value) {
    return Long.toString(value).getBytes(UTF_8);
  }

  int size() {
    return nodes.size();
  }

  int majority() {
    return VoteCount.majorityOf(nodes.size());
  }

  String endpoint() {
    return endpoint;
  }

  /** Returns the key of the record that each node keeps of itself. */
  byte[] record() {
    return record;
  }

  byte[] longest() {
    return longest;
  }

  /** Returns the number of nodes as an argument of scripts. */
  byte[] number() {
    return number;
  }

  void send(int node, NodePipeline.Request request) {
    if (!callerIo.send(node, request)) {
      nodes.get(node).pipeline().send(request);
    }
  }

  CallerIo callerIo() {
    return callerIo;
  }

  Subscriber subscriber(int node) {
    return nodes.get(node).subscriber();
  }

  /** Whether a majority tells this client of releases of the lock. */
  boolean hears(LockKeys keys) {
    return nodes.stream().filter(node -> node.subscriber().hears(keys)).count() >= majority();
  }

  // --- answers ------------------------------------------------------------------------

  /** Turns a reply into an answer; an error becomes a silence with its reason. */
  Answer answer(int node, Object reply) {
    Node from = nodes.get(node);
    if (Round.isError(reply)) {
      return new Answer(null, new Vote.Failed(from.failures().explain((RuntimeException) reply)));
    }
    // A reply may be a single word.
    List<?> words = reply instanceof List<?> list ? list : List.of(reply);
    if (Round.text(words.get(0)).equals("foreign")) {
      return new Answer(null, new Vote.Failed(from.failures().foreign(words)));
    }
    return new Answer(words, null);
  }

  /** Returns the vote of a node that refuses to vote; null if it votes. */
  @Nullable Vote refusal(int node, Answer answer) {
    if (answer.silence() != null) {
      return answer.silence();
    }
    if (!answer.is("refused")) {
      return null;
    }
    String why = Round.text(answer.reply().get(1));
    long number = (Long) answer.reply().get(2);
    if (why.equals("longest")) {
      return new Vote.Failed(otherMaxTtl(nodes.get(node), number));
    }
    if (why.equals("nodes")) {
      return new Vote.Failed(otherNumber(nodes.get(node), number));
    }
    lookWithin(why.equals("quarantined") ? pauseFor(number) : SHORTEST_PAUSE);
    return new Vote.Refused(
        switch (why) {
          case "quarantined" ->
              "it was restarted, may have forgotten locks, and does not vote for another "
                  + number
                  + " ms";
          case "restarted" -> "it was restarted, and has not been admitted again";
          default -> "it has no record of this cluster";
        });
  }

  private static LockConfigurationException otherMaxTtl(Node node, long millis) {
    return node.failures()
        .wrong(
            "was set up with maxTtl=" + millis + "ms; all clients of a cluster must use the same",
            null);
  }

  private LockConfigurationException otherNumber(Node node, long its) {
    return node.failures()
        .wrong(
            "is one of "
                + its
                + " nodes, and this client lists "
                + size()
                + "; all clients of a cluster must list the same nodes",
            null);
  }

  /**
   * Returns the failure of a request that found no majority.
   *
   * @param votes of all nodes; null for one without an answer
   * @param cause another problem
   */
  LockException unavailable(@Nullable Vote[] votes, @Nullable Throwable cause) {
    // Most nodes say the same, and a message for each would fill the log.
    Map<String, String> nodesByAnswer = new LinkedHashMap<>();
    int usable = votes.length;
    Throwable first = cause;
    for (int i = 0; i < votes.length; i++) {
      Vote vote = votes[i];
      String name = nodes.get(i).name();
      String answer = vote == null ? "no answer yet" : vote.inWords();
      nodesByAnswer.merge(
          answer.replace("redis at " + name + ": ", ""), name, (some, one) -> some + ", " + one);
      if (vote instanceof Vote.Failed failed) {
        first = first == null ? failed.problem() : first;
        usable -= failed.problem() instanceof LockConfigurationException ? 1 : 0;
      }
    }
    String answers =
        nodesByAnswer.entrySet().stream()
            .map(said -> said.getValue() + ": " + said.getKey())
            .collect(Collectors.joining("; "));
    String problem = "no majority of " + majority() + " of " + size() + " nodes: " + answers;
    return usable < majority() ? failures.wrong(problem, first) : failures.passing(problem, first);
  }

  // --- admission -----------------------------------------------------------------------------

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
      for (int node = 0; node < size(); node++) {
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
      if (look.reached() < majority()) {
        throw examined.undecided();
      }
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
  private void lookWithin(Duration pause) {
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
        log.debug("closed", closed);
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
      if (isAway(begun)) {
        comeBack(statuses, begun, deadline);
      }
      lookedAt.set(begun);
      Look look = new Look(statuses, exchangeListings(statuses, Set.of(), begun, deadline), begun);
      listedAt = begun;
      if (follow(look, deadline) || foundingSince != null) {
        lookWithin(SHORTEST_PAUSE);
      }
      for (int node = 0; node < size(); node++) {
        watch(node, statuses.get(node));
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (LockException e) {
      log.warn("cannot admit restarted nodes: {}", e.getMessage());
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

  /** Whether the nodes have forgotten our listing, so that others may have replaced a node. */
  private boolean isAway(long now) {
    return now - listedAt > settings.maxTtl().toNanos();
  }

  /**
   * If the nodes have not noted this client's listing for a {@code maxTtl}, examines them and waits
   * for that. A silent node would make the result uncertain, so when a majority has answered it
   * waits only a little for the others.
   *
   * @throws LockConfigurationException if other clients no longer list one of the nodes
   */
  void comeBack(Deadline deadline) throws InterruptedException {
    long now = System.nanoTime();
    if (!isAway(now)) {
      return;
    }
    Deadline limit = deadline.orIn(settings.nodeTimeout());
    Round examined = beginToExamine(limit);
    examined.await(limit, () -> examined.count(any -> true) >= majority());
    examined.await(
        deadline.orIn(forStragglers()), () -> examined.count(each -> each.silence() != null) > 0);
    comeBack(statuses(examined, false), now, deadline.orIn(settings.nodeTimeout().multipliedBy(2)));
  }

  private void comeBack(List<NodeStatus> statuses, long examinedAt, Deadline deadline)
      throws InterruptedException {
    if (!comingBack.tryLock(deadline.remainingNanos(), TimeUnit.NANOSECONDS)) {
      throw failures.passing(
          "could not check in time whether other clients list the same nodes", null);
    }
    try {
      if (!isAway(examinedAt)) {
        return;
      }
      if (refusal != null && System.nanoTime() - refusedAt <= settings.maxTtl().toNanos()) {
        throw refusal;
      }
      if (statuses.stream().noneMatch(each -> each.is(Kind.UNREACHABLE))) {
        refuseReplaced(statuses, examinedAt, deadline);
      }
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
    refuseUnlisted(exchangeListings(statuses, Set.of(), NOT_NOTED, deadline));
    try {
      refuseUnlisted(exchangeListings(statuses, Set.of(), examinedAt, deadline));
    } catch (LockConfigurationException e) {
      refusal = e;
      refusedAt = System.nanoTime();
      throw e;
    }
  }

  private Duration forStragglers() {
    Duration tenth = settings.nodeTimeout().dividedBy(10);
    return tenth.compareTo(STRAGGLERS) < 0 ? STRAGGLERS : tenth;
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
    Round round = new Round(this, time);
    for (int node = 0; node < size(); node++) {
      send(node, ask(round, node, deadline, null, NodeScripts.EXAMINE));
    }
    return round;
  }

  /**
   * A question about the record.
   *
   * @param onlyRun the process to ask; null for any
   */
  private NodePipeline.Request ask(
      Round round,
      int node,
      Deadline deadline,
      @Nullable String onlyRun,
      Script script,
      byte[]... more) {
    return round.new Question(node, deadline.nanos()) {
      @Override
      public NodePipeline.@Nullable Call call(String run) {
        if (onlyRun != null && !onlyRun.equals(run)) {
          return null;
        }
        List<byte[]> arguments = new ArrayList<>(List.of(run.getBytes(UTF_8), longest));
        arguments.addAll(List.of(more));
        runs.put(node, run);
        return new NodePipeline.Call(script, List.of(record), arguments);
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
    for (int node = 0; node < size(); node++) {
      Answer answer = examined.answer(node);
      if (answer == null || answer.silence() != null) {
        statuses.add(NodeStatus.UNREACHABLE);
        continue;
      }
      List<?> words = answer.reply();
      String itsLongest = Round.text(words.get(3));
      String itsNumber = Round.text(words.get(4));
      boolean otherLongest =
          !itsLongest.isEmpty() && !itsLongest.equals(new String(longest, UTF_8));
      boolean otherNumber = !itsNumber.isEmpty() && !itsNumber.equals(new String(number, UTF_8));
      if (strict && otherLongest) {
        throw otherMaxTtl(nodes.get(node), Long.parseLong(itsLongest));
      }
      if (strict && otherNumber) {
        throw otherNumber(nodes.get(node), Long.parseLong(itsNumber));
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
    Round round = new Round(this, time);
    Map<Integer, Listings.Reply> asked = new ConcurrentHashMap<>();
    for (int node = 0; node < size(); node++) {
      if (statuses.get(node).is(Kind.UNREACHABLE)) {
        continue;
      }
      send(
          node,
          round.new Question(node, deadline.nanos()) {
            @Override
            public NodePipeline.Call call(String run) {
              long up = nodes.get(node).connections().upMillis();
              asked.put(node, new Listings.Reply(run, up, List.of()));
              return new NodePipeline.Call(
                  NodeScripts.EXCHANGE_LISTINGS, List.of(record), notes(statuses, entering, since));
            }
          });
    }
    long reached = statuses.stream().filter(each -> !each.is(Kind.UNREACHABLE)).count();
    round.await(deadline, () -> round.count(any -> true) >= reached);
    return listings(round, asked);
  }

  private List<byte[]> notes(List<NodeStatus> statuses, Set<Integer> entering, long since) {
    List<byte[]> notes = new ArrayList<>(List.of(longest));
    for (int node = 0; node < size() && since != NOT_NOTED; node++) {
      if (statuses.get(node).is(Kind.MEMBER) || entering.contains(node)) {
        notes.add(statuses.get(node).run().getBytes(UTF_8));
        notes.add(number(TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - since) + 1));
        notes.add(nodes.get(node).name().getBytes(UTF_8));
      }
    }
    return notes;
  }

  private Listings listings(Round called, Map<Integer, Listings.Reply> asked) {
    List<Listings.@Nullable Reply> replies = new ArrayList<>();
    for (int node = 0; node < size(); node++) {
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
    return new Listings(nodes.stream().map(Node::name).toList(), replies, slack);
  }

  private void refuseUnlisted(Listings listings) {
    listings
        .unlisted()
        .ifPresent(
            node -> {
              throw nodes.get(node).failures().wrong(otherNodes(listings, node), null);
            });
  }

  private String otherNodes(Listings listings, int node) {
    return listings
        .conflictFor(node)
        .map(
            other ->
                "is none of the "
                    + size()
                    + " nodes that other clients list; they list "
                    + other.address()
                    + ", last "
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
    Round round = new Round(this, time);
    int sent = 0;
    for (Admission.Step step : steps) {
      if (step instanceof Admission.Step.Admit && listings.conflictFor(step.node()).isPresent()) {
        if (disputed.add(step.run())) {
          log.warn(
              "{} does not vote: it {}",
              nodes.get(step.node()).name(),
              otherNodes(listings, step.node()));
        }
        continue;
      }
      sent++;
      if (step instanceof Admission.Step.Admit admit) {
        log.info("{} may vote ({})", nodes.get(step.node()).name(), admit.reason());
        send(
            step.node(),
            ask(
                round,
                step.node(),
                deadline,
                step.run(),
                NodeScripts.ADMIT,
                number(admit.floor()),
                admit.reason().name().getBytes(UTF_8),
                number));
      } else if (step instanceof Admission.Step.Count) {
        NodePipeline.Request count =
            ask(round, step.node(), deadline, step.run(), NodeScripts.COUNT, number);
        send(step.node(), count);
      } else {
        log.warn(
            "{} was restarted, may have forgotten locks, and does not vote for {}",
            nodes.get(step.node()).name(),
            settings.maxTtl());
        send(step.node(), ask(round, step.node(), deadline, step.run(), NodeScripts.QUARANTINE));
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
    for (Node node : nodes) {
      node.subscriber().close();
      node.pipeline().close();
    }
    callerIo.close();
    try {
      for (Node node : nodes) {
        node.pipeline().awaitEnd();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
