package dev.interlock.zookeeper;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.spi.TimeSource;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.PriorityQueue;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A client, the servers that it connects to, and their leaders, on a simulated clock. Whatever is
 * paused or cut off, the client must never be certain of a session that its leader may have ended.
 * Soon after the fault it must be certain again.
 */
class SessionCertaintyModelTest {

  private static final int SEEDS = 300;
  private static final long TICK = 2_000;

  /** Milliseconds. */
  private long now = 1_000_000;

  private final long begin = now;
  private final PriorityQueue<Event> events = new PriorityQueue<>();
  private long eventCount;
  private Random random = new Random(0);
  private long timeout;
  private long maxDelay;
  private SessionCertainty certainty;
  private Leader leader;
  private Connection connection;
  private boolean clientIsDirect;
  private long clientPausedUntil;
  private boolean isCutOff;
  private long validity;
  private long lastConfirmation;

  /** Requests of the client that wait for a connection. */
  private final List<Request> unsent = new ArrayList<>();

  private record Event(long at, long number, Runnable event) implements Comparable<Event> {
    @Override
    public int compareTo(Event other) {
      return at != other.at ? Long.compare(at, other.at) : Long.compare(number, other.number);
    }
  }

  private final class Clock implements TimeSource {
    @Override
    public long nanoTime() {
      return Duration.ofMillis(now).toNanos();
    }

    @Override
    public long wallMillis() {
      return now;
    }

    @Override
    public void parkUntil(Object blocker, long nanos) {
      throw new AssertionError("no thread waits here");
    }
  }

  private void at(long time, Runnable event) {
    events.add(new Event(time, eventCount++, event));
  }

  private void in(long millis, Runnable event) {
    at(now + millis, event);
  }

  private void run(long until) {
    while (!events.isEmpty() && events.peek().at() <= until) {
      Event next = events.poll();
      now = Math.max(now, next.at());
      next.event().run();
    }
    now = until;
  }

  private long delay() {
    return random.nextLong(maxDelay) + 1;
  }

  /** A network link that keeps the order of its messages. */
  private final class Line {
    private long last;

    void send(Runnable arrival) {
      last = Math.max(last, now + delay());
      at(last, arrival);
    }
  }

  /** A leader from its election to its end, which ends the session as early as it may. */
  private final class Leader {
    private long expiry = now + timeout;
    private long pausedUntil;
    private boolean deposed;
    private boolean expired;

    Leader() {
      ping();
      at(expiry, this::expireIfDue);
    }

    /** Handles a message, after the current pause if there is one. */
    void handle(Runnable event) {
      if (deposed) {
        return;
      }
      if (pausedUntil > now) {
        at(pausedUntil, () -> handle(event));
        return;
      }
      expireIfDue();
      event.run();
    }

    void expireIfDue() {
      if (pausedUntil > now) {
        at(pausedUntil, this::expireIfDue);
      } else if (!expired && !deposed && now >= expiry) {
        expired = true;
        assertCertainUntilAtMost(now);
      }
    }

    void touch() {
      if (!expired) {
        expiry = now + timeout;
        at(expiry, this::expireIfDue);
      }
    }

    private void ping() {
      handle(
          () -> {
            Connection current = connection;
            if (current != null && current.leader == this && !clientIsDirect) {
              current.toFollower.send(current::pinged);
            }
            in(TICK / 2, this::ping);
          });
    }
  }

  /** A connection of the client and its server. */
  private final class Connection {
    private final Leader leader;
    private final Line toServer = new Line();
    private final Line toClient = new Line();
    private final Line toLeader = new Line();
    private final Line toFollower = new Line();
    private final List<Request> pending = new ArrayList<>();
    private boolean touched;
    private long touchedAt;
    private boolean isOpen;

    /** Whether the follower has lost its leader without noticing. */
    private boolean isCutOff;

    Connection(Leader leader) {
      this.leader = leader;
    }

    void pinged() {
      // A client that a follower hears while it compiles its answer is left out.
      boolean report = touched && (touchedAt < now - 5 || random.nextBoolean());
      touched = false;
      sendToLeader(
          () -> {
            if (report) {
              leader.touch();
            }
          });
    }

    private void sendToLeader(Runnable event) {
      toLeader.send(
          () -> {
            if (!isCutOff) {
              leader.handle(event);
            }
          });
    }

