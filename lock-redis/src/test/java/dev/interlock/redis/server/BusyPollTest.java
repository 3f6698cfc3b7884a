package dev.interlock.redis.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class BusyPollTest {

  private final AtomicInteger reading = new AtomicInteger();
  private final Replies replies = new Replies();
  private long now;

  @Test
  void pollsUntilThereIsAReply() throws Exception {
    BusyPoll poll = poll(2);
    replies.arrivesAtPoll = 7;
    assertEquals(7, read(poll));
    assertEquals(7, read(poll));
    assertEquals(0, reading.get());
  }

  @Test
  void sleepsIfNoReplyComesSoon() throws Exception {
    assertEquals(75, read(poll(2)));
    assertEquals(1, replies.reads);
  }

  @Test
  void pollsRarelyAfterPollingInVain() throws Exception {
    assertEquals(10, readsThatPoll(poll(2)));
  }

  @Test
  void pollsRarelyIfAnAwakeServerIsSlow() throws Exception {
    replies.arrivesAtPoll = 100;
    assertEquals(17, readsThatPoll(poll(2)));
  }

  @Test
  void pollsForLongerWhileTheServerMayBeAsleep() throws Exception {
    BusyPoll poll = poll(2);
    assertEquals(75, read(poll));
    replies.arrivesAtPoll = 100;
    assertEquals(0, read(poll));
    assertEquals(100, read(poll)); // the server was woken
    replies.arrivesAtPoll = 30; // and is awake
    for (int i = 0; i < 10; i++) {
      assertEquals(30, read(poll));
    }
    replies.arrivesAtPoll = Integer.MAX_VALUE;
    assertEquals(75, read(poll));
    assertEquals(0, read(poll)); // one, not three, as replies came soon
    assertEquals(150, read(poll));
  }

  @Test
  void doesNotTakeTheRestOfAReplyForAReplyThatCameSoon() throws Exception {
    BusyPoll poll = poll(2);
    int polled = 0;
    for (int i = 0; i < 100; i++) {
      replies.arrivesAtPoll = 100;
      polled += read(poll) > 1 ? 1 : 0;
      replies.arrivesAtPoll = 1;
      read(poll);
    }
    assertTrue(polled < 20, polled + " of 100 replies");
  }

  @Test
  void leavesProcessorsToOthers() throws Exception {
    assertEquals(0, read(poll(1)));
    reading.set(1); // another thread reads
    assertEquals(0, read(poll(2)));
    assertEquals(2, replies.reads);
    assertEquals(1, reading.get());
  }

  private BusyPoll poll(int processors) {
    return new BusyPoll(reading, () -> now, processors);
  }

  /** Returns how many of 767 reads polled. */
  private int readsThatPoll(BusyPoll poll) throws IOException {
    int polled = 0;
    for (int i = 0; i < 1 + 2 + 4 + 8 + 16 + 32 + 64 + 128 + 256 + 256; i++) {
      polled += read(poll) > 0 ? 1 : 0;
    }
    return polled;
  }

  /** Returns how many times it polled. */
  private int read(BusyPoll poll) throws IOException {
    replies.polls = 0;
    assertEquals(1, poll.read(replies, new byte[1], 0, 1));
    return replies.polls;
  }

  /** Each poll takes a microsecond. */
  private final class Replies extends InputStream {
    int arrivesAtPoll = Integer.MAX_VALUE;
    int polls;
    int reads;

    @Override
    public int available() {
      now += 1000;
      return ++polls >= arrivesAtPoll ? 1 : 0;
    }

    @Override
    public int read() {
      throw new AssertionError("replies are read into arrays");
    }

    @Override
    public int read(byte[] bytes, int offset, int length) {
      reads++;
      return 1;
    }
  }
}
