package dev.interlock.compare;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.report.Unit;
import dev.interlock.tck.fault.Network;
import dev.interlock.tck.fault.Traffic;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** What a lock costs the server and the network. */
final class ServerCost implements Scenario {
  static final String ID = "server-cost";
  static final Metric REQUESTS = new Metric("requests-per-pair", "requests / pair", Unit.COUNT);
  static final Metric SENT = new Metric("bytes-sent-per-pair", "bytes sent / pair", Unit.BYTES);
  static final Metric RECEIVED =
      new Metric("bytes-received-per-pair", "bytes received / pair", Unit.BYTES);
  static final Metric KEYS_HELD = new Metric("keys-per-held-lock", "keys / held lock", Unit.COUNT);
  static final Metric KEYS_LEFT =
      new Metric("keys-left-per-released-lock", "keys left / released lock", Unit.COUNT);

  private static final int WARM_UP = 50;
  private static final int PAIRS = 300;
  private static final int LOCKS = 100;

  @Override
  public String id() {
    return ID;
  }

  @Override
  public String title() {
    return "What the server sees";
  }

  @Override
  public String explanation() {
    return "Requests and bytes of one thread's pairs, counted by a proxy (a request is what arrives"
        + " at once; nodes of one store are added up), and the keys or nodes that the store keeps"
        + " for a lock while it is held, and right after its release. What is left expires.";
  }

  @Override
  public List<Column> columns(Effort effort) {
    return List.of(
        new Column(REQUESTS),
        new Column(SENT),
        new Column(RECEIVED),
        new Column(KEYS_HELD),
        new Column(KEYS_LEFT));
  }

  @Override
  public List<Chart> charts() {
    return List.of(
        new Chart.Bars("Requests for a pair", REQUESTS, Point.ONLY),
        new Chart.Bars("Bytes sent for a pair", SENT, Point.ONLY));
  }

  @Override
  public Duration estimate(Effort effort, int backends) {
    return Duration.ofSeconds(1).multipliedBy(backends);
  }

  @Override
  public void run(Run run) throws InterruptedException {
    run.oneByOne(
        subject -> {
          traffic(run, subject);
          keys(run, subject);
        });
  }

  private static void traffic(Run run, Subject subject) throws Exception {
    Optional<Network> found = subject.network();
    if (found.isEmpty()) {
      run.skip(subject, "there is no network to count on, or its clients go round the proxy");
      return;
    }
    try (Network network = found.get();
        Pairs pairs = Pairs.byLock(LockClient.open(network.uri(), Subject.options()))) {
      String name = subject.newName();
      for (int i = 0; i < WARM_UP; i++) {
        pairs.pair(name);
      }
      Traffic before = network.traffic();
      for (int i = 0; i < PAIRS; i++) {
        pairs.pair(name);
      }
      Traffic after = network.traffic();
      double requests = after.toServer().chunks() - before.toServer().chunks();
      double sent = after.toServer().received() - before.toServer().received();
      double received = after.toClient().received() - before.toClient().received();
      run.measured(subject, REQUESTS, List.of(requests / PAIRS));
      run.measured(subject, SENT, List.of(sent / PAIRS));
      run.measured(subject, RECEIVED, List.of(received / PAIRS));
    }
  }

  private static void keys(Run run, Subject subject) throws Exception {
    Optional<BareDriver.Session> found = Pairs.session(subject, subject.uri(), 1);
    if (found.isEmpty()) {
      return;
    }
    List<Lease> leases = new ArrayList<>();
    try (BareDriver.Session session = found.get();
        LockClient client = subject.open()) {
      client.lock(subject.newName()).acquire().close(); // whatever there is once for all locks
      long before = session.storedKeys();
      for (int i = 0; i < LOCKS; i++) {
        leases.add(client.lock(subject.newName()).tryAcquire(Pairs.PATIENCE).orElseThrow());
      }
      long held = session.storedKeys();
      leases.forEach(Lease::close);
      long left = session.storedKeys();
      run.measured(subject, KEYS_HELD, List.of((double) (held - before) / LOCKS));
      run.measured(subject, KEYS_LEFT, List.of((double) (left - before) / LOCKS));
    }
  }
}