    void send(Request request) {
      pending.add(request);
      toServer.send(
          () -> {
            if (clientIsDirect) {
              sendToLeader(
                  () -> {
                    leader.touch();
                    execute(request);
                  });
            } else {
              touched = true;
              touchedAt = now;
              sendToLeader(() -> execute(request));
            }
          });
    }

    private void execute(Request request) {
      if (!leader.expired || !request.isWrite) {
        Line back = clientIsDirect ? toClient : toFollower;
        back.send(
            clientIsDirect ? () -> answer(request) : () -> toClient.send(() -> answer(request)));
      }
    }

    private void answer(Request request) {
      inClient(
          () -> {
            if (pending.remove(request)) {
              request.answered();
            }
          });
    }
  }

  private final class Request {
    private final boolean isWrite;
    private final ClockReading sentAt = ClockReading.now(new Clock());

    Request(boolean isWrite) {
      this.isWrite = isWrite;
    }

    void send() {
      Connection current = connection;
      if (current != null && current.isOpen) {
        current.send(this);
      } else {
        unsent.add(this);
      }
    }

    void answered() {
      if (isWrite) {
        certainty.confirm(sentAt.nanos());
        lastConfirmation = now;
        if (leader != null && !leader.deposed) {
          assertCertainUntilAtMost(leader.expiry);
        }
      } else {
        certainty.onHeartbeatReply(sentAt);
        in(certainty.heartbeatPause().toMillis(), SessionCertaintyModelTest.this::beat);
      }
    }

    void failed() {
      if (!isWrite) {
        certainty.onConnectionLoss(sentAt);
        in(certainty.heartbeatPause().toMillis(), SessionCertaintyModelTest.this::beat);
      }
    }
  }

  private void assertCertainUntilAtMost(long limit) {
    long until = Duration.ofNanos(certainty.until()).toMillis();
    assertTrue(until <= limit, () -> "certain for " + (until - limit) + " ms too long");
  }

  /** Runs the client's own work, which waits while its process is paused. */
  private void inClient(Runnable event) {
    if (clientPausedUntil > now) {
      at(clientPausedUntil, () -> inClient(event));
    } else {
      event.run();
    }
  }

  private void beat() {
    inClient(() -> new Request(false).send());
  }

  private void write() {
    inClient(
        () -> {
          new Request(true).send();
          in(random.nextLong(200), this::write);
        });
  }

  private void loseConnection() {
    Connection former = connection;
    connection = null;
    List<Request> failed = new ArrayList<>(unsent);
    unsent.clear();
    if (former != null) {
      failed.addAll(former.pending);
      former.pending.clear();
    }
    inClient(() -> failed.forEach(Request::failed));
    in(delay() + 20, () -> inClient(this::connect));
  }

  /** Connects to a server, which asks its leader about the session. */
  private void connect() {
    clientIsDirect = random.nextBoolean();
    Leader current = leader;
    if (current == null || isCutOff) {
      in(delay(), this::loseConnection);
      return;
    }
    Connection attempt = new Connection(current);
    connection = attempt;
    attempt.toServer.send(
        () ->
            attempt.sendToLeader(
                () -> {
                  current.touch();
                  if (!current.expired) {
                    attempt.toClient.send(() -> inClient(() -> connected(attempt)));
                  }
                }));
  }

  private void connected(Connection attempt) {
    if (attempt == connection) {
      attempt.isOpen = true;
      List<Request> waiting = new ArrayList<>(unsent);
      unsent.clear();
      waiting.forEach(Request::send);
    }
  }

  private void start(long sessionTimeout) {
    timeout = sessionTimeout;
    ClockReading beginning = ClockReading.now(new Clock());
    leader = new Leader();
    certainty =
        new SessionCertainty(
            new Clock(),
            () -> Duration.ofMillis(timeout),
            () -> Duration.ofMillis(TICK),
            beginning);
    validity = certainty.validityPerConfirmation().toMillis();
    connect();
    beat();
    write();
  }

  private void changeLeader(long withoutLeader) {
    leader.deposed = true;
    leader = null;
    in(delay(), this::loseConnection);
    in(
        withoutLeader,
        () -> {
          if (leader == null) {
            leader = new Leader();
          }
        });
  }

  /** Begins a fault, and returns how long it lasts. */
  private long fault() {
    long duration = random.nextLong(timeout);
    switch (random.nextInt(4)) {
      case 0 -> changeLeader(duration);
      case 1 -> leader.pausedUntil = now + duration;
      case 2 -> clientPausedUntil = now + duration;
      default -> {
        loseConnection();
        return 0;
      }
    }
    return duration;
  }

