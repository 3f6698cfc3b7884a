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
 * Lets leases of many names expire, in three rounds, each after a renewal. Returns how many more
 * threads there are, and the classes whose number of objects grew in each round by about the number
 * of leases.
 *
 * <p>The first round loads classes and fills caches. Objects are counted instead of bytes: a
 * client's heap varies by more than what so few leases can leave.
 */
final class ManyLeasesThatExpire implements RemoteTask {
  static final int LEASES = 300;

  /** The result on a JVM that does not count its objects by class. */
  static final String NOT_COUNTED = "not counted";

  private static final int ROUNDS = 3;
  private static final Duration LATE_ANSWERS = Duration.ofSeconds(30);
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
    count(0); // again, now that the table itself exists
    for (int round = 1; round < ROUNDS; round++) {
      letExpire(worker, prefix);
      // Objects that live for longer than a moment are in the count before, too.
      countAtRest(round, round == ROUNDS - 1 ? limit : Duration.ofSeconds(1));
    }
    Map<String, Long> left = grownSinceTheFirst(ROUNDS - 1);
    int more = UseManyNames.threadsAtRest(threads + UseManyNames.MORE_THREADS) - threads;
    return more + " " + (objects.isEmpty() ? NOT_COUNTED : left);
  }

  private static void letExpire(Worker worker, String prefix) throws Exception {
    List<Lease> leases =
        UseManyNames.forEach(LEASES, i -> renewed(worker.client().lock(prefix + "-" + i)));
    for (Lease lease : leases) {
      var unused = lease.onLoss().get(1, TimeUnit.MINUTES);
    }
  }

  /** Asks again if the answer came after the TTL, from a busy machine or a slow store. */
  private static Lease renewed(DistributedLock lock) throws Exception {
    Lease lease = RuleTest.answer(LATE_ANSWERS, lock::acquire);
    try {
      lease.renew();
    } catch (LockException e) {
      // a busy machine was late, or the store
    }
    return lease;
  }

  /** Counts until nothing has grown, or the limit has passed. */
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
          long more = counts[round] - counts[round - 1];
          if (more >= LEASES * 3 / 4 && !isOfTheJdksCollections(type)) {
            grown.put(type, more);
          }
        });
    return grown;
  }

  /** Growth in these alone proves nothing: drivers, for instance, cache per connection in them. */
  private static boolean isOfTheJdksCollections(String type) {
    return type.startsWith("java.util.") || type.startsWith("[");
  }

  /** Counts reachable objects; nothing if this JVM does not support it. */
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
      // not HotSpot; the result says so
    }
  }
}
