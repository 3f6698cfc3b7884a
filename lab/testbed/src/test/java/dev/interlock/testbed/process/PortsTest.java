package dev.interlock.testbed.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import org.junit.jupiter.api.Test;

class PortsTest {
  @Test
  void aReservedPortIsNotGivenOutAgain() {
    List<Integer> ports = new ArrayList<>();
    for (int i = 0; i < 200; i++) {
      ports.add(Ports.reserve());
    }
    try {
      assertEquals(ports.size(), new HashSet<>(ports).size());
    } finally {
      ports.forEach(Ports::release);
    }
  }

  @Test
  void portsLieBelowThoseOfOutgoingConnections() {
    int port = Ports.reserveWith(Ports.CLUSTER_BUS_OFFSET);
    Ports.release(port, port + Ports.CLUSTER_BUS_OFFSET);
    assertTrue(port >= 10_000 && port + Ports.CLUSTER_BUS_OFFSET < 32_768, () -> "port " + port);
  }
}
