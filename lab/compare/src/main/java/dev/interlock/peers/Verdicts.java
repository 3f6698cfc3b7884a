package dev.interlock.peers;

import dev.interlock.tck.report.RuleResult.Outcome;
import java.util.List;
import java.util.Locale;

/** What a result of the kit says about a library. */
final class Verdicts {
  /** Kinds of verdicts, locks, rules and reasons. The first line that applies counts. */
  private static final String REASONS =
      """
      not offered|RLock RFencedLock RedLock SpringRedis SpringJdbc SpringInterlock Curator|\
      EXCL-06 EXCL-07 LEASE-08|the lock belongs to a thread and is reentrant, as documented; \
      the adapter gives each lease a thread of its own
      not offered|Curator|EXCL-02 API-03|\
      a lock has a path that the program chooses, and the adapter encodes the name
      not offered|ShedLockJdbc ShedLockInterlock|WAIT-06 WAIT-07 FAIR-01 FAIR-02|\
      a wait for a lock that is held
      not offered|ShedLockJdbc ShedLockInterlock|LEASE-09|java.util.concurrent.locks.Lock
      not offered|Jetcd|WAIT-01|\
      an attempt that does not wait; the adapter gives up a wait after two seconds
      not tested|RLock RFencedLock RedLock|MULTI-01 MULTI-02 MULTI-03 API-01|\
      RedissonMultiLock, which is not adapted
      not tested|Curator|MULTI-01 MULTI-02 MULTI-03 API-01|\
      InterProcessMultiLock, which is not adapted
      not tested|SpringRedis SpringJdbc SpringInterlock|API-04 API-05|\
      the kit opens the client by its URI, without the registry
      not tested|SpringRedis SpringJdbc SpringInterlock|RW-01 SEM-01|\
      the registry has exclusive locks only
      not tested|ShedLockJdbc ShedLockInterlock|API-04 API-05|\
      the kit opens the client by its URI, without the provider
      not tested|ShedLockJdbc ShedLockInterlock|RW-01 SEM-01|the provider has exclusive locks only
      no verdict|RLock RFencedLock|EXCL-05|there were never two holders: the orphan ends with its \
      TTL, and that its client undoes it earlier is Interlock's own
      no verdict|RLock RFencedLock|EXCL-08|nobody else's lock was touched: the library throws the \
      failure of a single request, where the kit expects that it is repeated
      no verdict|SpringRedis|FAULT-05|nobody else's lock was touched: the library throws the \
      failure of a single request, where the kit expects that it is repeated
      no verdict|RLock RFencedLock|FAIR-02|\
      the waiter whose client was closed went on waiting, for which see REL-05
      no verdict|RLock|WAIT-08|there is no program yet that shows it by the library alone
      no verdict|RLock|WAIT-09|\
      seen in one run of three; there is no program yet that shows it by the library alone
      no verdict|RedLock Jetcd|WAIT-06|there is no program yet that shows it by the library alone
      no verdict|RedLock|FAIR-02|\
      the waiter that was to leave ignored its interrupt, for which see JUC-03
      no verdict|RedLock|WAIT-02|\
      an attempt that reaches no server returns false, for which see API-02
      no verdict|RedLock|WAIT-10|Redisson does not create a client while its server is out of reach
      no verdict|RedLock|REL-04|what remains in memory has not been examined
      no verdict|SpringRedis SpringJdbc|EXCL-01 EXCL-05 FENCE-01|exclusion held; the test did not \
      go on since an expired lock stays locked in its own JVM
      no verdict|SpringRedis SpringJdbc|WAIT-06|\
      the request time-out of 2 s, which the adapter sets, ended the wait with an exception
      no verdict|SpringRedis|REL-04|the registry keeps up to 100,000 locks by their names, as \
      setCacheCapacity documents; in one run a request had no answer within 2 s
      no verdict|SpringJdbc|REL-04|\
      the registry keeps up to 100,000 locks by their names, as setCacheCapacity documents
      no verdict|SpringRedis|JUC-01 JUC-02|\
      unlock() throws IllegalStateException, which the interface allows
      no verdict|SpringInterlock|LEASE-03|the client knows the validity, but Spring's interface \
      has no query of it, so the adapter takes a renewed lock for held
      no verdict|SpringInterlock|REL-01 REL-02|unlock() returns and the client repeats the release \
      in the background, of which Spring's interface does not tell
      no verdict|SpringInterlock|JUC-04|\
      the losses are reported, by the exceptions that Spring's registries throw
      no verdict|ShedLockJdbc|EXCL-02|\
      the table of ShedLock's documents has names of at most 64 characters
      no verdict|ShedLockJdbc ShedLockInterlock|REL-01|\
      unlock() does not say whether the lock was still held
      no verdict|ShedLockInterlock|LEASE-03|the client knows the validity, but ShedLock's \
      interface has no query of it, so the adapter takes a lock that is kept alive for held
      no verdict|ShedLockInterlock|LEASE-08|\
      the client extends with up to 64 threads, however many leases there are
      no verdict|Curator|LEASE-09|the adapter's thread keeps the mutex; a view is not offered
      no verdict|Curator|FAULT-02|the time that a call may take is that of the retry policy
      no verdict|Jetcd|EXCL-03|the kit renews the lease of etcd, which goes on when somebody \
      deletes the lock's key
      no verdict|Jetcd|LEASE-05|the kit expects an exception that only Interlock has
      no verdict|Jetcd|LEASE-09|the adapter keeps the lease; a view is not offered
      no verdict|Jetcd|REL-04|which threads these are has not been examined
      no verdict|any|FAIR-01|the test reads the remaining validity, which is not offered
      no verdict|any|LEASE-03|\
      no library keeps a validity by the local clock, which the rule is about
      no verdict|any|LEASE-04|the kit expects an exception that only Interlock has, or ends the \
      validity by the local clock while the store still keeps the lock
      no verdict|any|LEASE-08|the threads are those of the adapter
      no verdict|any|REL-01|a release that did not reach the store throws, and leaves it to the \
      program to try again; outcomes of releases are Interlock's own
      no verdict|any|REL-02|a release that did not reach the store throws, and leaves it to the \
      program to try again; the lock then ends with its TTL or session
      no verdict|any|REL-05|what closing a client does to its locks is Interlock's own
      no verdict|any|JUC-04|the kit expects an exception that only Interlock has
      no verdict|any|WAIT-02|the libraries throw the failure of a single request; that it is \
      repeated until the time is over is Interlock's own
      """;

