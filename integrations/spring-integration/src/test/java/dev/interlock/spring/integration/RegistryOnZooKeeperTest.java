package dev.interlock.spring.integration;

import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.zookeeper.ZooKeeperEnsemble;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

class RegistryOnZooKeeperTest extends RegistryTests {
  private static ZooKeeperEnsemble server;

  @BeforeAll
  static void start() {
    server = Testbed.zookeeper().start();
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
