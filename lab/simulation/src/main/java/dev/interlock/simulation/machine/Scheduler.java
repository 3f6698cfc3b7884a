package dev.interlock.simulation.machine;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The time and threads of one world. One thread runs at a time, until it waits; then the seed
 * chooses among the threads that are ready. If none is ready, time jumps to the next event.
 */
public final class Scheduler {

  /** The rule that a thread breaks if it waits for something outside of the world. */
  public static final String HANG = "hang";

  /** The limit for all clients together. */
  private static final int MAX_STEPS_PER_SECOND = 20_000;

  private static final int MAX_CLOCK_READINGS = 100_000;

  /** Rules whose failures are ignored, so that worlds continue and find others. */
  private static final Set<String> IGNORED_RULES =
      Set.copyOf(List.of(System.getProperty("interlock.passedOver", "").split(",")));

  /** An event, such as the arrival of a message or the beginning of a fault. */
  private record Event(long at, long order, Runnable action) {}

  private record Wait(long at, long order, SimThread thread, long number) {}

  private final SplittableRandom random;
  private final PriorityQueue<Event> events =
      new PriorityQueue<>(Comparator.comparingLong(Event::at).thenComparingLong(Event::order));
  private final PriorityQueue<Wait> waits =
      new PriorityQueue<>(Comparator.comparingLong(Wait::at).thenComparingLong(Wait::order));
  private final List<SimThread> ready = new ArrayList<>();
  private final List<SimThread> alive = new ArrayList<>();
  private final List<SimThread> eligible = new ArrayList<>();
  private final long endOfTime;

  private long now = TimeUnit.HOURS.toNanos(1);
  private long order;
  private int threads;
  private int steps;
  private long thisSecond;
  private int stepsThisSecond;
  private int clockReadings;
  private long fingerprint = 1;
  private @Nullable SimThread lastEnded;
  private @Nullable Failure failure;
  private boolean over;
  private boolean handlingEvent;
  private volatile boolean stopped;
  private @Nullable Thread main;
  private Runnable atTheEnd = () -> {};

  public Scheduler(SplittableRandom random, long maxTime) {
    this.random = random;
    this.endOfTime = now + maxTime;
  }

  public long now() {
    return now;
  }

  public long random(long bound) {
    return random.nextLong(bound);
  }

  boolean chance(double probability) {
    return probability > 0 && random.nextDouble() < probability;
  }

  public int steps() {
    return steps;
  }

  /** {@return a hash of all events: two runs with the same fingerprint were the same} */
  public long fingerprint() {
    return fingerprint;
  }

  public void mix(long value) {
    fingerprint = (fingerprint ^ value) * 0x9E3779B97F4A7C15L;
    fingerprint ^= fingerprint >>> 29;
  }

  public @Nullable Failure failure() {
    return failure;
  }

  /** Ends the world with a failure, unless it has ended already. */
  public void fail(String rule, String what) {
    if (failure == null && !over && !IGNORED_RULES.contains(rule)) {
      failure = new Failure(rule, what);
    }
  }

  /** Ends the world without a failure. */
  public void finish() {
    over = true;
  }

  /** Sets an action to run when the world has ended, before its threads are killed. */
  public void atTheEnd(Runnable action) {
    atTheEnd = action;
  }

  /** {@return whether the running thread is handling an event, for no machine} */
  boolean isHandlingEvent() {
    return handlingEvent;
  }

  boolean isOver() {
    return over || failure != null;
  }

  public void at(long time, Runnable action) {
    events.add(new Event(time, order++, action));
  }

  public void after(long delay, Runnable action) {
    at(now + delay, action);
  }

  // --- threads --------------------------------------------------------------------------------

  /** Counts readings of the clock, to find a thread that spins on it. */
  void countClockReading() {
    if (++clockReadings > MAX_CLOCK_READINGS) {
      fail("livelock", "a thread neither waits nor ends: " + threadsAlive());
      throw new SimThread.Killed();
    }
  }

  public int nextThreadNumber() {
    return threads++;
  }

  public List<SimThread> alive() {
    return alive;
  }

