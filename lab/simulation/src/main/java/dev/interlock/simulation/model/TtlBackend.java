package dev.interlock.simulation.model;

import dev.interlock.BackendInfo;
import dev.interlock.Capability;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockState;
import dev.interlock.LockUnavailableException;
import dev.interlock.LossReason;
import dev.interlock.simulation.machine.Machine;
import dev.interlock.simulation.machine.Scheduler;
import dev.interlock.simulation.oracle.Journal;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.BackendInfoBuilder;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.Renewal;
import dev.interlock.spi.WakeUp;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A backend with TTLs on one server, or on a majority of several. With several servers, a token is
 * the highest counter among their answers, and is written to a majority before the lock counts as
 * granted. Two readers may see the same counter on different servers, so the server's number is a
 * part of the token.
 */
public final class TtlBackend implements LockBackend {

  private static final BackendInfo INFO =
      info(
          "a model of stores with TTLs",
          Set.of(
              Capability.FENCING,
              Capability.REVOKE,
              Capability.READ_WRITE,
              Capability.SEMAPHORE,
              Capability.DEFERRED_RELEASE));

  /** Has no semaphores: any two majorities have a server in common, but three may have none. */
  private static final BackendInfo MAJORITY_INFO =
      info(
          "a model of a majority of stores with TTLs",
          Set.of(
              Capability.FENCING,
              Capability.REVOKE,
              Capability.READ_WRITE,
              Capability.DEFERRED_RELEASE));

  /** The allowance for clock drift is a hundredth of the TTL. */
  private static final int DRIFT_DIVISOR = 100;

  private final Machine machine;
  private final Network network;
  private final List<TtlServer> servers;
  private final Journal journal;
  private final AttemptRecorder recorder;
  private final int majority;
  private final boolean countsFromReply;
  private final List<Deque<Connection>> idle = new ArrayList<>();
  private final List<@Nullable Connection> subscriptions = new ArrayList<>();
  private final Map<WakeUp, String> watches = new LinkedHashMap<>();
  private final Set<Integer> resubscribing = new TreeSet<>();

  /** Names whose signal was delayed because the client is stopped. */
  private final Set<String> delayedSignals = new TreeSet<>();

  private boolean closed;

  /**
   * Creates a client of the servers.
   *
   * @param countsFromReply whether the backend counts validity from the reply, a mistake that the
   *     client must correct
   */
  public TtlBackend(
      Machine machine,
      Network network,
      List<TtlServer> servers,
      Journal journal,
      boolean countsFromReply) {
    this.journal = journal;
    this.recorder = new AttemptRecorder(machine, journal);
    this.countsFromReply = countsFromReply;
    this.machine = machine;
    this.network = network;
    this.servers = servers;
    this.majority = servers.size() / 2 + 1;
    for (int i = 0; i < servers.size(); i++) {
      idle.add(new ArrayDeque<>());
      subscriptions.add(null);
    }
  }

  static BackendInfo info(String description, Set<Capability> capabilities) {
    return BackendInfoBuilder.of("model", description)
        .capabilities(capabilities)
        .minTtl(Duration.ofMillis(100))
        .build();
  }

  @Override
  public BackendInfo info() {
    return servers.size() == 1 ? INFO : MAJORITY_INFO;
  }

  @Override
  public String endpoint() {
    return servers.get(0).name;
  }

  // --- requests ---------------------------------------------------------------------------------

  private record PendingRequest<R>(int index, Connection connection, Connection.Reply<R> reply) {}

  private Connection connection(int index) {
    Deque<Connection> free = idle.get(index);
    while (!free.isEmpty()) {
      Connection connection = free.pop();
      if (connection.isOpen()) {
        return connection;
      }
    }
    return network.connect(machine, servers.get(index));
  }

  /**
   * Asks all servers, and waits until a majority of the answers is good, all servers have answered,
   * or the deadline has passed.
   *
   * @return the answers that have arrived
   */
  private <R> List<R> askAll(Function<TtlServer, R> question, Predicate<R> good, Deadline deadline)
      throws InterruptedException {
    WakeUp wakeUp = new WakeUp(machine);
    List<PendingRequest<R>> pending = new ArrayList<>();
    List<R> answers = new ArrayList<>();
    RuntimeException problem = null;
    for (int i = 0; i < servers.size(); i++) {
      TtlServer server = servers.get(i);
      try {
        Connection connection = connection(i);
        pending.add(
            new PendingRequest<>(
                i, connection, connection.send(wakeUp, () -> question.apply(server))));
      } catch (LockUnavailableException e) {
        problem = e;
      }
    }
    int goodAnswers = 0;
    try {
      while (true) {
        for (int i = pending.size() - 1; i >= 0; i--) {
          PendingRequest<R> request = pending.get(i);
          if (!request.reply().isDone()) {
            continue;
          }
          pending.remove(i);
          try {
            R answer = request.reply().value();
            idle.get(request.index()).push(request.connection());
            if (answer == null) {
              throw new IllegalStateException("a server sent no answer");
            }
            answers.add(answer);
            goodAnswers += good.test(answer) ? 1 : 0;
          } catch (LockConfigurationException e) {
            idle.get(request.index()).push(request.connection());
            problem = e;
          } catch (LockUnavailableException e) {
            problem = problem instanceof LockConfigurationException ? problem : e;
          }
        }
        if (goodAnswers >= majority || pending.isEmpty()) {
          break;
        }
        if (!wakeUp.await(deadline)
            && pending.stream().noneMatch(request -> request.reply().isDone())) {
          problem =
              Connection.unavailable(servers.get(pending.get(0).index()), "no answer in time");
          break;
        }
      }
    } finally {
      // A late answer may still arrive, so the connection is not used again. The idle ones may be
      // as silent.
      for (PendingRequest<R> request : pending) {
        request.connection().close();
        idle.get(request.index()).forEach(Connection::close);
        idle.get(request.index()).clear();
      }
    }
    if (answers.size() < majority) {
      throw problem == null ? Connection.unavailable(servers.get(0), "too few answers") : problem;
    }
    return answers;
  }

