package dev.interlock.internal;

import dev.interlock.spi.TimeSource;
import java.lang.ref.Reference;
import java.lang.ref.WeakReference;
import java.util.concurrent.ExecutorService;

/**
 * The clocks, threads and random numbers of a client. Outside of simulations this is {@link Jvm}.
 *
 * <p>A client waits only in {@link #parkUntil}, and gets every thread and every random number from
 * here. So a simulation can decide which thread runs next, and repeat a run.
 */
public interface Platform extends TimeSource {

  /**
   * The platform that a client on the given clocks runs on.
   *
   * @param time the clocks; if they are those of a platform, it is that one
   * @return the platform
   */
  static Platform on(TimeSource time) {
    return time instanceof Platform platform ? platform : new Jvm(time);
  }

  /**
   * Makes a pool of daemon threads, all gone when idle.
   *
   * @param name what the threads are for
   * @param most how many there may be; more tasks than that wait
   * @param virtual whether to use virtual threads, if the JVM has them
   * @return the pool
   */
  ExecutorService pool(String name, int most, boolean virtual);

  /**
   * Makes a daemon thread, to be started by the caller.
   *
   * @param name its name
   * @param task what it does
   * @return the thread
   */
  Thread thread(String name, Runnable task);

  /**
   * Refers to something without keeping it.
   *
   * @param object what the program may drop
   * @return a reference that is empty some time after that
   */
  default Reference<Object> weak(Object object) {
    return new WeakReference<>(object);
  }

  /**
   * Draws a number, to spread what would otherwise happen in step.
   *
   * @param bound the exclusive upper limit
   * @return a number from 0 on and below the bound
   */
  long random(long bound);

  /**
   * Draws unique bytes.
   *
   * @param count how many
   * @return the bytes
   */
  byte[] unique(int count);
}
