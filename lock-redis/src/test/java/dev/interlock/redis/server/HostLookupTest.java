package dev.interlock.redis.server;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.InterruptedIOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A resolver that hangs keeps nobody for longer than a request may take. */
class HostLookupTest {

  private final CountDownLatch answer = new CountDownLatch(1);
  private final AtomicInteger asked = new AtomicInteger();
  private final HostLookup lookup =
      new HostLookup(
          host -> {
            asked.incrementAndGet();
            awaitAnswer();
            if (host.startsWith("unknown")) {
              throw new UnknownHostException(host);
            }
            return InetAddress.getAllByName("127.0.0.1");
          });

  private void awaitAnswer() {
    try {
      answer.await();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @AfterEach
  void endLookups() {
    answer.countDown();
  }

  @Test
  void whoeverHasNoTimeLeftGivesUpAndTheNextOneDoesNotAskAgain() throws Exception {
    for (int i = 0; i < 2; i++) {
      UnknownHostException e =
          assertThrows(UnknownHostException.class, () -> lookup.addresses("redis.example", 20));
      assertTrue(e.getMessage().contains("not resolved in time"), e::getMessage);
    }
    assertEquals(1, asked.get());
    answer.countDown();
    assertArrayEquals(
        InetAddress.getAllByName("127.0.0.1"), lookup.addresses("redis.example", 60_000));
  }

  @Test
  void anInterruptEndsTheWaitAndIsKept() {
    Thread.currentThread().interrupt();
    assertThrows(
        InterruptedIOException.class, () -> lookup.addresses("redis.example", Long.MAX_VALUE));
    assertTrue(Thread.interrupted());
  }

  @Test
  void aNameThatDoesNotExistIsReported() {
    answer.countDown();
    assertThrows(UnknownHostException.class, () -> lookup.addresses("unknown.example", 60_000));
  }

  @Test
  void anAddressIsNotLookedUp() throws Exception {
    assertEquals("127.0.0.1", lookup.addresses("127.0.0.1", 0)[0].getHostAddress());
    assertEquals(0, asked.get());
  }
}
