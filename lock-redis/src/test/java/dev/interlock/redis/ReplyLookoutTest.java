package dev.interlock.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class ReplyLookoutTest {

  private final AtomicInteger reading = new AtomicInteger();
  private final Replies replies = new Replies();
  private long now;

  @Test
  void looksUntilThereIsReply() throws Exception {
    ReplyLookout lookout = lookout(2);
    replies.comesAtLook = 7;
    assertEquals(7, read(lookout));
    assertEquals(7, read(lookout));
    assertEquals(0, reading.get());
  }

  @Test
  void sleepsIfNoReplyComesSoon() throws Exception {
    assertEquals(50, read(lookout(2)));
    assertEquals(1, replies.reads);
  }

  @Test
  void looksRarelyIfThatWasInVain() throws Exception {
    ReplyLookout lookout = lookout(2);
    int vain = 0;
    for (int i = 0; i < 1 + 2 + 4 + 8 + 16 + 32 + 64 + 64; i++) {
      vain += read(lookout) > 0 ? 1 : 0;
    }
    assertEquals(8, vain);
  }

  @Test
  void looksAgainOnceThatHelped() throws Exception {
    ReplyLookout lookout = lookout(2);
    assertTrue(read(lookout) > 0);
    replies.comesAtLook = 1;
    assertEquals(0, read(lookout));
    assertEquals(1, read(lookout));
    assertEquals(1, read(lookout));
  }

  @Test
  void leavesProcessorsToOthers() throws Exception {
    assertEquals(0, read(lookout(1)));
    reading.set(1); // another thread reads
    assertEquals(0, read(lookout(2)));
    assertEquals(2, replies.reads);
    assertEquals(1, reading.get());
  }

  private ReplyLookout lookout(int processors) {
    return new ReplyLookout(reading, () -> now, processors);
  }

  /** Returns how many times it looked. */
  private int read(ReplyLookout lookout) throws IOException {
    replies.looks = 0;
    assertEquals(1, lookout.read(replies, new byte[1], 0, 1));
    return replies.looks;
  }

  /** Each look takes a microsecond. */
  private final class Replies extends InputStream {
    int comesAtLook = Integer.MAX_VALUE;
    int looks;
    int reads;

    @Override
    public int available() {
      now += 1000;
      return ++looks >= comesAtLook ? 1 : 0;
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
