package dev.interlock.tck.run;

import dev.interlock.tck.Harness;
import dev.interlock.tck.LockTck;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/** The subclass of the kit that {@link ContractRun} runs, for any harness. */
@ExtendWith(HarnessTck.FromConfiguration.class)
final class HarnessTck extends LockTck {
  private static final String KEY = "interlock.tck.harness";

  /** The harnesses by key, since JUnit's configuration parameters can only be text. */
  private static final Map<String, Harness> HARNESSES = new ConcurrentHashMap<>();

  private final Harness harness;

  HarnessTck(Harness harness) {
    this.harness = harness;
  }

  @Override
  protected Harness harness() {
    return harness;
  }

  /** Makes a harness available to tests until closed. */
  static final class Offer implements AutoCloseable {
    private final String key = UUID.randomUUID().toString();

    Offer(Harness harness) {
      HARNESSES.put(key, harness);
    }

    Map<String, String> parameters() {
      return Map.of(KEY, key);
    }

    @Override
    public void close() {
      HARNESSES.remove(key);
    }
  }

  /** Passes the harness to the constructor. */
  static final class FromConfiguration implements ParameterResolver {
    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
      return parameter.getParameter().getType() == Harness.class;
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
      return Optional.ofNullable(
              HARNESSES.get(context.getConfigurationParameter(KEY).orElseThrow()))
          .orElseThrow();
    }
  }
}
