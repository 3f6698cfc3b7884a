package dev.interlock.tck.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.tck.fault.Disturbance;
import dev.interlock.tck.fault.FaultProxy;
import dev.interlock.tck.fault.Network;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ProxiesTest {

  @ParameterizedTest
  @CsvSource(
      delimiter = ' ',
      value = {
        "redis://127.0.0.1:6379 redis://127.0.0.1:P0",
        "redis://127.0.0.1 redis://127.0.0.1:P0",
        "redis://user:p/a@s@localhost:1/3?label=a@b redis://user:p/a@s@127.0.0.1:P0/3?label=a@b",
        "redlock://127.0.0.1:1,[::1]:2,localhost:3?x=1"
            + " redlock://127.0.0.1:P0,127.0.0.1:P1,127.0.0.1:P2?x=1",
        "zookeeper://127.0.0.1:1/a/b zookeeper://127.0.0.1:P0/a/b",
      })
  void leadsThroughAProxyPerAddressAndLeavesTheRestOfTheUri(String uri, String expected)
      throws Exception {
    try (Network proxied = Proxies.network(uri, 6379).orElseThrow()) {
      String filledIn = expected;
      List<FaultProxy> proxies = proxied.proxies();
      for (int i = 0; i < proxies.size(); i++) {
        filledIn = filledIn.replace("P" + i, String.valueOf(proxies.get(i).port()));
      }
      assertEquals(filledIn, proxied.uri());
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"memory:demo", "x://", "x://:1", "x://host:0", "x://host:70000", "x://a,"})
  void anUriWithoutAnAddressHasNoNetwork(String uri) throws Exception {
    assertTrue(Proxies.network(uri, 1).isEmpty());
  }

  @Test
  void anAddressWithoutAPortNeedsADefault() throws Exception {
    assertTrue(Proxies.network("x://host", 0).isEmpty());
  }

  @Test
  void aFaultEverywhereIsCountedAsOne() throws Exception {
    try (Network network = Proxies.network("x://127.0.0.1:1,127.0.0.1:2", 0).orElseThrow();
        Disturbance refusal = network.cut()) {
      assertEquals(0, refusal.hits());
      assertEquals(2, refusal.faults().size());
      assertEquals(0, network.traffic().accepted());
    }
  }
}
