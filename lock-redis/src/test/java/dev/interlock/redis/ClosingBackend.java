package dev.interlock.redis;

import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.Renewal;
import dev.interlock.tck.specimen.ForwardingBackend;
import java.util.List;
import redis.clients.jedis.UnifiedJedis;

/** A backend on a Jedis client of the program, which is closed together with it. */
final class ClosingBackend extends ForwardingBackend {

  private final LockBackend backend;
  private final UnifiedJedis jedis;

  ClosingBackend(LockBackend backend, UnifiedJedis jedis) {
    super(backend);
    this.backend = backend;
    this.jedis = jedis;
  }

  @Override
  public int maxGrantsPerRenewal() {
    return backend.maxGrantsPerRenewal();
  }

  @Override
  public List<Renewal> renewAll(List<Grant> grants, Deadline deadline) throws InterruptedException {
    return backend.renewAll(grants, deadline);
  }

  @Override
  public void close() {
    super.close();
    jedis.close();
  }
}
