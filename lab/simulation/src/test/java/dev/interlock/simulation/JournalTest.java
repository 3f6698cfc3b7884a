package dev.interlock.simulation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import dev.interlock.simulation.machine.Failure;
import dev.interlock.simulation.machine.Machine;
import dev.interlock.simulation.machine.Scheduler;
import dev.interlock.simulation.oracle.Journal;
import dev.interlock.simulation.oracle.ObservedLease;
import dev.interlock.spi.Share;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** The journal checks two leases of a name that are of different kinds. */
class JournalTest {

  private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

  /** A client that was stopped before its acquisition returned may get a lease that has ended. */
  @Test
  void aLeaseThatHadEndedAtItsGrantWasNeverHeld() {
    assertNull(failure(Share.WRITE, 0));
    assertNull(failure(Share.READ, 0));
  }

  @Test
  void leasesOfDifferentKindsMustNotBeValidTogether() {
    Failure failure = failure(Share.READ, SECOND);
    assertNotNull(failure);
    assertEquals("KIND", failure.rule());
  }

  /**
   * Returns the failure when another lease is granted two seconds after an exclusive one that is
   * valid for five.
   *
   * @param valid the validity of the other lease
   */
  private static @Nullable Failure failure(Share other, long valid) {
    Scheduler scheduler = new Scheduler(new SplittableRandom(1), TimeUnit.MINUTES.toNanos(1));
    Journal journal = new Journal(scheduler, SECOND, SECOND, held -> Journal.NEVER, false, false);
    Machine first = machine(scheduler, "client-1");
    Machine second = machine(scheduler, "client-2");
    long start = scheduler.now();
    journal.recordGrant(first, "a", Share.EXCLUSIVE, 0, start, null).extend(start + 5 * SECOND);
    scheduler.after(
        2 * SECOND,
        () -> {
          ObservedLease late = journal.recordGrant(second, "a", other, 0, start, null);
          if (valid > 0) {
            late.extend(scheduler.now() + valid);
          }
          journal.check(false, false);
          scheduler.finish();
        });
    scheduler.run();
    return scheduler.failure();
  }

  private static Machine machine(Scheduler scheduler, String name) {
    return new Machine(scheduler, name, new SplittableRandom(1), 1, 0, true, 9);
  }
}
