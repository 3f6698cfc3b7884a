package dev.interlock.peers;

import dev.interlock.tck.report.RuleResult.Outcome;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** What a result of the kit says about a library. */
final class Verdicts {
  private static final Map<String, String> OF_ALL =
      Map.ofEntries(
          Map.entry("FAIR-01", "the test reads the remaining validity, which is not offered"),
          Map.entry(
              "LEASE-03",
              "no library keeps a validity by the local clock, which the rule is about"),
          Map.entry(
              "LEASE-04",
              "the kit expects an exception that only Interlock has, or ends the validity by the"
                  + " local clock while the store still keeps the lock"),
          Map.entry("LEASE-08", "the threads are those of the adapter"),
          Map.entry(
              "REL-01",
              "a release that did not reach the store throws, and leaves it to the program to try"
                  + " again; outcomes of releases are Interlock's own"),
          Map.entry(
              "REL-02",
              "a release that did not reach the store throws, and leaves it to the program to try"
                  + " again; the lock then ends with its TTL or session"),
          Map.entry("REL-05", "what closing a client does to its locks is Interlock's own"),
          Map.entry("JUC-04", "the kit expects an exception that only Interlock has"),
          Map.entry(
              "WAIT-02",
              "the libraries throw the failure of a single request; that it is repeated until the"
                  + " time is over is Interlock's own"));

  private static final String EXPIRED_IN_ITS_OWN_JVM =
      "exclusion held; the test did not go on since an expired lock stays locked in its own JVM";
  private static final String CACHE =
      "the registry keeps up to 100,000 locks by their names, as setCacheCapacity documents";
  private static final String FAILED_REQUEST =
      "nobody else's lock was touched: the library throws the failure of a single request, where"
          + " the kit expects that it is repeated";
  private static final String ORPHAN =
      "there were never two holders: the orphan ends with its TTL, and that its client undoes it"
          + " earlier is Interlock's own";
  private static final String WAITS_AFTER_CLOSE =
      "the waiter whose client was closed went on waiting, for which see REL-05";
  private static final String NO_QUERY =
      "the client knows the validity, but Spring's interface has no query of it, so the adapter"
          + " takes a renewed lock for held";
  private static final String SILENT_RELEASE =
      "unlock() returns and the client repeats the release in the background, of which Spring's"
          + " interface does not tell";
  private static final String SILENT_UNLOCK =
      "unlock() does not say whether the lock was still held";
  private static final String BY_URI = "the kit opens the client by its URI, without the registry";
  private static final String EXCLUSIVE = "the registry has exclusive locks only";
  private static final String OWN_TIMEOUT =
      "the request time-out of 2 s, which the adapter sets, ended the wait with an exception";

  private static final Map<String, Map<String, String>> OF_ONE =
      Map.of(
          "RLock",
          Map.of(
              "EXCL-05", ORPHAN,
              "EXCL-08", FAILED_REQUEST,
              "WAIT-08", "there is no program yet that shows it by the library alone",
              "WAIT-09",
                  "seen in one run of three; there is no program yet that shows it by the"
                      + " library alone",
              "FAIR-02", WAITS_AFTER_CLOSE),
          "RFencedLock",
          Map.of(
              "EXCL-05", ORPHAN,
              "EXCL-08", FAILED_REQUEST,
              "FAIR-02", WAITS_AFTER_CLOSE),
          "RedLock",
          Map.of(
              "FAIR-02", "the waiter that was to leave ignored its interrupt, for which see JUC-03",
              "WAIT-02", "an attempt that reaches no server returns false, for which see API-02",
              "WAIT-06", "there is no program yet that shows it by the library alone",
              "WAIT-10", "Redisson does not create a client while its server is out of reach",
              "REL-04", "what remains in memory has not been examined"),
          "SpringRedis",
          Map.of(
              "EXCL-01", EXPIRED_IN_ITS_OWN_JVM,
              "EXCL-05", EXPIRED_IN_ITS_OWN_JVM,
              "FENCE-01", EXPIRED_IN_ITS_OWN_JVM,
              "WAIT-06", OWN_TIMEOUT,
              "FAULT-05", FAILED_REQUEST,
              "REL-04", CACHE + "; in one run a request had no answer within 2 s",
              "JUC-01", "unlock() throws IllegalStateException, which the interface allows",
              "JUC-02", "unlock() throws IllegalStateException, which the interface allows"),
          "SpringJdbc",
          Map.of(
              "EXCL-01", EXPIRED_IN_ITS_OWN_JVM,
              "EXCL-05", EXPIRED_IN_ITS_OWN_JVM,
              "FENCE-01", EXPIRED_IN_ITS_OWN_JVM,
              "WAIT-06", OWN_TIMEOUT,
              "REL-04", CACHE),
          "SpringInterlock",
          Map.of(
              "LEASE-03", NO_QUERY,
              "REL-01", SILENT_RELEASE,
              "REL-02", SILENT_RELEASE,
              "JUC-04",
                  "the losses are reported, by the exceptions that Spring's registries throw"),
          "ShedLockJdbc",
          Map.of(
              "EXCL-02",
              "the table of ShedLock's documents has names of at most 64 characters",
              "REL-01",
              SILENT_UNLOCK),
          "ShedLockInterlock",
          Map.of(
              "LEASE-03",
              "the client knows the validity, but ShedLock's interface has no query of it, so"
                  + " the adapter takes a lock that is kept alive for held",
              "LEASE-08",
              "the client extends with up to 64 threads, however many leases there are",
              "REL-01",
              SILENT_UNLOCK),
          "Curator",
          Map.of(
              "LEASE-09", "the adapter's thread keeps the mutex; a view is not offered",
              "FAULT-02", "the time that a call may take is that of the retry policy"),
          "Jetcd",
          Map.of(
              "EXCL-03",
              "the kit renews the lease of etcd, which goes on when somebody deletes the lock's"
                  + " key",
              "WAIT-06",
              "there is no program yet that shows it by the library alone",
              "LEASE-05",
              "the kit expects an exception that only Interlock has",
              "LEASE-09",
              "the adapter keeps the lease; a view is not offered",
              "REL-04",
              "which threads these are has not been examined"));

