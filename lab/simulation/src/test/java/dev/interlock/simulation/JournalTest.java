package dev.interlock.simulation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import dev.interlock.simulation.machine.Failure;
import dev.interlock.simulation.machine.Machine;
import dev.interlock.simulation.machine.Scheduler;
import dev.interlock.simulation.oracle.Held;
import dev.interlock.simulation.oracle.Journal;
import dev.interlock.spi.Share;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What the journal makes of two leases of a name that are of different kinds. */
class JournalTest {

  private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

  /** A client that was stopped before its acquisition returned may get a lease that is over. */
  @Test
  void aLeaseThatWasOverWhenItWasGrantedIsHeldTogetherWithNoOther() {
    assertNull(failure(Share.WRITE, 0));
    assertNull(failure(Share.READ, 0));
  }

  @Test
  void leasesOfDifferentKindsThatAreValidTogetherBreakARule() {
    Failure failure = failure(Share.READ, SECOND);
    assertNotNull(failure);
    assertEquals("KIND", failure.rule());
  }

  /**
   * An exclusive lease is valid for five seconds, and another one is granted after two.
   *
   * @param valid for how long the other one is valid
   */
  private static @Nullable Failure failure(Share other, long valid) {
    Scheduler scheduler = new Scheduler(new SplittableRandom(1), TimeUnit.MINUTES.toNanos(1));
    Journal journal = new Journal(scheduler, SECOND, SECOND, held -> Journal.NEVER, false, false);
    Machine first = machine(scheduler, "client-1");
    Machine second = machine(scheduler, "client-2");
    long start = scheduler.now();
    journal.granted(first, "a", Share.EXCLUSIVE, 0, start, null).extend(start + 5 * SECOND);
    scheduler.after(
        2 * SECOND,
        () -> {
          Held late = journal.granted(second, "a", other, 0, start, null);
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
