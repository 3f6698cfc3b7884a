package dev.interlock.etcd;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.spi.Share;
import dev.interlock.spi.TimeSource;
import dev.interlock.spi.WakeUp;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.Watch;
import io.etcd.jetcd.api.ResponseHeader;
import io.etcd.jetcd.watch.WatchResponse;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** When a waiter polls because etcd may serve its watch only ten times a second. */
class QueueWatchTest {

  private static final Duration USUAL = Duration.ofSeconds(10);

  /** How long etcd may let a watch wait that begins in the past. */
  private static final Duration TICK = Duration.ofMillis(100);

  private final QueueWatch watch =
      new QueueWatch(
          EtcdClient.of(client()),
          KeyRange.ofKey(ByteSequence.EMPTY),
          EntriesAhead.of(Share.EXCLUSIVE, LockKeys.of("interlock", "a"), List.of(), 1),
          new WakeUp(TimeSource.system()));

  private static Client client() {
    Watch.Watcher watcher = fake(Watch.Watcher.class, null);
    return fake(Client.class, fake(Watch.class, watcher));
  }

  /** Something all of whose methods give the same. */
  private static <T> T fake(Class<T> type, Object result) {
    Object made =
        Proxy.newProxyInstance(
            type.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> result);
    return type.cast(made);
  }

  private void begins(long after) {
    watch.onNext(
        new WatchResponse(
            io.etcd.jetcd.api.WatchResponse.newBuilder()
                .setHeader(ResponseHeader.newBuilder().setRevision(after))
                .setCreated(true)
                .build()));
  }

  @Test
  void aWatchThatIsNotInPlaceIsWaitedFor() {
    assertEquals(USUAL, watch.pollInterval(11, USUAL));
  }

  @Test
  void aWatchInPlaceBeforeAnythingElseWasWrittenIsTrusted() {
    begins(10);
    assertEquals(USUAL, watch.pollInterval(10, USUAL));
  }

  @Test
  void oneThatMayHaveBegunInThePastIsMadeUpForUntilItIsServed() {
    begins(10);
    Duration looked = Duration.ZERO;
    int looks = 0;
    Duration next = watch.pollInterval(11, USUAL);
    assertTrue(next.compareTo(Duration.ofMillis(10)) < 0, "no look for " + next);
    while (!next.equals(USUAL)) {
      looked = looked.plus(next);
      looks++;
      next = watch.pollInterval(12, USUAL);
    }
    assertTrue(looked.compareTo(TICK) > 0, "looked no longer than " + looked);
    assertTrue(looks <= 5, looks + " looks");
    assertEquals(USUAL, watch.pollInterval(13, USUAL));
  }

  @Test
  void noWaiterPollsLessOftenThanUsual() {
    begins(10);
    Duration usual = Duration.ofMillis(1);
    assertEquals(usual, watch.pollInterval(11, usual));
  }
}
