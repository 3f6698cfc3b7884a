package dev.interlock.etcd;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import dev.interlock.spi.Share;
import dev.interlock.spi.TimeSource;
import dev.interlock.spi.WakeUp;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.Watch;
import io.etcd.jetcd.api.Event;
import io.etcd.jetcd.api.ResponseHeader;
import io.etcd.jetcd.watch.WatchResponse;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Tests the polls of a waiter, because etcd may serve its watch only ten times a second. */
class QueueWatchTest {

  private static final Duration USUAL = Duration.ofSeconds(10);

  /** The time for which etcd may delay a watch that begins in the past. */
  private static final Duration TICK = Duration.ofMillis(100);

  private static final LockKeys KEYS = LockKeys.of("interlock", "a");

  private final WakeUp wakeUp = new WakeUp(TimeSource.system());
  private final KeyValue first = entry(1);
  private final KeyValue second = entry(2);
  private final QueueWatch watch =
      new QueueWatch(
          EtcdClient.of(client()),
          KeyRange.ofKey(ByteSequence.EMPTY),
          ahead(first, second),
          wakeUp);

  private static KeyValue entry(int number) {
    return new KeyValue(
        io.etcd.jetcd.api.KeyValue.newBuilder()
            .setKey(ByteString.copyFrom(KEYS.entry(Share.WRITE, 1, number).getBytes()))
            .setCreateRevision(number)
            .build(),
        ByteSequence.EMPTY);
  }

  private static EntriesAhead ahead(KeyValue... entries) {
    return EntriesAhead.of(Share.READ, KEYS, List.of(entries), 3);
  }

  private static Client client() {
    Watch.Watcher watcher = fake(Watch.Watcher.class, null);
    return fake(Client.class, fake(Watch.class, watcher));
  }

  /** Returns a proxy all of whose methods return the same value. */
  private static <T> T fake(Class<T> type, Object result) {
    Object instance =
        Proxy.newProxyInstance(
            type.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> result);
    return type.cast(instance);
  }

  private void begins(long after) {
    watch.onNext(
        new WatchResponse(
            io.etcd.jetcd.api.WatchResponse.newBuilder()
                .setHeader(ResponseHeader.newBuilder().setRevision(after))
                .setCreated(true)
                .build()));
  }

  private void deleted(KeyValue entry) {
    watch.onNext(
        new WatchResponse(
            io.etcd.jetcd.api.WatchResponse.newBuilder()
                .addEvents(
                    Event.newBuilder()
                        .setType(Event.EventType.DELETE)
                        .setKv(
                            io.etcd.jetcd.api.KeyValue.newBuilder()
                                .setKey(ByteString.copyFrom(entry.getKey().getBytes()))))
                .build()));
  }

  @Test
  void theLastDeletionSignals() {
    deleted(first);
    assertFalse(wakeUp.consume());
    deleted(second);
    assertTrue(wakeUp.consume());
  }

  /** The first key was deleted before the watch began, the second after the waiter's read. */
  @Test
  void aDeletionBetweenAReadAndItsReportSignals() {
    deleted(second);
    assertFalse(wakeUp.consume());
    watch.update(ahead(second));
    assertTrue(wakeUp.consume());
    watch.update(ahead(second));
    assertFalse(wakeUp.consume(), "one signal is enough");
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
  void aWatchThatMayBeginInThePastIsReplacedByPollsUntilItIsServed() {
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
