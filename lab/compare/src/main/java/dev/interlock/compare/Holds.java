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
 * Who held one hot lock, and when. All times are on the clock of {@link System#nanoTime}, which the
 * processes of one machine share.
 *
 * @param holds in the order of their grants
 * @param begin when the contention began
 * @param end when it ended; waiters that were still in line got the lock later
 * @param allServed whether every waiter got the lock that it last asked for
 */
public record Holds(List<Hold> holds, long begin, long end, boolean allServed) {
  private static final Gson GSON = new Gson();

  /**
   * One thread's hold.
   *
   * @param waiter which thread, from 0
   * @param asked when it began to ask for the lock
   * @param granted when it had it
   * @param released when it began to release it
   */
  public record Hold(int waiter, long asked, long granted, long released) {}

  /** A lock that threads contend for. */
  @FunctionalInterface
  public interface Entrance {

    /**
     * Acquires the lock, waiting until it is free.
     *
     * @param waiter which of the threads asks, from 0
     * @param atMost how much of the contention is left
     * @return what releases the lock; empty if it was not free in time
     * @throws Exception if the lock fails; the contention ends with it
     */
    Optional<? extends AutoCloseable> enter(int waiter, Duration atMost) throws Exception;
  }

  /**
   * Lets threads of this process contend for a while. Each asks again as soon as it has released;
   * one that is not served in time asks no more.
   *
   * @param hold how long each holds the lock
   * @return what happened
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
            (number, goesOn) -> {
              List<Hold> own = new ArrayList<>();
              long last = System.nanoTime() + slice.toNanos();
              do {
                long asked = System.nanoTime();
                Duration atMost = Duration.ofNanos(Math.max(1, last - asked));
                Optional<? extends AutoCloseable> held = entrance.enter(number, atMost);
                if (held.isEmpty()) {
                  allServed.set(false);
                  break;
                }
                long granted = System.nanoTime();
                long released;
                try (AutoCloseable lease = held.get()) {
                  if (!hold.isZero()) {
                    Thread.sleep(hold.toMillis());
                  }
                  released = System.nanoTime();
                }
                own.add(new Hold(number, asked, granted, released));
              } while (goesOn.getAsBoolean());
              all.add(own);
            });
    List<Hold> holds = new ArrayList<>();
    all.forEach(holds::addAll);
    holds.sort(Comparator.comparingLong(Hold::granted));
    return new Holds(holds, begin, begin + slice.toNanos(), allServed.get());
  }

  /** {@return what several processes did to one lock, in the time that they have in common} */
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

  /** {@return grants per second, without those to waiters that were left in line} */
  public double perSecond() {
    return inTime().size() * 1e9 / Math.max(1, end - begin);
  }

  /** {@return how many grants there were, without those to waiters that were left in line} */
  public int count() {
    return inTime().size();
  }

  /** {@return the times from one holder's release to the next one's grant, in nanoseconds} */
  public Histogram handoffs() {
    Histogram times = new Histogram(3);
    List<Hold> counted = inTime();
    for (int i = 1; i < counted.size(); i++) {
      times.recordValue(Math.max(0, counted.get(i).granted - counted.get(i - 1).released));
    }
    return times;
  }

  /** {@return how long each waited, those left in line too; empty unless all were served} */
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
   * {@return Jain's index of the holds that each waiter had: 1 if all had as many, 1/n if one had
   * all} See Jain, Chiu and Hawe, "A quantitative measure of fairness", 1984.
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

  /** {@return one line, for {@link #decode}} */
  public String encode() {
    return GSON.toJson(this);
  }

  /** {@return what {@link #encode} was called on} */
  public static Holds decode(String line) {
    return GSON.fromJson(line, Holds.class);
  }
}
