package dev.interlock.cli.extra;

import dev.interlock.BackendInfo;
import dev.interlock.Capability;
import dev.interlock.LockState;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.BackendInfoBuilder;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockPage;
import dev.interlock.spi.LockProvider;
import dev.interlock.spi.LockStates;
import dev.interlock.spi.LockUri;
import dev.interlock.spi.Renewal;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Set;

/** The {@code tiny:} backend: grants every attempt, and always lists the same two locks. */
public final class TinyProvider implements LockProvider {
  private static final BackendInfo INFO =
      BackendInfoBuilder.of("tiny", "grants everything")
          .capabilities(Capability.LIST)
          .minTtl(Duration.ofMillis(1))
          .build();

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
        return new Attempt.Granted(claim, 0);
      }

      @Override
      public Renewal renew(Grant grant, Deadline deadline) {
        return new Renewal.Confirmed();
      }

      @Override
      public boolean release(Claim claim, Deadline deadline) {
        return true;
      }

      @Override
      public LockState inspect(String name, Deadline deadline) {
        return LockStates.free(name);
      }

      @Override
      public LockPage list(String prefix, String cursor, int limit, Deadline deadline) {
        LockState state =
            cursor == null
                ? LockStates.held(
                    prefix + "/b\u001b",
                    LockStates.holder("me", 7L, Duration.ofSeconds(90), Instant.EPOCH),
                    List.of("you"))
                : LockStates.held(prefix + "/a", null, null, null, List.of());
        return new LockPage(List.of(state), cursor == null ? "more" : null);
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