  /** Those lines. */
  static final List<Reason> ALL = REASONS.lines().map(Reason::parse).toList();

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

  /**
   * What is known about some rules and locks.
   *
   * @param verdict the verdict; no verdict is one on a failed test only
   * @param locks the {@linkplain PeerHarness#key() keys} of the locks, or {@code any}
   */
  record Reason(Verdict verdict, List<String> locks, List<String> rules) {
    static Reason parse(String line) {
      String[] parts = line.split("\\|", 4);
      Cell cell = Cell.valueOf(parts[0].toUpperCase(Locale.ROOT).replace(' ', '_'));
      return new Reason(
          new Verdict(cell, parts[3]), List.of(parts[1].split(" ")), List.of(parts[2].split(" ")));
    }

    boolean appliesTo(PeerHarness peer, String rule, Outcome outcome) {
      return (locks.contains(peer.key()) || locks.contains("any"))
          && rules.contains(rule)
          && (verdict.cell != Cell.NO_VERDICT || outcome == Outcome.FAILED);
    }
  }

  static Verdict of(PeerHarness peer, String rule, RunResult.Finding found) {
    if (!findings(peer, rule).isEmpty()) {
      return new Verdict(Cell.BROKEN, found.reason());
    }
    return ALL.stream()
        .filter(reason -> reason.appliesTo(peer, rule, found.outcome()))
        .findFirst()
        .map(Reason::verdict)
        .orElseGet(() -> byOutcome(found));
  }

  private static Verdict byOutcome(RunResult.Finding found) {
    return switch (found.outcome()) {
      case PASSED -> new Verdict(Cell.KEPT, "");
      case PARTLY_TESTED -> new Verdict(Cell.PARTLY, found.reason());
      case NOT_OFFERED -> new Verdict(Cell.NOT_OFFERED, found.reason());
      case NOT_TESTED -> new Verdict(Cell.NOT_TESTED, found.reason());
      case NOT_APPLICABLE -> new Verdict(Cell.NOT_APPLICABLE, found.reason());
      case FAILED -> new Verdict(Cell.NO_VERDICT, "not examined yet");
    };
  }

  /** {@return what a rule without a result is} */
  static RunResult.Finding none() {
    return new RunResult.Finding(Outcome.NOT_TESTED, "newer than the last run");
  }
}
