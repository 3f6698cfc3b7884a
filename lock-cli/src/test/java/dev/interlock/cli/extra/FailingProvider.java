package dev.interlock.cli.extra;

import dev.interlock.BackendInfo;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockProvider;
import dev.interlock.spi.LockUri;
import java.util.Set;

/** A provider whose constructor fails. */
public final class FailingProvider implements LockProvider {
  public FailingProvider() {
    throw new IllegalStateException("half installed");
  }

  @Override
  public Set<String> schemes() {
    return Set.of();
  }

  @Override
  public BackendInfo describe(String scheme) {
    throw new AssertionError();
  }

  @Override
  public String example(String scheme) {
    throw new AssertionError();
  }

  @Override
  public LockBackend open(LockUri uri, BackendContext context) {
    throw new AssertionError();
  }
}
