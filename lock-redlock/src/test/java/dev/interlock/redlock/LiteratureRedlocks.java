package dev.interlock.redlock;

import dev.interlock.BackendInfo;
import dev.interlock.Capability;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.Claim;
import dev.interlock.spi.ClientsWithTimeSource;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.TimeSource;
import dev.interlock.tck.specimen.ForwardingBackend;
import dev.interlock.tck.specimen.Specimen;
import dev.interlock.tck.specimen.StoppableClock;
import java.util.List;
import java.util.Set;

/** Redlocks that leave out a step of the algorithm, or add a token that is none. */
final class LiteratureRedlocks {

  private static final String REASON = "these concern the fault";

  private LiteratureRedlocks() {}

  static List<Specimen> all() {
    return List.of(
        Specimen.fromLiterature("no look at the time after the vote", "many Redlock libraries")
            .fault("A majority of votes counts as a lock, however long the votes took.")
            .onlyRules(REASON, "EXCL-04", "EXCL-06", "LEASE-01")
            .harness(TimeNotLookedAt::new)
            .refusedBy("EXCL-04", "took longer than its TTL")
            .build(),
        Specimen.fromLiterature("minority left behind", "many Redlock libraries")
            .fault("An attempt without a majority leaves its votes until they expire.")
            .onlyRules(REASON, "EXCL-06", "LEASE-01", "WAIT-03", "WAIT-09")
            .harness(MinorityLeftBehind::new)
            .refusedBy("WAIT-03", "the waiter did not get the lock after the release")
            .refusedBy("WAIT-09", "waiters were not served")
            .build(),
        Specimen.fromLiterature("highest of the counters", "proposals for fencing Redlock")
            .fault(
                "The token is the highest count of a majority, and is not written to the other nodes.")
            .onlyRules(REASON, "EXCL-01", "EXCL-06", "FENCE-01", "FENCE-03", "FENCE-06")
            .harness(HighestOfTheCounters::new)
            .refusedBy("EXCL-01", "token")
            .refusedBy("FENCE-01", "token")
            .build());
  }

  static final class TimeNotLookedAt extends RedlockSpecimen {
    @Override
    LockBackend backend(String uri, BackendContext context) {
      return new TextbookRedlock(uri, context);
    }

    /** The engine looks at the time, too; so for both the clock stands still during a vote. */
    @Override
    public LockClient open(String uri, LockOptions options, TimeSource time) {
      StoppableClock clock = new StoppableClock(time);
      return ClientsWithTimeSource.using(
          context ->
              new ForwardingBackend(backend(uri, context)) {
                @Override
                public Attempt tryAcquire(Claim claim, Deadline deadline)
                    throws InterruptedException {
                  long askedAt = time.nanoTime();
                  Attempt attempt = super.tryAcquire(claim, deadline);
                  clock.setBackTo(askedAt);
                  return attempt;
                }
              },
          options,
          clock);
    }
  }

  static final class MinorityLeftBehind extends RedlockSpecimen {
    @Override
    LockBackend backend(String uri, BackendContext context) {
      return new TextbookRedlock(uri, context) {
        @Override
        void withdraw(Claim claim) {}

        /**
         * Long enough for a waiter to find the nodes free one at a time, so that a minority is left
         * behind at every handoff, and not by chance.
         */
        @Override
        long releaseStepMillis() {
          return 200;
        }
      };
    }
  }

  static final class HighestOfTheCounters extends RedlockSpecimen {
    private static final BackendInfo INFO = TextbookRedlock.info(Set.of(Capability.FENCING));

    @Override
    LockBackend backend(String uri, BackendContext context) {
      return new TextbookRedlock(uri, context) {
        @Override
        long token(List<Long> counts) {
          return counts.stream().mapToLong(Long::longValue).max().orElseThrow();
        }

        @Override
        public BackendInfo info() {
          return INFO;
        }
      };
    }
  }
}
