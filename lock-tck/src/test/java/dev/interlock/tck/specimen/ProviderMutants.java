package dev.interlock.tck.specimen;

import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.QueueingBackend;
import dev.interlock.spi.TimeSource;
import dev.interlock.tck.Server;
import java.util.List;
import java.util.function.UnaryOperator;

/** Faults of opening clients, and of waiting threads. */
final class ProviderMutants {
  private static final String ENGINE = "everything else is as in the reference";

  private ProviderMutants() {}

  static List<Specimen> all() {
    return MemorySpecimens.of(
        Specimen.mutant("URI not looked at")
            .fault("The provider accepts any address and unknown parameters.")
            .harness(() -> new ByUri("careless://localhost:1"))
            .onlyRules(ENGINE, "API-*")
            .refusedBy("API-04", "LockConfigurationException"),
        Specimen.mutant("password repeated")
            .fault("The message about a wrong password quotes it.")
            .harness(Talkative::new)
            .onlyRules(ENGINE, "API-*")
            .refusedBy("API-05", "a message shows the password"),
        Specimen.mutant("waiting by spinning")
            .fault("A waiter polls without a pause, and never frees the processor.")
            .harness(Spinning::new)
            .onlyRules("a spinning waiter takes the processors from the other tests", "API-06")
            .refusedBySince(21, "API-06", "a virtual thread beside"));
  }

  /** A harness that opens clients by a fixed URI. */
  private static class ByUri extends MemoryMutant {
    private final String uri;

    ByUri(String uri) {
      super(right -> right, UnaryOperator.identity());
      this.uri = uri;
    }

    @Override
    public Server start() {
      return () -> uri;
    }

    @Override
    public LockClient open(String asked, LockOptions options, TimeSource time) {
      return LockClient.open(asked, options);
    }
  }

  static final class Talkative extends ByUri {
    Talkative() {
      super("talkative://localhost:1");
    }
  }

  static final class Spinning extends MemoryMutant {
    Spinning() {
      super(SpinningLine::new, UnaryOperator.identity());
    }

    private static final class SpinningLine extends ForwardingQueue {
      SpinningLine(QueueingBackend right) {
        super(right);
      }

      @Override
      public Place join(Claim claim, Deadline deadline) throws InterruptedException {
        Place right = super.join(claim, deadline);
        TimeSource time = TimeSource.system();
        return AlteredClaims.altered(
            right,
            until -> {
              while (true) {
                Attempt attempt = right.await(Deadline.at(time, time.nanoTime()));
                if (attempt instanceof Attempt.Granted || until.hasPassed()) {
                  return attempt;
                }
                Thread.onSpinWait();
              }
            });
      }
    }
  }
}
