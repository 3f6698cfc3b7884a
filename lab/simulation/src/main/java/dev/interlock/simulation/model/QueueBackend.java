package dev.interlock.simulation.model;

import dev.interlock.BackendInfo;
import dev.interlock.Capability;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockState;
import dev.interlock.LockUnavailableException;
import dev.interlock.LossReason;
import dev.interlock.simulation.machine.Machine;
import dev.interlock.simulation.oracle.Journal;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.QueueingBackend;
import dev.interlock.spi.Renewal;
import dev.interlock.spi.WakeUp;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** A backend whose locks are queue entries bound to the client's session. */
public final class QueueBackend implements QueueingBackend {

  private static final BackendInfo INFO =
      TtlBackend.info(
          "a model of stores with a queue",
          Set.of(
              Capability.FENCING,
              Capability.FIFO,
              Capability.SINGLE_WAKEUP,
              Capability.READ_WRITE,
              Capability.SEMAPHORE));

  private final Machine machine;
  private final Network network;
  private final QueueServer server;
  private final BackendContext context;
  private final Journal journal;
  private final AttemptRecorder recorder;
  private final long sessionTimeout;
  private final Set<Place> places = new LinkedHashSet<>();
  private final Map<String, Grant> granted = new LinkedHashMap<>();

  private @Nullable Connection connection;
  private long session;
  private long confirmedAt;
  private boolean closed;
  private int epoch;

  public QueueBackend(
      Machine machine,
      Network network,
      QueueServer server,
      BackendContext context,
      Journal journal,
      long sessionTimeout)
      throws InterruptedException {
    this.journal = journal;
    this.recorder = new AttemptRecorder(machine, journal);
    this.machine = machine;
    this.network = network;
    this.server = server;
    this.context = context;
    this.sessionTimeout = sessionTimeout;
    ask(() -> true, Deadline.in(machine, context.options().requestTimeout()));
    keepAlive();
  }

  @Override
  public BackendInfo info() {
    return INFO;
  }

  @Override
  public String endpoint() {
    return server.name;
  }

  // --- the session ----------------------------------------------------------------------------

  private long validity() {
    return sessionTimeout - sessionTimeout / 10;
  }

  private Connection connected() {
    Connection current = connection;
    if (current == null || !current.isOpen()) {
      current = network.connect(machine, server);
      current.onBreak(this::wakeAll);
      connection = current;
    }
    return current;
  }

  private void wakeAll() {
    List.copyOf(places).forEach(place -> place.wakeUp.signal());
  }

  /** Sends a request on the session, and opens one if there is none. Every answer confirms it. */
  private <R> R ask(Supplier<R> question, Deadline deadline) throws InterruptedException {
    if (closed) {
      throw Connection.unavailable(server, "closed");
    }
    WakeUp wakeUp = new WakeUp(machine);
    long sentAt = machine.nanoTime();
    Connection used = connected();
    long asked = session;
    long answer =
        awaitReply(
            used.send(
                wakeUp,
                () -> {
                  if (asked == 0) {
                    return server.newSession(sessionTimeout);
                  }
                  server.requireCurrent(asked, used);
                  return server.touch(asked) ? asked : 0L;
                }),
            wakeUp,
            deadline);
    if (answer == 0) {
      loseSession(asked);
      throw Connection.unavailable(server, "the session has ended");
    }
    if (asked == 0 && session != 0) {
      // Another thread has opened a session meanwhile; this session is left to expire.
      return ask(question, deadline);
    }
    if (asked == 0) {
      session = answer;
      epoch++;
    } else if (session != asked) {
      throw Connection.unavailable(server, "the session has ended");
    }
    if (sentAt - confirmedAt > 0 || asked == 0) {
      confirmedAt = sentAt;
    }
    long current = session;
    return awaitReply(
        used.send(
            wakeUp,
            () -> {
              server.requireCurrent(current, used);
              return question.get();
            }),
        wakeUp,
        deadline);
  }

  private <R> R awaitReply(Connection.Reply<R> reply, WakeUp wakeUp, Deadline deadline)
      throws InterruptedException {
    while (!reply.isDone()) {
      if (!wakeUp.await(deadline) && !reply.isDone()) {
        if (session == 0) {
          // Without a session there are no heartbeats that would show a silent connection.
          disconnect();
        }
        throw Connection.unavailable(server, "no answer in time");
      }
    }
    return Objects.requireNonNull(reply.value());
  }

  /** Reports all locks of an expired session as lost. */
  private void loseSession(long ended) {
    if (session != ended) {
      return;
    }
    session = 0;
    epoch++;
    List<Grant> lostGrants = new ArrayList<>(granted.values());
    granted.clear();
    wakeAll();
    for (Grant grant : lostGrants) {
      reportLoss(grant, LossReason.SESSION_ENDED, "the session has ended");
    }
  }

