package dev.interlock.simulation.machine;

import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A thread of a world. It runs only while it has the baton, which the {@link Scheduler} gives to
 * one thread at a time. An interrupt reaches it with the baton.
 */
public class SimThread extends Thread {

  /** What a thread is doing, as the scheduler sees it. */
  public enum State {
    /** Not started, or started and not yet known to the scheduler. */
    NEW,
    READY,
    PARKED,
    ENDED
  }

  /** Unwinds a thread whose machine is dead, or whose world is over. */
  @SuppressWarnings("serial")
  public static final class Killed extends Error {
    Killed() {
      super("killed", null, false, false);
    }
  }

  public final Machine machine;
  final int number;
  private final Runnable task;

  // Accessed only by the thread that has the baton.
  public State state = State.NEW;
  boolean permit;
  long parkedUntil;

  /** Distinguishes the current wait from earlier ones. */
  long waits;

  boolean killed;

  /** How often it has gone on when it was killed. */
  int survived;

  private boolean interruptPending;

  private volatile boolean baton;

  public SimThread(Machine machine, int number, String name, Runnable task) {
    super(null, null, machine.name() + "/" + name, 256 * 1024);
    this.machine = machine;
    this.number = number;
    this.task = task;
    setDaemon(true);
  }

  @Override
  public synchronized void start() {
    machine.scheduler().started(this);
    super.start();
  }

  @Override
  public void run() {
    awaitBaton();
    try {
      if (!killed || runsAtTheEnd()) {
        task.run();
      }
    } catch (Killed e) {
      // The scheduler killed the thread.
    } catch (Throwable e) {
      machine.scheduler().fail("thread", getName() + " ended with " + Failure.describe(e));
    } finally {
      machine.scheduler().ended(this);
    }
  }

  @Override
  public void interrupt() {
    // While it chooses the next thread, an interrupt reaches it as it reaches any other.
    if (Thread.currentThread() == this && state != State.PARKED) {
      super.interrupt();
    } else {
      interruptPending = true;
      machine.scheduler().interrupted(this);
    }
  }

  /** Whether it runs although the world has ended, until its first wait. */
  public boolean runsAtTheEnd() {
    return false;
  }

  boolean isInterruptPending() {
    return interruptPending;
  }

  /** Called by the thread itself, when another has been chosen. */
  void awaitBaton() {
    if (Thread.interrupted()) {
      interruptPending = true;
    }
    while (!baton) {
      LockSupport.park(this);
    }
    baton = false;
    goOn();
  }

  /** Called by the thread itself, when it has been chosen. */
  void goOn() {
    if (interruptPending) {
      interruptPending = false;
      super.interrupt();
    }
  }

  void giveBaton() {
    baton = true;
    LockSupport.unpark(this);
  }

  /** The current thread, if it belongs to a world. */
  static @Nullable SimThread current() {
    return Thread.currentThread() instanceof SimThread thread ? thread : null;
  }
}
