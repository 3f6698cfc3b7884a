package dev.interlock.tck.rules;

import dev.interlock.DistributedLock;
import dev.interlock.Lease;
import dev.interlock.LockException;
import dev.interlock.tck.process.RemoteTask;
import dev.interlock.tck.process.Worker;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import javax.management.JMException;
import javax.management.ObjectName;

/**
 * Lets leases of many names expire in three rounds, each lease after one renewal. Returns the
 * number of additional threads, and the classes whose number of objects grew in every round by
 * about the number of leases.
 *
 * <p>The first round loads classes and fills caches. The task counts objects instead of bytes,
 * because a client's heap varies by more than so few leases can leave behind.
 */
final class ManyLeasesThatExpire implements RemoteTask {
  static final int LEASES = 300;

  /** The result on a JVM that does not count its objects by class. */
  static final String NOT_COUNTED = "not counted";

  private static final int ROUNDS = 3;
  private static final Duration ACQUIRE_TIMEOUT = Duration.ofSeconds(30);
  private static final Pattern BLANKS = Pattern.compile("\\s+");

  /** The number of objects of each class after each round. */
  private final Map<String, long[]> objects = new TreeMap<>();

  @Override
  public String run(Worker worker, List<String> arguments) throws Exception {
    String prefix = arguments.get(0);
    Duration limit = Duration.ofMillis(Long.parseLong(arguments.get(1)));
    letExpire(worker, prefix);
    int threads = Thread.getAllStackTraces().size();
    count(0);
    count(0); // again, since the first count created the table
    for (int round = 1; round < ROUNDS; round++) {
      letExpire(worker, prefix);
      // Objects that live for a while are part of the previous count, too.
      countAtRest(round, round == ROUNDS - 1 ? limit : Duration.ofSeconds(1));
    }
    Map<String, Long> grown = grownSinceTheFirst(ROUNDS - 1);
    int addedThreads =
        UseManyNames.threadsAtRest(threads + UseManyNames.MAX_ADDED_THREADS) - threads;
    return addedThreads + " " + (objects.isEmpty() ? NOT_COUNTED : grown);
  }

  private static void letExpire(Worker worker, String prefix) throws Exception {
    List<Lease> leases =
        UseManyNames.forEach(LEASES, i -> renewed(worker.client().lock(prefix + "-" + i)));
    for (Lease lease : leases) {
      var unused = lease.onLoss().get(1, TimeUnit.MINUTES);
    }
  }

  /** Acquires, and renews once. Repeats the acquisition if its answer came after the TTL. */
  private static Lease renewed(DistributedLock lock) throws Exception {
    Lease lease = RuleTest.answer(ACQUIRE_TIMEOUT, lock::acquire);
    try {
      lease.renew();
    } catch (LockException e) {
      // the machine or the store was too slow
    }
    return lease;
  }

  /** Counts until no class has grown, or the limit has passed. */
  private void countAtRest(int round, Duration limit) {
    RuleTest.poll(
        limit,
        Duration.ofMillis(200),
        () -> {
          count(round);
          return grownSinceTheFirst(round).isEmpty();
        });
  }

  /** {@return the classes that grew in every round, with the growth of the last} */
  private Map<String, Long> grownSinceTheFirst(int last) {
    Map<String, Long> grown = grownIn(last);
    for (int round = 1; round < last; round++) {
      grown.keySet().retainAll(grownIn(round).keySet());
    }
    return grown;
  }

  private Map<String, Long> grownIn(int round) {
    Map<String, Long> grown = new TreeMap<>();
    objects.forEach(
        (type, counts) -> {
          long growth = counts[round] - counts[round - 1];
          if (growth >= LEASES * 3 / 4 && !isOfTheJdksCollections(type)) {
            grown.put(type, growth);
          }
        });
    return grown;
  }

  /** Collections that grow alone prove nothing: drivers use them as caches per connection. */
  private static boolean isOfTheJdksCollections(String type) {
    return type.startsWith("java.util.") || type.startsWith("[");
  }

  /** Counts reachable objects, if this JVM can. */
  private void count(int round) {
    try {
      String histogram =
          (String)
              ManagementFactory.getPlatformMBeanServer()
                  .invoke(
                      new ObjectName("com.sun.management:type=DiagnosticCommand"),
                      "gcClassHistogram",
                      new Object[] {new String[0]},
                      new String[] {String[].class.getName()});
      objects.values().forEach(counts -> counts[round] = 0);
      for (String line : histogram.lines().toList()) {
        // "   1:   26217   2214024  [B (java.base@17.0.15)"
        String[] columns = BLANKS.split(line.strip());
        if (columns.length >= 4 && columns[0].endsWith(":")) {
          objects.computeIfAbsent(columns[3], type -> new long[ROUNDS])[round] +=
              Long.parseLong(columns[1]);
        }
      }
    } catch (JMException e) {
      // not HotSpot; the result reports it
    }
  }
}
