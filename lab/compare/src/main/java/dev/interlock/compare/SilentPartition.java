package dev.interlock.compare;

import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockClient;
import dev.interlock.report.Unit;
import dev.interlock.tck.fault.Disturbance;
import dev.interlock.tck.fault.Network;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** When a holder learns that it has lost its lock, if the network just falls silent. */
final class SilentPartition extends Scenario {
  static final Metric SIGNALLED =
      new Metric("loss-signalled-after", "loss signalled after", Unit.SECONDS);
  static final Metric LATE =
      new Metric("loss-signalled-after-validity", "after end of validity", Unit.SECONDS);

  private static final long PATIENCE_SECONDS = 30;

  SilentPartition() {
    super(
        "silent-partition",
        "Silent partition",
        """
        A holder renews its lease; then packets vanish in both directions, and no connection is
        closed. Measured is when the loss of the lease is signalled to the holder, from the
        beginning of the partition, and from the end of the lease's validity: the signal must not
        come later than that.
        """,
        List.of(SIGNALLED, LATE),
        List.of(new Chart.TimeLines()));
  }

  @Override
  Duration estimate(Profile profile, int backends) {
    return profile.ttl().plusSeconds(1).multipliedBy(profile.faultRounds());
  }

  @Override
  void run(Run run) throws InterruptedException {
    run.together(
        contender -> run.onNetwork(contender, network -> silence(run, contender, network)));
  }

  private static void silence(Run run, OpenContender contender, Network network) throws Exception {
    List<Double> signalled = new ArrayList<>();
    List<Double> late = new ArrayList<>();
    for (int i = 0; i < run.profile().faultRounds(); i++) {
      try (LockClient client =
              LockClient.open(network.uri(), OpenContender.options(run.profile().ttl()));
          Lease lease =
              client.lock(contender.newName()).tryAcquire(Locking.PATIENCE).orElseThrow()) {
        long silent = System.nanoTime();
        LeaseLostException loss;
        long known;
        long end;
        try (Disturbance silence = network.partition()) {
          // Renewals whose answers were under way count: the end is what the lease says itself.
          end = System.nanoTime() + lease.remainingValidity().toNanos();
          loss = lease.onLoss().get(PATIENCE_SECONDS, TimeUnit.SECONDS);
          known = System.nanoTime();
        }
        signalled.add((known - silent) / 1e9);
        late.add((known - end) / 1e9);
        if (i == 0) {
          Map<String, Long> events = new LinkedHashMap<>();
          events.put("the network falls silent", silent);
          events.put("the validity ends", end);
          events.put("the holder is signalled: " + words(loss), known);
          run.timeLine(contender, events);
        }
      }
    }
    run.measured(contender, SIGNALLED, null, signalled);
    run.measured(contender, LATE, null, late);
  }

  static String words(LeaseLostException loss) {
    return loss.reason().name().toLowerCase(Locale.ROOT).replace('_', ' ');
  }
}
