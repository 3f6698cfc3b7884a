package dev.interlock.cli.extra;

import dev.interlock.BackendInfo;
import dev.interlock.FailureModel;
import dev.interlock.LockState;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockProvider;
import dev.interlock.spi.LockUri;
import dev.interlock.spi.Renewal;
import java.time.Duration;
import java.util.Set;

/** The {@code tiny:} backend: every attempt is granted, and it can nothing that it need not. */
public final class TinyProvider implements LockProvider {
  private static final BackendInfo INFO =
      new BackendInfo(
          "tiny",
          "grants everything",
          Set.of(),
          Duration.ZERO,
          Duration.ofMillis(1),
          FailureModel.builder().build());

  @Override
  public Set<String> schemes() {
    return Set.of("tiny");
  }

  @Override
  public BackendInfo describe(String scheme) {
    return INFO;
  }

  @Override
  public String example(String scheme) {
    return "tiny:any";
  }

  @Override
  public LockBackend open(LockUri uri, BackendContext context) {
    return new LockBackend() {
      @Override
      public BackendInfo info() {
        return INFO;
      }

      @Override
      public String endpoint() {
        return "nowhere";
      }

      @Override
      public Attempt tryAcquire(Claim claim, Deadline deadline) {
        return new Attempt.Granted(Grant.forTtl(claim, 0, context.time().nanoTime()));
      }

      @Override
      public Renewal renew(Grant grant, Deadline deadline) {
        return new Renewal.Renewed(context.time().nanoTime() + grant.effectiveTtl().toNanos());
      }

      @Override
      public boolean release(Claim claim, Deadline deadline) {
        return true;
      }

      @Override
      public LockState inspect(String name, Deadline deadline) {
        return LockState.free(name);
      }

      @Override
      public boolean forceRelease(String name, Deadline deadline) {
        return false;
      }

      @Override
      public void close() {}
    };
  }
}
