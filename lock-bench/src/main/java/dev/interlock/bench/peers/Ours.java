package dev.interlock.bench.peers;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import java.time.Duration;
import java.util.Optional;

/** Our lock, as users open it. */
record Ours(LockClient client) implements WaitingContender {

  Ours(String uri) {
    this(LockClient.open(uri));
  }

  @Override
  public Optional<Lease> acquire(String name, Duration atMost) throws InterruptedException {
    return client.lock(name).tryAcquire(atMost);
  }

  @Override
  public void close() {
    client.close();
  }
}
