package dev.interlock.storm.workers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.storm.workers.GuardedStore.Writes;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

class GuardedStoreTest {

  @Test
  void aStaleWriteIsRefusedByItsTokenAndDoesDamageWithoutOne() throws Exception {
    try (GuardedStore store = GuardedStore.start();
        GuardedStore.Connection stale = new GuardedStore.Connection(store.port());
        GuardedStore.Connection current = new GuardedStore.Connection(store.port())) {
      long read = stale.read("a", 64).orElseThrow();
      long unguarded = stale.readUnguarded("a");
      for (int i = 0; i < 3; i++) {
        long value = current.read("a", 128).orElseThrow();
        assertTrue(current.write("a", 128, value + 1));
        current.writeUnguarded("a", current.readUnguarded("a") + 1);
      }

      assertFalse(stale.write("a", 64, read + 1));
      stale.writeUnguarded("a", unguarded + 1);
      assertEquals(OptionalLong.empty(), stale.read("a", 64));

      assertEquals(new Writes(3, 2, 0, 4, 3), store.writes());
    }
  }

  @Test
  void aWriteBetweenTheReadOfItsSuccessorAndItsWriteIsRefused() throws Exception {
    try (GuardedStore store = GuardedStore.start();
        GuardedStore.Connection stale = new GuardedStore.Connection(store.port());
        GuardedStore.Connection current = new GuardedStore.Connection(store.port())) {
      long read = stale.read("a", 64).orElseThrow();
      long value = current.read("a", 128).orElseThrow();
      assertFalse(stale.write("a", 64, read + 1));
      assertTrue(current.write("a", 128, value + 1));
      assertEquals(new Writes(1, 1, 0, 0, 0), store.writes());
    }
  }

  @Test
  void namesAreIndependent() throws Exception {
    try (GuardedStore store = GuardedStore.start();
        GuardedStore.Connection connection = new GuardedStore.Connection(store.port())) {
      assertEquals(OptionalLong.of(0), connection.read("a", 1_000));
      assertEquals(OptionalLong.of(0), connection.read("b", 1));
    }
  }

  /** A token that is used twice does not protect. */
  @Test
  void lostGuardedWritesAreCounted() throws Exception {
    try (GuardedStore store = GuardedStore.start();
        GuardedStore.Connection one = new GuardedStore.Connection(store.port());
        GuardedStore.Connection other = new GuardedStore.Connection(store.port())) {
      long first = one.read("a", 7).orElseThrow();
      long second = other.read("a", 7).orElseThrow();
      assertTrue(one.write("a", 7, first + 1));
      assertTrue(other.write("a", 7, second + 1));
      assertEquals(1, store.writes().guardedLost());
    }
  }
}
