package dev.interlock.internal;

import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.Overloads;
import dev.interlock.spi.TimeSource;
import java.util.concurrent.Callable;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

class CallSitesTest {

  private static final int LATER = 200 * CallSites.SAMPLING_INTERVAL;

  private final CallSites sites = new CallSites(Platform.on(TimeSource.system()));

  private int recorded(String name, int acquisitions) {
    int count = 0;
    for (int i = 0; i < acquisitions; i++) {
      if (sites.sample(name) != null) {
        count++;
      }
    }
    return count;
  }

  @Test
  void theFirstAcquisitionsOfANameAreAllRecorded() {
    for (int i = 0; i < CallSites.RECORDED_AT_FIRST; i++) {
      assertNotNull(sites.sample("a"));
    }
    recorded("a", LATER);
    for (int i = 0; i < CallSites.RECORDED_AT_FIRST; i++) {
      assertNotNull(sites.sample("b"), "the acquisitions of one name count for another");
    }
  }

  @Test
  void acquisitionsAtTheSamePlaceShareOneSite() {
    Object first = null;
    for (int i = 0; i < CallSites.RECORDED_AT_FIRST; i++) {
      Object site = here();
      assertTrue(first == null || first == site);
      first = site;
    }
  }

  private Object here() {
    return sites.sample("a");
  }

  @Test
  void sitesInMethodsOfOneNameAreDistinct() throws Exception {
    Object supplied = Overloads.call((Supplier<Object>) this::here);
    Object called = Overloads.call((Callable<Object>) this::here);
    assertNotSame(supplied, called);
  }

  @Test
  void laterAcquisitionsAreSampled() {
    recorded("a", CallSites.RECORDED_AT_FIRST);
    int count = recorded("a", LATER);
    // About 200 are expected; a deviation this large has a chance of less than one in a million.
    assertTrue(count > 100 && count < 300, () -> "recorded " + count);
  }

  @Test
  void allAreRecordedOnceALeaseOfTheNameWasAbandoned() {
    recorded("a", LATER);
    sites.recordAll("a");
    for (int i = 0; i < LATER; i++) {
      assertNotNull(sites.sample("a"));
    }
  }
}