  private long validFrom(long sentAt) {
    return countsFromReply ? machine.nanoTime() : sentAt;
  }

  @Override
  public int maxGrantsPerRenewal() {
    return 256;
  }

  @Override
  public List<Renewal> renewAll(List<Grant> grants, Deadline deadline) throws InterruptedException {
    journal.requestCheck.recordRenewal(grants.get(0).claim());
    return LockBackend.super.renewAll(grants, deadline);
  }

  private static long validityOf(Duration ttl) {
    return ttl.toNanos() - ttl.toNanos() / DRIFT_DIVISOR - 2_000_000;
  }

  // --- the locks ------------------------------------------------------------------------------

  @Override
  public Attempt tryAcquire(Claim claim, Deadline deadline) throws InterruptedException {
    journal.requestCheck.checkRequest(machine, claim, deadline);
    return recorder.ask(claim, () -> attempt(claim, deadline));
  }

  private Attempt attempt(Claim claim, Deadline deadline) throws InterruptedException {
    long sentAt = machine.nanoTime();
    List<TtlServer.Answer> answers =
        askAll(server -> server.acquire(claim), TtlServer.Answer::granted, deadline);
    List<TtlServer.Answer> granted = answers.stream().filter(TtlServer.Answer::granted).toList();
    if (granted.size() >= majority) {
      long highestToken = granted.stream().mapToLong(TtlServer.Answer::token).max().orElseThrow();
      if (servers.size() > 1) {
        askAll(server -> server.raise(claim.name(), highestToken), answer -> true, deadline);
      }
      int highestServer =
          granted.stream()
              .filter(answer -> answer.token() == highestToken)
              .mapToInt(answer -> servers.indexOf(answer.server()))
              .max()
              .orElseThrow();
      long token = highestToken * servers.size() + highestServer;
      Duration validity = Duration.ofNanos(validityOf(claim.ttl()));
      return new Attempt.Granted(
          new Grant(
              claim, token, validFrom(sentAt) + validity.toNanos(), claim.ttl(), validity, true));
    }
    if (servers.size() > 1) {
      List<Boolean> withdrawals =
          askAll(server -> server.withdraw(claim.name(), claim.id()), answer -> false, deadline);
      if (withdrawals.size() < servers.size()) {
        throw Connection.unavailable(servers.get(0), "split vote");
      }
    }
    List<Long> busyTimes =
        answers.stream()
            .filter(answer -> !answer.granted())
            .map(TtlServer.Answer::busyFor)
            .sorted()
            .toList();
    // After a split vote, clients retry at different times.
    return new Attempt.Busy(
        Duration.ofNanos(
            busyTimes.size() >= majority
                ? busyTimes.get(majority - 1)
                : machine.random(200_000_000)));
  }

  @Override
  public Renewal renew(Grant grant, Deadline deadline) throws InterruptedException {
    Claim claim = grant.claim();
    long requestedAt = machine.scheduler().now();
    long sentAt = machine.nanoTime();
    List<String> answers =
        askAll(
            server -> server.renew(claim.name(), claim.id(), claim.ttl().toNanos()),
            String::isEmpty,
            deadline);
    List<String> refusals = answers.stream().filter(answer -> !answer.isEmpty()).toList();
    if (answers.size() - refusals.size() >= majority) {
      long until = validFrom(sentAt) + validityOf(claim.ttl());
      journal.renewalCheck.confirm(machine, grant, requestedAt);
      journal.emptyAnswerCheck.recordGrant(machine, grant, until);
      return new Renewal.Renewed(until);
    }
    if (refusals.size() > servers.size() - majority) {
      journal.emptyAnswerCheck.recordEnd(machine, claim);
      return new Renewal.Lost(LossReason.TAKEN, refusals.get(0));
    }
    return new Renewal.Failed(
        Connection.unavailable(servers.get(0), "too few servers confirmed it"));
  }

