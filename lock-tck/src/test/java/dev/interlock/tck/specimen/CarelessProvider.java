package dev.interlock.tck.specimen;

import dev.interlock.BackendInfo;
import dev.interlock.LockConfigurationException;
import dev.interlock.memory.MemoryProvider;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockProvider;
import dev.interlock.spi.LockUri;
import dev.interlock.spi.UriParameter;
import java.util.List;
import java.util.Set;

/** Does not check its URIs ({@code careless:}), or quotes them in messages ({@code talkative:}). */
public final class CarelessProvider implements LockProvider {
  private final MemoryProvider memory = new MemoryProvider();

  /** For the service loader. */
  public CarelessProvider() {}

  @Override
  public Set<String> schemes() {
    return Set.of("careless", "talkative");
  }

  @Override
  public BackendInfo describe(String scheme) {
    return memory.describe("memory");
  }

  @Override
  public String example(String scheme) {
    return scheme + "://localhost:1";
  }

  @Override
  public List<UriParameter<?>> parameters(String scheme) {
    return scheme.equals("careless")
        ? List.of(UriParameter.text("noSuchParameter", null, "Is never read."))
        : List.of();
  }

  @Override
  public LockBackend open(LockUri uri, BackendContext context) {
    if (uri.scheme().equals("talkative")) {
      if (uri.password().isPresent()) {
        throw new LockConfigurationException(
            "nobody is let in with the password " + uri.password().get());
      }
      uri.endpoints(1);
    }
    return memory.open(LockUri.parse("memory:" + uri.scheme()), context);
  }
}