  /** Lets the leader hear nothing more of the client. */
  private void cutOff() {
    if (connection != null) {
      connection.isCutOff = true;
    }
    isCutOff = true;
  }

  @ParameterizedTest
  @ValueSource(longs = {10_000, 20_000, 60_000})
  void theClientIsNeverCertainForLongerThanTheLeaderKeepsTheSession(long sessionTimeout) {
    for (int seed = 0; seed < SEEDS; seed++) {
      SessionCertaintyModelTest run = new SessionCertaintyModelTest();
      run.random = new Random(seed);
      run.maxDelay = 1 + run.random.nextLong(TICK / 4);
      try {
        run.start(sessionTimeout);
        run.run(run.now + 3 * TICK + run.random.nextLong(TICK));
        for (int faults = run.random.nextInt(3); faults >= 0 && run.leader != null; faults--) {
          run.run(run.now + run.fault() + run.random.nextLong(3 * TICK));
        }
        run.cutOff();
        for (long end = run.now + 3 * sessionTimeout; run.leader == null || !run.leader.expired; ) {
          assertTrue(run.now < end, "the session did not end");
          run.run(run.now + TICK);
        }
      } catch (AssertionError e) {
        throw new AssertionError("seed " + seed, e);
      }
    }
  }

  @Test
  void withoutFaultsEveryWriteConfirmsTheWholeValidity() {
    maxDelay = 5;
    start(10_000);
    for (long end = begin + 30_000; now < end; run(now + 10)) {
      assertTrue(remaining() > validity - 300 || now < begin + 300, this::state);
    }
  }

  @Test
  void afterAChangeOfLeaderTheNextWriteConfirmsMostOfTheValidity() {
    for (int seed = 0; seed < SEEDS; seed++) {
      SessionCertaintyModelTest run = new SessionCertaintyModelTest();
      run.random = new Random(seed);
      run.maxDelay = 5;
      run.start(10_000);
      run.run(run.now + 5_000 + run.random.nextLong(5_000));
      run.changeLeader(run.random.nextLong(3_000));
      while (run.leader == null || run.connection == null || !run.connection.isOpen) {
        run.run(run.now + 1);
      }
      long before = run.lastConfirmation;
      run.new Request(true).send();
      while (run.lastConfirmation == before) {
        run.run(run.now + 1);
      }
      assertTrue(run.remaining() > run.validity * 3 / 4, "seed " + seed + run.state());
    }
  }

  /** The leader has not heard from the client during its pause. */
  @Test
  void afterAPauseOfTheLeaderAWriteConfirmsOnlyTheProvenPart() {
    maxDelay = 5;
    start(30_000);
    run(now + 10_000);
    long pausedAt = now;
    leader.pausedUntil = now + 12_000;
    run(leader.pausedUntil + 100);
    assertTrue(lastConfirmation >= leader.pausedUntil);
    long proven = timeout * 99 / 100 - (now - pausedAt) - 2 * (TICK + timeout / 15);
    assertTrue(remaining() >= proven, this::state);
    run(now + 2 * TICK + 3 * timeout / 15);
    assertTrue(remaining() > validity * 3 / 4, this::state);
  }

  @Test
  void aWriteThatWasSentBeforeTheLossWasSeenIsNotCountedForTheNextConnection() {
    maxDelay = 5;
    start(10_000);
    run(now + 5_000);
    ClockReading lost = ClockReading.now(new Clock());
    long sentAt = lost.nanos();
    long before = certainty.confirm(sentAt);
    now += 4_000;
    long late = Duration.ofMillis(now - 1).toNanos();
    ClockReading lostLater = ClockReading.at(late, new Clock());
    certainty.onConnectionLoss(lostLater);
    assertTrue(certainty.confirm(late) < late + Duration.ofMillis(validity).toNanos());
    assertEquals(now + validity, Duration.ofNanos(certainty.confirm(late + 1_000_000)).toMillis());
    assertTrue(before < certainty.until());
  }

  private long remaining() {
    return Duration.ofNanos(certainty.until()).toMillis() - now;
  }

  private String state() {
    return " " + (now - begin) + " ms: " + remaining() + " of " + validity + " ms are certain";
  }
}
