package dev.interlock.compare;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.HdrHistogram.Histogram;

/**
 * Who held one hot lock, and when; all times on the clock of {@link System#nanoTime}, which on one
 * machine is the same for all processes.
 */
public final class Turns {

  /** A lock that threads contend for. */
  @FunctionalInterface
  public interface Entrance {

    /**
     * Takes the lock, and waits for it if need be.
     *
     * @param contender which of the threads asks, from 0
     * @param atMost how long the thread may still wait
     * @return what gives the lock back, or empty if it was not to be had in that time
     * @throws Exception if the lock fails; the contest ends with it
     */
    Optional<? extends AutoCloseable> enter(int contender, Duration atMost) throws Exception;
  }

  /**
   * One thread's turn.
   *
   * @param waiter who
   * @param asked when it began to ask for the lock
   * @param granted when it had it
   * @param released when it began to give it back
   */
  record Turn(int waiter, long asked, long granted, long released) {}

  private static final Duration LAST_WAIT = Duration.ofSeconds(15);

  private final List<Turn> turns;
  private final long begin;
  private final long end;

  private Turns(List<Turn> turns, long begin, long end) {
    this.turns = turns;
    this.begin = begin;
    this.end = end;
  }

  /** What happened from one moment to another; turns in the order of their grants. */
  static Turns of(List<Turn> turns, long begin, long end) {
    return new Turns(turns, begin, end);
  }

  /** Has threads of this process contend for a while; a waiter that is not served is a failure. */
  static Turns contend(LockClient client, String name, int threads, Duration slice)
      throws Exception {
    return contend(
        (contender, atMost) -> {
          Optional<Lease> lease = client.lock(name).tryAcquire(atMost.plus(LAST_WAIT));
          if (lease.isEmpty()) {
            throw new IllegalStateException(
                "a waiter was not served for " + LAST_WAIT.toSeconds() + " s");
          }
          return lease;
        },
        threads,
        slice,
        Duration.ZERO);
  }

  /**
   * Has threads of this process contend for a while. Each takes its next turn as soon as it has
   * given back; one that is not served while the time lasts has no more turns.
   *
   * @param entrance the lock
   * @param threads how many contend
   * @param slice for how long
   * @param hold how long each turn lasts
   * @return what happened
   * @throws Exception the first failure of any of them
   */
  public static Turns contend(Entrance entrance, int threads, Duration slice, Duration hold)
      throws Exception {
    ConcurrentLinkedQueue<List<Turn>> all = new ConcurrentLinkedQueue<>();
    long begin =
        Crew.work(
            threads,
            slice,
            (number, goesOn) -> {
              List<Turn> mine = new ArrayList<>();
              long last = System.nanoTime() + slice.toNanos();
              do {
                long asked = System.nanoTime();
                Duration atMost = Duration.ofNanos(Math.max(1, last - asked));
                Optional<? extends AutoCloseable> held = entrance.enter(number, atMost);
                if (held.isEmpty()) {
                  break;
                }
                long granted = System.nanoTime();
                long released = granted;
                try (AutoCloseable turn = held.get()) {
                  if (!hold.isZero()) {
                    Thread.sleep(hold.toMillis());
                  }
                  released = System.nanoTime();
                }
                mine.add(new Turn(number, asked, granted, released));
              } while (goesOn.getAsBoolean());
              all.add(mine);
            });
    List<Turn> turns = new ArrayList<>();
    all.forEach(turns::addAll);
    turns.sort(Comparator.comparingLong(Turn::granted));
    return new Turns(turns, begin, begin + slice.toNanos());
  }

  /** What several processes did to one lock, in the time that they have in common. */
  static Turns together(List<Turns> processes) {
    long begin = processes.stream().mapToLong(turns -> turns.begin).max().orElseThrow();
    long end = processes.stream().mapToLong(turns -> turns.end).min().orElseThrow();
    List<Turn> all = new ArrayList<>();
    int offset = 0;
    for (Turns process : processes) {
      int most = 0;
      for (Turn turn : process.turns) {
        most = Math.max(most, turn.waiter() + 1);
        all.add(new Turn(offset + turn.waiter(), turn.asked(), turn.granted(), turn.released()));
      }
      offset += most;
    }
    all.sort(Comparator.comparingLong(Turn::granted));
    return new Turns(all, begin, end);
  }

  /** Grants per second, without those of waiters that were only left over. */
  public double perSecond() {
    return (double) inTime().size() * 1e9 / Math.max(1, end - begin);
  }

  /** How many grants there were, without those of waiters that were only left over. */
  public int count() {
    return inTime().size();
  }

  /** From one holder's release to the next one's grant, in nanoseconds. */
  public Histogram handoffs() {
    Histogram times = new Histogram(3);
    List<Turn> counted = inTime();
    for (int i = 1; i < counted.size(); i++) {
      times.recordValue(Math.max(0, counted.get(i).granted() - counted.get(i - 1).released()));
    }
    return times;
  }

  /** How long they waited, with those that were still in line in the end. */
  Histogram waits() {
    Histogram times = new Histogram(3);
    for (Turn turn : turns) {
      if (turn.asked() - begin >= 0 && turn.asked() - end < 0) {
        times.recordValue(Math.max(0, turn.granted() - turn.asked()));
      }
    }
    return times;
  }

  /**
   * Jain's index of the turns that each waiter had: 1 if all had as many, 1/n if one had all. See
   * Jain, Chiu and Hawe, "A quantitative measure of fairness", 1984.
   */
  public double fairness(int waiters) {
    long[] counts = new long[waiters];
    for (Turn turn : inTime()) {
      counts[turn.waiter()]++;
    }
    return jain(counts);
  }

  static double jain(long[] counts) {
    double sum = Arrays.stream(counts).asDoubleStream().sum();
    double squares = Arrays.stream(counts).mapToDouble(count -> (double) count * count).sum();
    return squares == 0 ? Double.NaN : sum * sum / (counts.length * squares);
  }

  private List<Turn> inTime() {
    return turns.stream()
        .filter(turn -> turn.granted() - begin >= 0 && turn.granted() - end < 0)
        .toList();
  }

  void write(Path file) throws IOException {
    try (DataOutputStream out =
        new DataOutputStream(new BufferedOutputStream(Files.newOutputStream(file)))) {
      out.writeLong(begin);
      out.writeLong(end);
      out.writeInt(turns.size());
      for (Turn turn : turns) {
        out.writeInt(turn.waiter());
        out.writeLong(turn.asked());
        out.writeLong(turn.granted());
        out.writeLong(turn.released());
      }
    }
  }

  static Turns read(Path file) throws IOException {
    try (DataInputStream in =
        new DataInputStream(new BufferedInputStream(Files.newInputStream(file)))) {
      long begin = in.readLong();
      long end = in.readLong();
      int count = in.readInt();
      List<Turn> turns = new ArrayList<>(count);
      for (int i = 0; i < count; i++) {
        turns.add(new Turn(in.readInt(), in.readLong(), in.readLong(), in.readLong()));
      }
      return new Turns(turns, begin, end);
    }
  }
}