  private void reportLoss(Grant grant, LossReason reason, String detail) {
    journal.recordBackendLoss(machine, grant.claim(), grant.token());
    journal.emptyAnswerCheck.recordEnd(machine, grant.claim());
    context.reportLoss(grant.claim(), reason, detail);
  }

  /** Reports a loss if another client has removed the node of a grant. */
  private void nodeGone(Claim claim) {
    if (granted.containsKey(claim.id()) && !machine.isDead()) {
      machine.run(
          "event",
          () -> {
            Grant taken = granted.remove(claim.id());
            if (taken != null) {
              reportLoss(taken, LossReason.TAKEN, "the node is gone");
            }
          });
    }
  }

  /** Closes the connection. The next request opens a new one. */
  private void disconnect() {
    Connection current = connection;
    if (current != null) {
      current.close();
      wakeAll();
    }
  }

  /** Starts the thread that keeps an idle session alive. */
  private void keepAlive() {
    machine.run(
        "heartbeat",
        () -> {
          try {
            while (!closed) {
              machine.pause(sessionTimeout / 4);
              if (!closed && session != 0) {
                try {
                  ask(() -> true, Deadline.in(machine, Duration.ofNanos(sessionTimeout / 3)));
                } catch (LockUnavailableException e) {
                  disconnect();
                }
              }
            }
          } catch (InterruptedException e) {
            throw new IllegalStateException("interrupted", e);
          }
        });
  }

  // --- the locks ------------------------------------------------------------------------------

  private Grant grant(Claim claim, long number) {
    long asOf = confirmedAt;
    if (machine.delaysGrants()) {
      asOf -= sessionTimeout;
      journal.requestCheck.checkLateGrant(claim);
    }
    return Grant.onSession(
        claim, number, asOf, Duration.ofNanos(validity()), Duration.ofNanos(sessionTimeout));
  }

  @Override
  public Attempt tryAcquire(Claim claim, Deadline deadline) throws InterruptedException {
    journal.requestCheck.checkRequest(machine, claim, deadline);
    return recorder.ask(claim, () -> attempt(claim, deadline));
  }

  private Attempt attempt(Claim claim, Deadline deadline) throws InterruptedException {
    int epochBefore = epoch;
    long sessionBefore = session;
    Connection watched = connected();
    long number =
        ask(
            () -> {
              QueueServer.Node node = server.createHolding(session(sessionBefore), claim);
              if (node == null) {
                return -1L;
              }
              server.watch(node.number(), watched, () -> nodeGone(claim));
              return node.number();
            },
            deadline);
    if (number < 0) {
      return new Attempt.Busy(Duration.ofNanos(sessionTimeout));
    }
    return granted(claim, number, sessionBefore == 0 ? epoch : epochBefore);
  }

  /** {@return the claim's session, even if it has been opened since} */
  private long session(long openedBefore) {
    return openedBefore != 0 ? openedBefore : session;
  }

  private Attempt granted(Claim claim, long number, int epochBefore) throws InterruptedException {
    if (epoch != epochBefore) {
      throw Connection.unavailable(server, "the session has ended");
    }
    Grant grant = grant(claim, number);
    granted.put(claim.id(), grant);
    if (machine.random(8) == 0) {
      // The grant is in transit from the driver's thread to this one; a loss may overtake it.
      machine.pause(machine.random(30_000_000));
    }
    return new Attempt.Granted(grant);
  }

  @Override
  public Place join(Claim claim, Deadline deadline) throws InterruptedException {
    journal.requestCheck.checkRequest(machine, claim, deadline);
    return recorder.ask(claim, () -> enter(claim, deadline));
  }

  private Place enter(Claim claim, Deadline deadline) throws InterruptedException {
    if (session == 0) {
      ask(() -> true, deadline);
    }
    long used = session;
    int epochBefore = epoch;
    QueueServer.Node node = ask(() -> server.create(used, claim), deadline);
    return new Place(claim, node.number(), epochBefore);
  }

  private final class Place implements QueueingBackend.Place {
    private final Claim claim;
    private final long number;
    private final int joinedEpoch;
    private final WakeUp wakeUp = new WakeUp(machine);
    private long asked = machine.nanoTime();
    private boolean withdrawn;
    private boolean isGone;

    Place(Claim claim, long number, int joinedEpoch) {
      this.claim = claim;
      this.number = number;
      this.joinedEpoch = joinedEpoch;
      places.add(this);
    }

    @Override
    public Attempt await(Deadline deadline) throws InterruptedException {
      return recorder.await(claim, () -> awaitFront(deadline));
    }

