package dev.interlock.memory;

import dev.interlock.BackendInfo;
import dev.interlock.LockConfigurationException;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockProvider;
import dev.interlock.spi.LockUri;
import java.util.Set;

/**
 * Opens {@code memory:NAME}, a store inside this JVM. All clients that open the same name share its
 * locks. The store exists from when the first client opens until the last one closes.
 */
public final class MemoryProvider implements LockProvider {

  /** Called by the service loader. */
  public MemoryProvider() {}

  @Override
  public Set<String> schemes() {
    return Set.of("memory");
  }

  @Override
  public BackendInfo describe(String scheme) {
    return MemoryBackend.INFO;
  }

  @Override
  public String example(String scheme) {
    return "memory:demo";
  }

  @Override
  public LockBackend open(LockUri uri, BackendContext context) {
    String name = uri.path();
    if (name.isEmpty() || name.startsWith("/")) {
      throw new LockConfigurationException(
          "memory URI: the store's name is missing; write memory:NAME, such as memory:demo");
    }
    return new MemoryBackend(name, context);
  }
}
