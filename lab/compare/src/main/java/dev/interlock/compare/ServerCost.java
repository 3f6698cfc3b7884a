package dev.interlock.compare;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.compare.baseline.BareDriver;
import dev.interlock.report.Unit;
import dev.interlock.tck.fault.Network;
import dev.interlock.tck.fault.Traffic;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Measures what a lock costs the server and the network. */
final class ServerCost extends Scenario {
  static final Metric REQUESTS = new Metric("requests-per-pair", "requests / cycle", Unit.COUNT);
  static final Metric SENT = new Metric("bytes-sent-per-pair", "bytes sent / cycle", Unit.BYTES);
  static final Metric RECEIVED =
      new Metric("bytes-received-per-pair", "bytes received / cycle", Unit.BYTES);
  static final Metric KEYS_HELD = new Metric("keys-per-held-lock", "keys / held lock", Unit.COUNT);
  static final Metric KEYS_LEFT =
      new Metric("keys-left-per-released-lock", "keys left / released lock", Unit.COUNT);

  private static final int WARM_UP = 50;
  private static final int CYCLES = 300;
  private static final int LOCKS = 100;

  ServerCost() {
    super(
        "server-cost",
        "Server load",
        """
        Requests and bytes per cycle of one thread, and the keys or nodes that the store keeps for a
        lock: while it is held, and right after its release. A proxy counts the requests and bytes
        for all nodes of a store; data that arrives together counts as one request. Keys that are
        left expire.
        """,
        List.of(REQUESTS, SENT, RECEIVED, KEYS_HELD, KEYS_LEFT),
        List.of(
            new Chart.Bars("Requests for a cycle", REQUESTS),
            new Chart.Bars("Bytes sent for a cycle", SENT)));
  }

  @Override
  Duration estimate(Profile profile, int backends) {
    return Duration.ofSeconds(backends);
  }

  @Override
  void run(Run run) throws InterruptedException {
    run.inTurn(
        contender -> {
          run.onNetwork(contender, network -> traffic(run, contender, network));
          keys(run, contender);
        });
  }

  private static void traffic(Run run, OpenContender contender, Network network) throws Exception {
    try (Locking client = OpenContender.locking(network.uri())) {
      String name = contender.newName();
      for (int i = 0; i < WARM_UP; i++) {
        client.cycle(name);
      }
      Traffic before = network.traffic();
      for (int i = 0; i < CYCLES; i++) {
        client.cycle(name);
      }
      Traffic after = network.traffic();
      double requests = after.toServer().chunks() - before.toServer().chunks();
      double sent = after.toServer().received() - before.toServer().received();
      double received = after.toClient().received() - before.toClient().received();
      run.record(contender, REQUESTS, requests / CYCLES);
      run.record(contender, SENT, sent / CYCLES);
      run.record(contender, RECEIVED, received / CYCLES);
    }
  }

  private static void keys(Run run, OpenContender contender) throws Exception {
    BareDriver.Session store;
    try {
      store = contender.baseline(contender.uri(), 1);
    } catch (InterruptedException e) {
      throw e;
    } catch (Exception | LinkageError e) {
      return; // keys can only be counted by a bare driver
    }
    List<Lease> leases = new ArrayList<>();
    try (store;
        LockClient client = contender.open()) {
      client.lock(contender.newName()).acquire().close(); // creates the keys that all locks share
      long before = store.storedKeys();
      for (int i = 0; i < LOCKS; i++) {
        leases.add(
            client.lock(contender.newName()).tryAcquire(Locking.UNCONTENDED_TIMEOUT).orElseThrow());
      }
      long keysHeld = store.storedKeys();
      leases.forEach(Lease::close);
      long keysLeft = store.storedKeys();
      run.record(contender, KEYS_HELD, (double) (keysHeld - before) / LOCKS);
      run.record(contender, KEYS_LEFT, (double) (keysLeft - before) / LOCKS);
    }
  }
}
