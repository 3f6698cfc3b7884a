package dev.interlock.simulation.machine;

import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A thread of a world. It runs only while it has the baton, which the {@link Scheduler} gives to
 * one thread at a time. An interrupt is delivered with the baton.
 */
public class SimThread extends Thread {

  /** The state of a thread for the scheduler. */
  public enum State {
    /** The scheduler does not know the thread yet. */
    NEW,
    READY,
    PARKED,
    ENDED
  }

  /** Unwinds a thread whose machine is dead or whose world is over. */
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

  /** The number of times that the thread has continued after it was killed. */
  int survivals;

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
    machine.scheduler().register(this);
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
      machine.scheduler().onEnd(this);
    }
  }

  @Override
  public void interrupt() {
    // A parked thread may be choosing the next one; it is interrupted like any other thread.
    if (Thread.currentThread() == this && state != State.PARKED) {
      super.interrupt();
    } else {
      interruptPending = true;
      machine.scheduler().onInterrupt(this);
    }
  }

  /** {@return whether the thread runs, until its first wait, even if the world has ended} */
  public boolean runsAtTheEnd() {
    return false;
  }

  boolean isInterruptPending() {
    return interruptPending;
  }

  /** Waits for the baton. Called by the thread itself when another one was chosen. */
  void awaitBaton() {
    if (Thread.interrupted()) {
      interruptPending = true;
    }
    while (!baton) {
      LockSupport.park(this);
    }
    baton = false;
    deliverInterrupt();
  }

  /** Delivers a pending interrupt. Called by the thread itself when it was chosen. */
  void deliverInterrupt() {
    if (interruptPending) {
      interruptPending = false;
      super.interrupt();
    }
  }

  void giveBaton() {
    baton = true;
    LockSupport.unpark(this);
  }

  /** {@return the current thread; null if it does not belong to a world} */
  static @Nullable SimThread current() {
    return Thread.currentThread() instanceof SimThread thread ? thread : null;
  }
}
