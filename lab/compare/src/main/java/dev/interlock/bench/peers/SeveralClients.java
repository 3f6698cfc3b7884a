package dev.interlock.bench.peers;

import dev.interlock.compare.rounds.Locking;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;

/** Several clients of one contender; the threads are spread evenly over them. */
final class SeveralClients implements Locking {
  private final List<Locking> clients = new ArrayList<>();
  private final AtomicInteger threads = new AtomicInteger();
  private final ThreadLocal<Locking> own =
      ThreadLocal.withInitial(
          () -> this.clients.get(threads.getAndIncrement() % this.clients.size()));

  private SeveralClients() {}

  /** A contender with so many clients. */
  static Peer<Locking> of(int count, Peer<Locking> peer) {
    return new Peer<>(
        peer.name(),
        (uri, threads) -> {
          SeveralClients several = new SeveralClients();
          try {
            for (int i = 0; i < count; i++) {
              several.clients.add(peer.opener().open(uri, threads));
            }
          } catch (Exception e) {
            several.close();
            throw e;
          }
          return several;
        });
  }

  @Override
  public Optional<? extends AutoCloseable> acquire(String name, Duration atMost) throws Exception {
    return own.get().acquire(name, atMost);
  }

  @Override
  public void close() throws Exception {
    for (Locking client : clients) {
      client.close();
    }
  }
}
