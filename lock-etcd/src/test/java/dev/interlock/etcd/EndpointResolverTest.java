package dev.interlock.etcd;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.spi.LockUri;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.etcd.EtcdCluster;
import io.etcd.jetcd.options.GetOption;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** Name servers that hang, fail, or change their answers. */
class EndpointResolverTest {

  private static final Duration LIMIT = Duration.ofSeconds(60);

  @AutoClose private static final EtcdCluster etcd = Testbed.etcd().start();

  private final List<LockUri.Endpoint> endpoints =
      List.of(new LockUri.Endpoint("etcd.test", etcd.leader().port()));
  private final AtomicInteger lookUps = new AtomicInteger();

  private static InetSocketAddress found(LockUri.Endpoint endpoint) {
    return new InetSocketAddress(InetAddress.getLoopbackAddress(), endpoint.port());
  }

  private static void get(EtcdClient client) throws Exception {
    var unused =
        client
            .get(LockKeys.bytes("key"), GetOption.DEFAULT)
            .get(LIMIT.toSeconds(), TimeUnit.SECONDS);
  }

  @Test
  void aHangingLookUpDoesNotBlockTheLastKnownAddress() throws Exception {
    CountDownLatch over = new CountDownLatch(1);
    EndpointResolver resolver =
        new EndpointResolver(
            endpoints,
            endpoint -> {
              if (lookUps.incrementAndGet() > 1) {
                awaitUninterruptibly(over);
              }
              return found(endpoint);
            });
    try (Connector connector = new Connector(resolver, null, null, LIMIT)) {
      try (EtcdClient client = connector.connect()) {
        get(client);
      }
      try (EtcdClient client = connector.connect()) {
        get(client);
      }
      assertEquals(2, lookUps.get());
    } finally {
      over.countDown();
    }
  }

  private static void awaitUninterruptibly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Test
  void aLookUpThatFailsDoesNotForgetTheLastKnownAddress() throws Exception {
    EndpointResolver resolver =
        new EndpointResolver(
            endpoints,
            endpoint ->
                lookUps.incrementAndGet() == 1
                    ? found(endpoint)
                    : InetSocketAddress.createUnresolved(endpoint.host(), endpoint.port()));
    try (Connector connector = new Connector(resolver, null, null, LIMIT)) {
      for (int i = 0; i < 3; i++) {
        try (EtcdClient client = connector.connect()) {
          get(client);
        }
      }
      assertTrue(lookUps.get() > 1);
    }
  }
}
