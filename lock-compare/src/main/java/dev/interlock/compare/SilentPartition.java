package dev.interlock.compare;

import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockClient;
import dev.interlock.report.Unit;
import dev.interlock.tck.fault.Disturbance;
import dev.interlock.tck.fault.Network;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** When a holder learns that it has lost its lock, if the network just falls silent. */
final class SilentPartition implements Scenario {
  static final String ID = "silent-partition";
  static final Metric TOLD = new Metric("told-after", "told after", Unit.SECONDS);
  static final Metric LATE =
      new Metric("told-after-validity", "after the end of validity", Unit.SECONDS);

  private static final long PATIENCE_SECONDS = 30;

  @Override
  public String id() {
    return ID;
  }

  @Override
  public String title() {
    return "The network falls silent";
  }

  @Override
  public String explanation() {
    return "A holder renews its lease; then packets vanish in both directions, and no connection is"
        + " closed. Measured is when the holder is told that the lease is lost, from the beginning"
        + " of the silence, and against the end of its validity: not later is what counts.";
  }

  @Override
  public List<Column> columns(Effort effort) {
    return List.of(new Column(TOLD), new Column(LATE));
  }

  @Override
  public List<Chart> charts() {
    return List.of(new Chart.TimeLines("What happened when"));
  }

  @Override
  public Duration estimate(Effort effort, int backends) {
    return effort.ttl().plusSeconds(1).multipliedBy(effort.faultRounds());
  }

  @Override
  public void run(Run run) throws InterruptedException {
    run.together(
        subject -> {
          Optional<Network> found = subject.network();
          if (found.isEmpty()) {
            run.skip(subject, "there is no network to cut, or its clients go round the proxy");
            return;
          }
          try (Network network = found.get()) {
            silence(run, subject, network);
          }
        });
  }

  private static void silence(Run run, Subject subject, Network network) throws Exception {
    List<Double> told = new ArrayList<>();
    List<Double> late = new ArrayList<>();
    for (int i = 0; i < run.effort().faultRounds(); i++) {
      try (LockClient client = LockClient.open(network.uri(), Subject.options(run.effort().ttl()));
          Lease lease = client.lock(subject.newName()).tryAcquire(Pairs.PATIENCE).orElseThrow()) {
        long silent = System.nanoTime();
        LeaseLostException loss;
        long known;
        long end;
        try (Disturbance silence = network.partition()) {
          // Renewals whose answers were under way count: the end is what the lease says itself.
          end = System.nanoTime() + lease.remainingValidity().toNanos();
          loss = lease.lost().get(PATIENCE_SECONDS, TimeUnit.SECONDS);
          known = System.nanoTime();
        }
        told.add((known - silent) / 1e9);
        late.add((known - end) / 1e9);
        if (i == 0) {
          TimeLineRecorder line = new TimeLineRecorder(silent);
          line.at(silent, "the network falls silent");
          line.at(end, "validity ends");
          line.at(known, "the holder is told: " + words(loss));
          run.timeLine(subject, line.events());
        }
      }
    }
    run.measured(subject, TOLD, told);
    run.measured(subject, LATE, late);
  }

  static String words(LeaseLostException loss) {
    return loss.reason().name().toLowerCase(Locale.ROOT).replace('_', ' ');
  }
}
