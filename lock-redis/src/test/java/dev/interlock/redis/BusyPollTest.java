package dev.interlock.redis;

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
    assertEquals(50, read(poll(2)));
    assertEquals(1, replies.reads);
  }

  @Test
  void pollsRarelyAfterPollingInVain() throws Exception {
    BusyPoll poll = poll(2);
    int vain = 0;
    for (int i = 0; i < 1 + 2 + 4 + 8 + 16 + 32 + 64 + 64; i++) {
      vain += read(poll) > 0 ? 1 : 0;
    }
    assertEquals(8, vain);
  }

  @Test
  void pollsAgainOnceAReplyHasComeSoon() throws Exception {
    BusyPoll poll = poll(2);
    assertTrue(read(poll) > 0);
    replies.arrivesAtPoll = 1;
    assertEquals(0, read(poll));
    assertEquals(1, read(poll));
    assertEquals(1, read(poll));
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
