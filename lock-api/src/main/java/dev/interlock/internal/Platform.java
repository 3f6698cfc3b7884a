package dev.interlock.internal;

import dev.interlock.spi.TimeSource;
import java.lang.ref.Reference;
import java.lang.ref.WeakReference;
import java.util.concurrent.ExecutorService;

/**
 * The clocks, threads and random numbers of a client. Outside of simulations this is {@link Jvm}.
 *
 * <p>A client waits only in {@link #parkUntil}, and gets every thread and every random number from
 * its platform. So a simulation can decide which thread runs next, and can repeat a run.
 */
public interface Platform extends TimeSource {

  /**
   * Returns the platform for a client on the given clocks.
   *
   * @param time the clocks; if this is a platform, it is returned
   * @return the platform
   */
  static Platform on(TimeSource time) {
    return time instanceof Platform platform ? platform : new Jvm(time);
  }

  /**
   * Creates a pool of daemon threads, which end when idle.
   *
   * @param name the purpose of the threads
   * @param maxThreads the maximum number of threads; more tasks wait
   * @param virtual whether to use virtual threads, if the JVM has them
   * @return the pool
   */
  ExecutorService pool(String name, int maxThreads, boolean virtual);

  /**
   * Creates a daemon thread, which the caller starts.
   *
   * @param name its name
   * @param task its task
   * @return the thread
   */
  Thread thread(String name, Runnable task);

  /**
   * Creates a weak reference.
   *
   * @param object the object that may become unreachable
   * @return a reference that is cleared some time after that
   */
  default Reference<Object> weak(Object object) {
    return new WeakReference<>(object);
  }

  /**
   * Draws a random number, to spread actions that would otherwise happen at the same time.
   *
   * @param bound the exclusive upper limit
   * @return a number from 0 to the bound, exclusive
   */
  long random(long bound);

  /**
   * Draws unique bytes.
   *
   * @param count the number of bytes
   * @return the bytes
   */
  byte[] unique(int count);
}