  @Override
  public boolean release(Claim claim, Deadline deadline) throws InterruptedException {
    journal.requestCheck.checkRelease(claim, deadline);
    journal.emptyAnswerCheck.recordRelease(machine, claim);
    try {
      List<Boolean> answers =
          askAll(
              server -> server.release(claim.name(), claim.id()),
              // A single server's answer proves the release, whatever it says. Of several servers,
              // a
              // majority must confirm the release.
              answer -> servers.size() == 1 || answer,
              deadline);
      return answers.stream().filter(answer -> answer).count() >= majority;
    } finally {
      journal.emptyAnswerCheck.recordEnd(machine, claim);
    }
  }

  @Override
  public boolean releaseAfter(Claim claim, Duration delay, Deadline deadline)
      throws InterruptedException {
    journal.emptyAnswerCheck.recordRelease(machine, claim);
    long kept = delay.toNanos() + delay.toNanos() / DRIFT_DIVISOR;
    try {
      List<Boolean> answers =
          askAll(server -> server.releaseAfter(claim, kept), answer -> answer, deadline);
      long confirmed = answers.stream().filter(answer -> answer).count();
      if (confirmed < majority && answers.size() - confirmed <= servers.size() - majority) {
        throw Connection.unavailable(servers.get(0), "too few servers confirmed it");
      }
      return confirmed >= majority;
    } finally {
      journal.emptyAnswerCheck.recordEnd(machine, claim);
    }
  }

  @Override
  public LockState inspect(String name, Deadline deadline) throws InterruptedException {
    List<LockState> answers = askAll(server -> server.inspect(name), state -> true, deadline);
    return answers.stream().filter(LockState::isHeld).findFirst().orElse(answers.get(0));
  }

  @Override
  public boolean forceRelease(String name, Deadline deadline) throws InterruptedException {
    return askAll(server -> server.force(name), answer -> true, deadline).contains(true);
  }

  @Override
  public boolean revoke(String name, Deadline deadline) throws InterruptedException {
    return askAll(server -> server.revoke(name), answer -> true, deadline).contains(true);
  }

  // --- notifications ----------------------------------------------------------------------------

  @Override
  public Watch watch(String name, WakeUp wakeUp) {
    watches.put(wakeUp, name);
    for (int i = 0; i < servers.size(); i++) {
      subscribe(i, name);
    }
    return () -> {
      watches.remove(wakeUp);
      if (!watches.containsValue(name)) {
        for (int i = 0; i < servers.size(); i++) {
          unsubscribe(i, name);
        }
      }
      QueueBackend.failSometimes(machine);
    };
  }

  private void signal(String name) {
    if (machine.isStoppedInside()) {
      // The client may need monitors that the stopped thread holds.
      if (!machine.isDead() && delayedSignals.add(name)) {
        machine.scheduler().after(5_000_000, () -> signalDelayed(name));
      }
      return;
    }
    List.copyOf(watches.entrySet()).stream()
        .filter(watch -> watch.getValue().equals(name))
        .forEach(watch -> watch.getKey().signal());
  }

  private void signalDelayed(String name) {
    delayedSignals.remove(name);
    signal(name);
  }

  private void subscribe(int index, String name) {
    Connection connection = subscriptions.get(index);
    TtlServer server = servers.get(index);
    if (connection == null || !connection.isOpen()) {
      try {
        connection = network.connect(machine, server);
      } catch (LockUnavailableException e) {
        subscribeAgain(index);
        return;
      }
      connection.onBreak(() -> subscribeAgain(index));
      subscriptions.set(index, connection);
    }
    Connection used = connection;
    TtlServer.Subscriber subscriber = new TtlServer.Subscriber(used, () -> signal(name));
    used.send(
        new WakeUp(machine),
        () -> {
          server.subscribe(name, subscriber);
          used.push(() -> signal(name));
          return true;
        });
  }

  private void unsubscribe(int index, String name) {
    Connection connection = subscriptions.get(index);
    if (connection != null && connection.isOpen()) {
      TtlServer server = servers.get(index);
      connection.send(new WakeUp(machine), () -> server.unsubscribe(name, connection));
    }
  }

  private void subscribeAgain(int index) {
    if (!resubscribing.add(index)) {
      return;
    }
    Scheduler scheduler = machine.scheduler();
    scheduler.after(
        100_000_000 + scheduler.random(100_000_000),
        () -> {
          resubscribing.remove(index);
          Connection connection = subscriptions.get(index);
          if (closed || machine.isDead() || (connection != null && connection.isOpen())) {
            return;
          }
          if (machine.runs()) {
            List<String> names = watches.values().stream().distinct().toList();
            names.forEach(name -> subscribe(index, name));
          } else {
            subscribeAgain(index);
          }
        });
  }

  @Override
  public void close() {
    closed = true;
    idle.forEach(connections -> connections.forEach(Connection::close));
    for (Connection connection : subscriptions) {
      if (connection != null) {
        connection.close();
      }
    }
  }
}