  void register(SimThread thread) {
    thread.state = SimThread.State.READY;
    alive.add(thread);
    ready.add(thread);
  }

  void onEnd(SimThread thread) {
    thread.state = SimThread.State.ENDED;
    alive.remove(thread);
    thread.machine.onVoluntaryWait(thread);
    lastEnded = thread;
    dispatch(null);
  }

  void onInterrupt(SimThread thread) {
    if (thread.state == SimThread.State.PARKED) {
      makeReady(thread);
    }
  }

  void unpark(SimThread thread) {
    if (thread.state == SimThread.State.PARKED) {
      makeReady(thread);
    } else {
      thread.permit = true;
    }
  }

  private void makeReady(SimThread thread) {
    thread.state = SimThread.State.READY;
    thread.waits++;
    ready.add(thread);
  }

  /** Parks the running thread until the time, by its machine's monotonic clock. */
  void park(SimThread self, long until) {
    dieOrWaitIfKilled(self);
    if (self.permit || self.isInterruptPending() || Thread.currentThread().isInterrupted()) {
      self.permit = false;
      letOthersRun(self);
      return;
    }
    self.state = SimThread.State.PARKED;
    self.parkedUntil = until;
    self.waits++;
    waits.add(new Wait(self.machine.trueTime(until), order++, self, self.waits));
    switchFrom(self);
  }

  void letOthersRun(SimThread self) {
    dieOrWaitIfKilled(self);
    self.state = SimThread.State.READY;
    ready.add(self);
    switchFrom(self);
  }

  /** Lets threads of other machines run. Those of the same machine may need this one's monitors. */
  void yieldInside(SimThread self) {
    self.state = SimThread.State.READY;
    ready.add(self);
    dispatch(self);
    dieIfKilled(self);
  }

  private void switchFrom(SimThread self) {
    self.machine.onVoluntaryWait(self);
    dispatch(self);
    dieIfKilled(self);
  }

  static void dieIfKilled(SimThread self) {
    // Thrown once only: code that continues after any error must get as far as its next wait.
    if (self.killed && self.survivals++ == 0) {
      throw new SimThread.Killed();
    }
  }

  /** Throws if a thread without monitors is killed; one that has survived lets others die first. */
  private void dieOrWaitIfKilled(SimThread self) {
    if (self.killed) {
      if (self.survivals++ > 0) {
        dispatch(self);
      }
      throw new SimThread.Killed();
    }
  }

  private void dispatch(@Nullable SimThread self) {
    SimThread next = next();
    if (next == null) {
      stopped = true;
      LockSupport.unpark(main);
      if (self != null) {
        self.awaitBaton();
      }
    } else if (next != self) {
      next.giveBaton();
      if (self != null) {
        self.awaitBaton();
      }
    } else {
      self.deliverInterrupt();
    }
    joinEnded(self);
  }

  /** Waits until the last ended thread has terminated, so that isAlive() is deterministic. */
  private void joinEnded(@Nullable SimThread self) {
    SimThread endedThread = lastEnded;
    if (self != null && endedThread != null && endedThread != self) {
      lastEnded = null;
      boolean interrupted = Thread.interrupted();
      try {
        endedThread.join();
      } catch (InterruptedException e) {
        throw new IllegalStateException("interrupted from outside of the world", e);
      } finally {
        if (interrupted) {
          self.interrupt();
        }
      }
    }
  }

  /** {@return the thread that runs next; null if the world and all its threads have ended} */
  private @Nullable SimThread next() {
    while (true) {
      if (isOver()) {
        return nextToKill();
      }
      handleDueEvents();
      if (isOver()) {
        continue;
      }
      SimThread chosen = choose();
      if (chosen != null) {
        return chosen;
      }
      advanceTime();
    }
  }

  private @Nullable SimThread nextToKill() {
    Runnable last = atTheEnd;
    atTheEnd = () -> {};
    last.run();
    if (alive.isEmpty()) {
      return null;
    }
    SimThread victim = alive.get(alive.size() - 1);
    for (SimThread thread : alive) {
      boolean isNext = thread.survivals < victim.survivals;
      // A thread that was stopped inside comes first: others may need its monitors, even to end.
      if (isNext || (thread.machine.isStoppedInside(thread) && thread.survivals == 0)) {
        victim = thread;
      }
    }
    victim.killed = true;
    victim.state = SimThread.State.READY;
    return victim;
  }

