package dev.interlock.redis;

import dev.interlock.BackendInfo;
import dev.interlock.LockState;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.Renewal;
import dev.interlock.spi.WakeUp;
import java.util.List;
import redis.clients.jedis.UnifiedJedis;

/** A backend on a client of the user's, and a user who closes it afterwards. */
record ClosingBackend(LockBackend backend, UnifiedJedis jedis) implements LockBackend {

  @Override
  public BackendInfo info() {
    return backend.info();
  }

  @Override
  public String endpoint() {
    return backend.endpoint();
  }

  @Override
  public Attempt tryAcquire(Claim claim, Deadline deadline) throws InterruptedException {
    return backend.tryAcquire(claim, deadline);
  }

  @Override
  public Renewal renew(Grant grant, Deadline deadline) throws InterruptedException {
    return backend.renew(grant, deadline);
  }

  @Override
  public List<Renewal> renewAll(List<Grant> grants, Deadline deadline) throws InterruptedException {
    return backend.renewAll(grants, deadline);
  }

  @Override
  public boolean release(Claim claim, Deadline deadline) throws InterruptedException {
    return backend.release(claim, deadline);
  }

  @Override
  public Watch watch(String name, WakeUp wakeUp) {
    return backend.watch(name, wakeUp);
  }

  @Override
  public LockState inspect(String name, Deadline deadline) throws InterruptedException {
    return backend.inspect(name, deadline);
  }

  @Override
  public boolean forceRelease(String name, Deadline deadline) throws InterruptedException {
    return backend.forceRelease(name, deadline);
  }

  @Override
  public boolean revoke(String name, Deadline deadline) throws InterruptedException {
    return backend.revoke(name, deadline);
  }

  @Override
  public void close() {
    backend.close();
    jedis.close();
  }
}
