package dev.interlock.etcd;

import dev.interlock.BackendInfo;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockProvider;
import dev.interlock.spi.LockUri;
import dev.interlock.spi.UriParameter;
import java.time.Duration;
import java.util.List;
import java.util.Set;

/**
 * An etcd cluster: {@code etcd://user:password@host:2379,host:2379}, or {@code etcds:} with TLS.
 *
 * <p>Name several members, so that the client can connect while one is down. {@link #parameters}
 * lists the parameters; see also {@link EtcdSettings}.
 *
 * <p>Opening waits half of the request time-out for an answer. Without an answer it uses the other
 * half to find the reason. It waits longer only for a slow server: two more time-outs, or up to
 * fifteen while this process is still loading the driver or many clients log in.
 */
public final class EtcdProvider implements LockProvider {

  private static final int MEMBERS_OF_A_CLUSTER = 3;

  /** Does nothing. */
  public EtcdProvider() {}

  @Override
  public Set<String> schemes() {
    return Set.of("etcd", "etcds");
  }

  /** Describes a cluster of three or more members; an open client describes its own cluster. */
  @Override
  public BackendInfo describe(String scheme) {
    return EtcdTopology.info(MEMBERS_OF_A_CLUSTER);
  }

  @Override
  public String example(String scheme) {
    return scheme + "://localhost:2379";
  }

  @Override
  public List<UriParameter<?>> parameters(String scheme) {
    return EtcdUri.PARAMETERS;
  }

  @Override
  public LockBackend open(LockUri uri, BackendContext context) {
    EtcdUri etcd = new EtcdUri(uri);
    Duration requestTimeout = context.options().requestTimeout();
    Login login = etcd.login(requestTimeout);
    return new BackendOpener(new Failures(etcd.endpoint()), etcd.settings(), context)
        .open(
            new OwnClients(
                etcd.connector(login, requestTimeout), login, requestTimeout, context.time()),
            etcd.diagnosis(),
            login,
            etcd.endpointCount());
  }
}
