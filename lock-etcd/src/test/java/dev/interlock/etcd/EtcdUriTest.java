package dev.interlock.etcd;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.spi.LockUri;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.etcd.EtcdCluster;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class EtcdUriTest {

  @Test
  void severalMembersAndANamespace() {
    EtcdUri uri = new EtcdUri(LockUri.parse("etcd://a,b:1234,[::1]:1?namespace=team/locks"));
    assertEquals("a:2379,b:1234,[::1]:1", uri.endpoint());
    assertEquals(3, uri.endpointCount());
    assertEquals("team/locks", uri.settings().namespace());
  }

  @Test
  void anIpv6AddressInBracketsWorks() throws Exception {
    try (EtcdCluster etcd = Testbed.etcd().start();
        LockClient client =
            LockClient.open(
                etcd.uri().replace("127.0.0.1", "[::ffff:127.0.0.1]"), Backends.LONG_TIMEOUT)) {
      client.lock("job").acquire().release();
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "etcd:                                   | a host is missing",
        "etcd://a/path                           | takes no path",
        "etcd://a?namespace=white%20space        | namespace must be",
        "etcd://a?name=x                         | unknown parameter name",
        "etcd://me@a                             | user and password belong together",
        "etcd://:secret@a                        | user and password belong together",
        "etcd://a?caCert=/etc/hostname           | write etcds://",
        "etcds://a?caCert=/no/such/file          | must be a readable file",
        "etcds://a?clientCert=/etc/hostname      | belong together",
      })
  void aUriThatCannotWorkIsRefusedWithACorrection(String uri, String message) {
    LockConfigurationException e =
        assertThrows(LockConfigurationException.class, () -> LockClient.open(uri));
    assertTrue(e.getMessage().contains(message), e::getMessage);
  }

  @Test
  void aFileWithoutACertificateIsRefused() {
    String uri = "etcds://a?caCert=" + System.getProperty("java.home") + "/release";
    LockConfigurationException e =
        assertThrows(LockConfigurationException.class, () -> new EtcdUri(LockUri.parse(uri)));
    assertTrue(e.getMessage().contains("in PEM form"), e::getMessage);
  }
}
