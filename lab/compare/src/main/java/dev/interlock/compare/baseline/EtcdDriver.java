package dev.interlock.compare.baseline;

import dev.interlock.spi.LockUri;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.KV;
import io.etcd.jetcd.kv.TxnResponse;
import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.op.CmpTarget;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.GetOption;
import io.etcd.jetcd.options.PutOption;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** A key on etcd that only one client can create, under one lease for all keys. */
public final class EtcdDriver implements BareDriver {
  private static final int DEFAULT_PORT = 2379;
  private static final long LEASE_SECONDS = 600;
  private static final long TIMEOUT_SECONDS = 5;

  /** Used by {@link java.util.ServiceLoader}. */
  public EtcdDriver() {}

  @Override
  public Set<String> schemes() {
    return Set.of("etcd");
  }

  @Override
  public String summary() {
    return "one transaction that creates the key if it does not exist, then delete, on one jetcd"
        + " client with one lease";
  }

  @Override
  public Session open(String uri, int threads) throws Exception {
    List<URI> endpoints =
        LockUri.parse(uri).endpoints(DEFAULT_PORT).stream()
            .map(endpoint -> URI.create("http://" + endpoint))
            .toList();
    Client client = Client.builder().endpoints(endpoints).build();
    try {
      long lease = await(client.getLeaseClient().grant(LEASE_SECONDS)).getID();
      return new Connection(client, client.getKVClient(), lease);
    } catch (Exception e) {
      client.close();
      throw e;
    }
  }

  private static <T> T await(CompletableFuture<T> future) throws Exception {
    return future.get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
  }

  private record Connection(Client client, KV store, long lease) implements Session {
    private static final ByteSequence ALL = ByteSequence.from(new byte[] {0});

    @Override
    public void cycle(String name) throws Exception {
      ByteSequence key = ByteSequence.from("baseline/" + name, StandardCharsets.UTF_8);
      TxnResponse created =
          await(
              store
                  .txn()
                  .If(new Cmp(key, Cmp.Op.EQUAL, CmpTarget.version(0)))
                  .Then(Op.put(key, key, PutOption.builder().withLeaseId(lease).build()))
                  .commit());
      if (!created.isSucceeded()) {
        throw new IllegalStateException("baseline/" + name + " already exists");
      }
      await(store.delete(key));
    }

    @Override
    public long storedKeys() throws Exception {
      return await(store.get(ALL, GetOption.builder().withRange(ALL).withCountOnly(true).build()))
          .getCount();
    }

    @Override
    public void close() {
      try {
        await(client.getLeaseClient().revoke(lease));
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      } catch (Exception e) {
        // The lease expires.
      } finally {
        client.close();
      }
    }
  }
}