  private static final Map<String, String> REDISSON_SETS =
      sets("RedissonMultiLock, which is not adapted");

  private static final String WITHOUT_PROVIDER =
      "the kit opens the client by its URI, without the provider";
  private static final String EXCLUSIVE_PROVIDER = "the provider has exclusive locks only";
  private static final Map<String, String> SHEDLOCK =
      Map.of(
          "API-04", WITHOUT_PROVIDER,
          "API-05", WITHOUT_PROVIDER,
          "RW-01", EXCLUSIVE_PROVIDER,
          "SEM-01", EXCLUSIVE_PROVIDER);

  private static final Map<String, String> SPRING =
      Map.of("API-04", BY_URI, "API-05", BY_URI, "RW-01", EXCLUSIVE, "SEM-01", EXCLUSIVE);

  private static final Map<String, Map<String, String>> NOT_ADAPTED =
      Map.of(
          "RLock", REDISSON_SETS,
          "RFencedLock", REDISSON_SETS,
          "RedLock", REDISSON_SETS,
          "ShedLockJdbc", SHEDLOCK,
          "ShedLockInterlock", SHEDLOCK,
          "SpringRedis", SPRING,
          "SpringJdbc", SPRING,
          "SpringInterlock", SPRING,
          "Curator", sets("InterProcessMultiLock, which is not adapted"));

  private static Map<String, String> sets(String lock) {
    return Map.of("MULTI-01", lock, "MULTI-02", lock, "MULTI-03", lock, "API-01", lock);
  }

  private Verdicts() {}

  /** What a cell of the page says. */
  enum Cell {
    KEPT("kept"),
    PARTLY("kept in part"),
    BROKEN("**broken**"),
    NO_VERDICT("no verdict"),
    NOT_OFFERED("not offered"),
    NOT_TESTED("not tested"),
    NOT_APPLICABLE("–");

    private final String words;

    Cell(String words) {
      this.words = words;
    }

    String words() {
      return words;
    }
  }

  /**
   * A verdict with its reason.
   *
   * @param cell the verdict
   * @param reason why; empty if it goes without saying
   */
  record Verdict(Cell cell, String reason) {}

  /** {@return the findings about a rule and a lock} */
  static List<Finding> findings(PeerHarness peer, String rule) {
    return Finding.all().stream()
        .filter(found -> found.peers().contains(peer.key()) && found.rules().contains(rule))
        .toList();
  }

  static Verdict of(PeerHarness peer, String rule, RunResult.Finding found) {
    if (!findings(peer, rule).isEmpty()) {
      return new Verdict(Cell.BROKEN, found.reason());
    }
    String notOffered = peer.notOffered().get(rule);
    if (notOffered != null) {
      return new Verdict(Cell.NOT_OFFERED, notOffered);
    }
    String notAdapted = NOT_ADAPTED.getOrDefault(peer.key(), Map.of()).get(rule);
    if (notAdapted != null) {
      return new Verdict(Cell.NOT_TESTED, notAdapted);
    }
    return switch (found.outcome()) {
      case PASSED -> new Verdict(Cell.KEPT, "");
      case PARTLY_TESTED -> new Verdict(Cell.PARTLY, found.reason());
      case NOT_OFFERED -> new Verdict(Cell.NOT_OFFERED, found.reason());
      case NOT_TESTED -> new Verdict(Cell.NOT_TESTED, found.reason());
      case NOT_APPLICABLE -> new Verdict(Cell.NOT_APPLICABLE, found.reason());
      case FAILED -> new Verdict(Cell.NO_VERDICT, why(peer, rule));
    };
  }

  /** {@return what a rule without a result is} */
  static RunResult.Finding none() {
    return new RunResult.Finding(Outcome.NOT_TESTED, "newer than the last run");
  }

  private static String why(PeerHarness peer, String rule) {
    return Optional.ofNullable(OF_ONE.getOrDefault(peer.key(), Map.of()).get(rule))
        .or(() -> Optional.ofNullable(OF_ALL.get(rule)))
        .orElse("not examined yet");
  }
}
