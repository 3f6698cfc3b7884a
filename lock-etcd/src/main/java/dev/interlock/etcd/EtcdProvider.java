package dev.interlock.etcd;

import dev.interlock.BackendInfo;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockProvider;
import dev.interlock.spi.LockUri;
import java.time.Duration;
import java.util.Set;

/**
 * An etcd cluster: {@code etcd://user:password@host:2379,host:2379}, or {@code etcds:} with TLS.
 *
 * <p>Name several members, so that one that is down does not keep the client from the others.
 * Parameters:
 *
 * <ul>
 *   <li>{@code namespace}: see {@link EtcdSettings};
 *   <li>{@code caCert}: with TLS, a PEM file with the authorities to be trusted in place of the
 *       JVM's;
 *   <li>{@code clientCert}, {@code clientKey}: with TLS, PEM files with the certificate by which
 *       the client proves who it is, and its private key (PKCS #8, without a password).
 * </ul>
 *
 * <p>Opening takes half of the request time-out to get an answer, and if there is none the other
 * half to find out why. Only where a server is there, and slow, does it wait for longer: for two
 * more time-outs, and for up to ten as long as this process is still busy loading the driver.
 */
public final class EtcdProvider implements LockProvider {

  /** Does nothing. */
  public EtcdProvider() {}

  @Override
  public Set<String> schemes() {
    return Set.of("etcd", "etcds");
  }

  /** Describes a cluster of three members or more; a client says what its own cluster is. */
  @Override
  public BackendInfo describe(String scheme) {
    return EtcdTopology.WITH_MINORITY.info();
  }

  @Override
  public String example(String scheme) {
    return scheme + "://localhost:2379";
  }

  @Override
  public LockBackend open(LockUri uri, BackendContext context) {
    EtcdUri etcd = new EtcdUri(uri);
    Duration requestTimeout = context.options().requestTimeout();
    return new BackendOpener(etcd.endpoint(), etcd.settings(), context)
        .open(
            new OwnClients(() -> etcd.client(requestTimeout), requestTimeout, context.time()),
            etcd.diagnosis(),
            etcd.endpointCount());
  }
}
