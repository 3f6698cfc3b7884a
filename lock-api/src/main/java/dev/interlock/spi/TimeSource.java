package dev.interlock.spi;

import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/** The clocks of a client. All waits and measurements use them, so that tests can replace them. */
public interface TimeSource {

  /** {@return the JVM's clocks} */
  static TimeSource system() {
    return SystemTime.INSTANCE;
  }

  /**
   * Returns the monotonic time in nanoseconds; only differences are meaningful. It may stand still
   * while the machine sleeps.
   *
   * @return nanoseconds
   */
  long nanoTime();

  /**
   * Returns the wall-clock time in milliseconds since 1970. It may jump. It is used only to detect
   * that the machine slept.
   *
   * @return milliseconds
   */
  long wallMillis();

  /**
   * Blocks the current thread until {@link #nanoTime()} reaches the given time or the thread is
   * unparked or interrupted. May return spuriously, as {@link LockSupport#parkNanos(Object, long)}.
   *
   * @param blocker the object that the thread waits for, as thread dumps show it
   * @param untilNanos the time at which to return
   */
  void parkUntil(Object blocker, long untilNanos);

  /**
   * Ends the given thread's {@link #parkUntil}, or else its next one. Never blocks. By default
   * calls {@link LockSupport#unpark}, which is right for every clock that parks threads with {@link
   * LockSupport}.
   *
   * @param thread the thread; null for none
   */
  default void unpark(@Nullable Thread thread) {
    LockSupport.unpark(thread);
  }
}
