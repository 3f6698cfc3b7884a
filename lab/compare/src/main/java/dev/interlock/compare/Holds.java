package dev.interlock.compare;

import com.google.gson.Gson;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import org.HdrHistogram.Histogram;

/**
 * The holds of one contended lock. All times are values of {@link System#nanoTime}, which the
 * processes of one machine share.
 *
 * @param holds in the order of their grants
 * @param begin the beginning of the contention
 * @param end the end of the contention; threads that were still waiting then got the lock later
 * @param allServed whether every waiter got the lock that it last asked for
 */
public record Holds(List<Hold> holds, long begin, long end, boolean allServed) {
  private static final Gson GSON = new Gson();

  /**
   * One thread's hold.
   *
   * @param waiter the number of the thread, from 0
   * @param asked the time at which it called acquire
   * @param granted the time at which it had the lock
   * @param released the time at which it called release
   */
  public record Hold(int waiter, long asked, long granted, long released) {}

  /** A lock that threads contend for. */
  @FunctionalInterface
  public interface Entrance {

    /**
     * Acquires the lock, waiting if necessary.
     *
     * @param waiter the number of the calling thread, from 0
     * @param atMost the remaining time of the contention
     * @return a handle that releases the lock; empty if the time ran out
     * @throws Exception if the lock fails; this ends the contention
     */
    Optional<? extends AutoCloseable> enter(int waiter, Duration atMost) throws Exception;
  }

  /**
   * Lets threads of this process contend for a lock. Each thread asks again as soon as it has
   * released; a thread whose wait times out stops.
   *
   * @param slice how long the contention lasts
   * @param hold how long each thread holds the lock
   * @return all holds
   * @throws Exception the first failure of any thread
   */
  public static Holds contend(Entrance entrance, int threads, Duration slice, Duration hold)
      throws Exception {
    ConcurrentLinkedQueue<List<Hold>> all = new ConcurrentLinkedQueue<>();
    AtomicBoolean allServed = new AtomicBoolean(true);
    long begin =
        Workers.work(
            threads,
            slice,
            (number, running) -> {
              List<Hold> holdsOfThread = new ArrayList<>();
              long deadline = System.nanoTime() + slice.toNanos();
              do {
                long asked = System.nanoTime();
                Duration atMost = Duration.ofNanos(Math.max(1, deadline - asked));
                Optional<? extends AutoCloseable> grant = entrance.enter(number, atMost);
                if (grant.isEmpty()) {
                  allServed.set(false);
                  break;
                }
                long granted = System.nanoTime();
                long released;
                try (AutoCloseable lease = grant.get()) {
                  if (!hold.isZero()) {
                    Thread.sleep(hold.toMillis());
                  }
                  released = System.nanoTime();
                }
                holdsOfThread.add(new Hold(number, asked, granted, released));
              } while (running.getAsBoolean());
              all.add(holdsOfThread);
            });
    List<Hold> holds = new ArrayList<>();
    all.forEach(holds::addAll);
    holds.sort(Comparator.comparingLong(Hold::granted));
    return new Holds(holds, begin, begin + slice.toNanos(), allServed.get());
  }

  /**
   * {@return the holds of several processes that contended for one lock, in the time in which all
   * of them did}
   */
  public static Holds together(List<Holds> processes) {
    List<Hold> all = new ArrayList<>();
    int offset = 0;
    for (Holds process : processes) {
      int waiters = 0;
      for (Hold hold : process.holds) {
        waiters = Math.max(waiters, hold.waiter + 1);
        all.add(new Hold(offset + hold.waiter, hold.asked, hold.granted, hold.released));
      }
      offset += waiters;
    }
    all.sort(Comparator.comparingLong(Hold::granted));
    return new Holds(
        all,
        processes.stream().mapToLong(Holds::begin).max().orElseThrow(),
        processes.stream().mapToLong(Holds::end).min().orElseThrow(),
        processes.stream().allMatch(Holds::allServed));
  }

  /** {@return the grants per second until the end of the contention} */
  public double perSecond() {
    return inTime().size() * 1e9 / Math.max(1, end - begin);
  }

  /** {@return the number of grants until the end of the contention} */
  public int count() {
    return inTime().size();
  }

  /** {@return the times from each release to the next grant, in nanoseconds} */
  public Histogram handoffs() {
    Histogram times = new Histogram(3);
    List<Hold> counted = inTime();
    for (int i = 1; i < counted.size(); i++) {
      times.recordValue(Math.max(0, counted.get(i).granted - counted.get(i - 1).released));
    }
    return times;
  }

  /**
   * {@return the waiting times of all threads in nanoseconds, also beyond the end; empty unless all
   * were served}
   */
  public Histogram waits() {
    Histogram times = new Histogram(3);
    for (Hold hold : allServed ? holds : List.<Hold>of()) {
      if (hold.asked - begin >= 0 && hold.asked - end < 0) {
        times.recordValue(Math.max(0, hold.granted - hold.asked));
      }
    }
    return times;
  }

  /**
   * {@return Jain's index of the numbers of holds: 1 if all threads had the same number, 1/n if one
   * thread had all} See Jain, Chiu and Hawe, "A quantitative measure of fairness", 1984.
   */
  public double fairness(int waiters) {
    long[] counts = new long[waiters];
    inTime().forEach(hold -> counts[hold.waiter]++);
    return jain(counts);
  }

  static double jain(long[] counts) {
    double sum = Arrays.stream(counts).asDoubleStream().sum();
    double squares = Arrays.stream(counts).mapToDouble(count -> (double) count * count).sum();
    return squares == 0 ? Double.NaN : sum * sum / (counts.length * squares);
  }

  private List<Hold> inTime() {
    return holds.stream()
        .filter(hold -> hold.granted - begin >= 0 && hold.granted - end < 0)
        .toList();
  }

  /** {@return this object as one line, which {@link #decode} can read} */
  public String encode() {
    return GSON.toJson(this);
  }

  /** {@return the object that {@link #encode} wrote} */
  public static Holds decode(String line) {
    return GSON.fromJson(line, Holds.class);
  }
}