    private Attempt awaitFront(Deadline deadline) throws InterruptedException {
      while (true) {
        requireSession();
        Deadline pollDeadline = deadline;
        try {
          if (holds(deadline)) {
            requireSession();
            return granted(claim, number, joinedEpoch);
          }
          asked = machine.nanoTime();
        } catch (LockUnavailableException e) {
          // The place remains as long as the session may be alive.
          requireSession();
          if (deadline.hasPassed()) {
            return new Attempt.Busy(Duration.ofNanos(sessionTimeout));
          }
          if (isGone || machine.nanoTime() - asked > sessionTimeout) {
            throw e;
          }
          pollDeadline = deadline.atMost(Duration.ofMillis(100));
        }
        if (!wakeUp.await(pollDeadline) && deadline.hasPassed()) {
          return new Attempt.Busy(Duration.ofNanos(sessionTimeout));
        }
      }
    }

    private void requireSession() {
      if (withdrawn || epoch != joinedEpoch || closed) {
        throw Connection.unavailable(server, "the place is lost");
      }
    }

    private boolean holds(Deadline deadline) throws InterruptedException {
      Connection watched = connected();
      return ask(
          () -> {
            isGone = !server.has(number);
            return server.holdsOrWatches(number, watched, () -> nodeGone(claim), wakeUp::signal);
          },
          deadline.atMost(context.options().requestTimeout()));
    }

    @Override
    public void close() {
      withdrawn = true;
      places.remove(this);
      if (!granted.containsKey(claim.id())) {
        journal.emptyAnswerCheck.recordEnd(machine, claim);
      }
      wakeUp.signal();
      failSometimes(machine);
    }
  }

  /** Fails at times, as a backend may when it ends a wait. */
  static void failSometimes(Machine machine) {
    if (machine.random(30) == 0) {
      throw new IllegalStateException("a wait could not be ended");
    }
  }

  @Override
  public int maxGrantsPerRenewal() {
    return 256;
  }

  @Override
  public List<Renewal> renewAll(List<Grant> grants, Deadline deadline) throws InterruptedException {
    journal.requestCheck.recordRenewal(grants.get(0).claim());
    return QueueingBackend.super.renewAll(grants, deadline);
  }

  @Override
  public Renewal renew(Grant grant, Deadline deadline) throws InterruptedException {
    Claim claim = grant.claim();
    long requestedAt = machine.scheduler().now();
    if (!granted.containsKey(claim.id())) {
      return new Renewal.Lost(LossReason.SESSION_ENDED, "the session has ended");
    }
    boolean exists = ask(() -> server.has(grant.token()), deadline);
    if (!exists) {
      journal.emptyAnswerCheck.recordEnd(machine, claim);
      return new Renewal.Lost(LossReason.TAKEN, "the node is gone");
    }
    long until = confirmedAt + validity();
    journal.renewalCheck.confirm(machine, grant, requestedAt);
    journal.emptyAnswerCheck.recordGrant(machine, grant, until);
    return new Renewal.Renewed(until);
  }

  @Override
  public boolean release(Claim claim, Deadline deadline) throws InterruptedException {
    journal.requestCheck.checkRelease(claim, deadline);
    journal.emptyAnswerCheck.recordRelease(machine, claim);
    // The server reports the removal of the node before it answers.
    granted.remove(claim.id());
    try {
      return ask(() -> server.release(claim.name(), claim.id()), deadline);
    } finally {
      journal.emptyAnswerCheck.recordEnd(machine, claim);
    }
  }

  @Override
  public boolean endSession(Claim claim, Duration refusedFor, LockConfigurationException refusal) {
    if (refusedFor.toNanos() < sessionTimeout) {
      return true;
    }
    long ended = session;
    if (sendEndOfSession()) {
      loseSession(ended);
    }
    return true;
  }

  /** Ends the session without waiting for a reply; false if there is no session or connection. */
  private boolean sendEndOfSession() {
    long ended = session;
    Connection current = connection;
    if (current == null || !current.isOpen() || ended == 0) {
      return false;
    }
    current.send(new WakeUp(machine), () -> server.endSession(ended));
    return true;
  }

  @Override
  public void forget(Claim claim) {
    granted.remove(claim.id());
  }

  @Override
  public LockState inspect(String name, Deadline deadline) throws InterruptedException {
    return ask(() -> server.inspect(name), deadline);
  }

  @Override
  public boolean forceRelease(String name, Deadline deadline) throws InterruptedException {
    return ask(() -> server.force(name), deadline);
  }

  @Override
  public void close() {
    closed = true;
    sendEndOfSession();
    if (connection != null) {
      connection.close();
    }
    wakeAll();
  }
}
