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

/** Measures how soon a holder learns that it has lost its lock when the network falls silent. */
final class SilentPartition extends Scenario {
  static final Metric SIGNALLED =
      new Metric("loss-signalled-after", "loss signalled after", Unit.SECONDS);
  static final Metric AFTER_VALIDITY =
      new Metric("loss-signalled-after-validity", "after end of validity", Unit.SECONDS);

  private static final long LOSS_TIMEOUT_SECONDS = 30;

  SilentPartition() {
    super(
        "silent-partition",
        "Silent partition",
        """
        A holder renews its lease; then packets vanish in both directions, and no connection is
        closed. The time until the loss of the lease is signalled is measured from the beginning of
        the partition, and from the end of the lease's validity. The signal must not come after that
        end.
        """,
        List.of(SIGNALLED, AFTER_VALIDITY),
        List.of(new Chart.TimeLines()));
  }

  @Override
  Duration estimate(Profile profile, int backends) {
    return profile.ttl().plusSeconds(1).multipliedBy(profile.faultRounds());
  }

  @Override
  void run(Run run) throws InterruptedException {
    run.inParallel(
        contender -> run.onNetwork(contender, network -> silence(run, contender, network)));
  }

  private static void silence(Run run, OpenContender contender, Network network) throws Exception {
    List<Double> signalled = new ArrayList<>();
    List<Double> afterValidity = new ArrayList<>();
    for (int i = 0; i < run.profile().faultRounds(); i++) {
      try (LockClient client =
              LockClient.open(network.uri(), OpenContender.options(run.profile().ttl()));
          Lease lease =
              client
                  .lock(contender.newName())
                  .tryAcquire(Locking.UNCONTENDED_TIMEOUT)
                  .orElseThrow()) {
        long silentAt = System.nanoTime();
        LeaseLostException loss;
        long signalledAt;
        long validityEnd;
        try (Disturbance silence = network.partition()) {
          // The validity is read after the partition began, since a reply to a renewal may still
          // have arrived.
          validityEnd = System.nanoTime() + lease.remainingValidity().toNanos();
          loss = lease.onLoss().get(LOSS_TIMEOUT_SECONDS, TimeUnit.SECONDS);
          signalledAt = System.nanoTime();
        }
        signalled.add((signalledAt - silentAt) / 1e9);
        afterValidity.add((signalledAt - validityEnd) / 1e9);
        if (i == 0) {
          Map<String, Long> events = new LinkedHashMap<>();
          events.put("the network falls silent", silentAt);
          events.put("the validity ends", validityEnd);
          events.put("the holder is signalled: " + describe(loss), signalledAt);
          run.recordTimeLine(contender, events);
        }
      }
    }
    run.record(contender, SIGNALLED, null, signalled);
    run.record(contender, AFTER_VALIDITY, null, afterValidity);
  }

  static String describe(LeaseLostException loss) {
    return loss.reason().name().toLowerCase(Locale.ROOT).replace('_', ' ');
  }
}
