package dev.interlock.shedlock;

import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.etcd.EtcdCluster;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

@Tag("extended")
class ShedLockOnEtcdTest extends ShedLockTests {
  private static EtcdCluster server;

  @BeforeAll
  static void start() {
    server = Testbed.etcd().start();
  }

  @AfterAll
  static void stop() {
    server.close();
  }

  @Override
  String uri() {
    return server.uri();
  }
}