  private void handleDueEvents() {
    Event due;
    while ((due = events.peek()) != null && due.at <= now && !isOver()) {
      events.remove();
      handlingEvent = true;
      try {
        due.action.run();
      } catch (RuntimeException | Error e) {
        fail("world", Failure.describe(e));
      } finally {
        handlingEvent = false;
      }
    }
    Wait wait;
    while ((wait = waits.peek()) != null && wait.at <= now) {
      waits.remove();
      SimThread thread = wait.thread;
      if (thread.state == SimThread.State.PARKED && thread.waits == wait.number) {
        long at = thread.machine.trueTime(thread.parkedUntil);
        if (at <= now) {
          makeReady(thread);
        } else {
          waits.add(new Wait(at, order++, thread, wait.number));
        }
      }
    }
  }

  private @Nullable SimThread choose() {
    eligible.clear();
    for (SimThread thread : ready) {
      if (thread.machine.mayRun(thread)) {
        eligible.add(thread);
      }
    }
    if (eligible.isEmpty()) {
      return null;
    }
    SimThread chosen = eligible.get((int) random(eligible.size()));
    ready.remove(chosen);
    steps++;
    clockReadings = 0;
    mix(now * 31 + chosen.number);
    // Each step takes time, usually very little.
    now += random(8) == 0 ? random(200_000) : random(4) == 0 ? random(4_000) : 0;
    countStep();
    return chosen;
  }

  private void countStep() {
    long second = TimeUnit.NANOSECONDS.toSeconds(now);
    if (second != thisSecond) {
      thisSecond = second;
      stepsThisSecond = 0;
    }
    if (++stepsThisSecond > MAX_STEPS_PER_SECOND) {
      fail("livelock", stepsThisSecond + " steps in a second: " + threadsAlive());
    }
  }

  private void advanceTime() {
    Event event = events.peek();
    Wait wait = waits.peek();
    if (event == null && wait == null) {
      fail("deadlock", "no event is left; waiting threads: " + threadsAlive());
      return;
    }
    long next = event == null ? wait.at : wait == null ? event.at : Math.min(event.at, wait.at);
    if (next > endOfTime) {
      now = endOfTime;
      fail("deadlock", "no event is due before the time limit; waiting threads: " + threadsAlive());
      return;
    }
    now = Math.max(now, next);
  }

  public String threadsAlive() {
    StringBuilder text = new StringBuilder();
    for (SimThread thread : alive) {
      text.append("\n    ").append(thread.getName()).append(' ').append(thread.state);
      int shown = 0;
      for (StackTraceElement frame : thread.getStackTrace()) {
        String type = frame.getClassName();
        if (type.startsWith("dev.interlock.")
            && !type.contains(".Scheduler")
            && !type.contains(".SimThread")
            && shown++ < 9) {
          text.append("\n        ").append(type.substring(type.lastIndexOf('.') + 1));
          text.append('.').append(frame.getMethodName()).append(':').append(frame.getLineNumber());
        }
      }
    }
    return text.toString();
  }

  // --- the whole ------------------------------------------------------------------------------

  /** Runs until the world and all its threads have ended. */
  public void run() {
    main = Thread.currentThread();
    SimThread first = next();
    if (first != null) {
      first.giveBaton();
      int seen = steps; // not synchronized: it is enough to see a change within a minute
      long seenAt = System.nanoTime();
      while (!stopped) {
        LockSupport.parkNanos(this, TimeUnit.SECONDS.toNanos(1));
        if (seen != steps) {
          seen = steps;
          seenAt = System.nanoTime();
        } else if (!stopped && System.nanoTime() - seenAt > TimeUnit.SECONDS.toNanos(60)) {
          failure = new Failure(HANG, "a thread waits outside of the world:" + threadsAlive());
          return;
        }
      }
    }
  }
}
