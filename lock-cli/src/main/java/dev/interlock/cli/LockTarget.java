package dev.interlock.cli;

import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import java.util.function.Function;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Which lock a command is about. */
final class LockTarget {

  @Spec(Spec.Target.MIXEE)
  @SuppressWarnings("NullAway.Init") // set by picocli
  private CommandSpec spec;

  @Parameters(
      index = "0",
      paramLabel = "URI",
      description =
          "Where the lock is kept. Besides the backend's own parameters it takes ttl,"
              + " requestTimeout, waitTimeout, outageTimeout, maxHold, pollInterval,"
              + " autoRenew and holder.")
  @SuppressWarnings("NullAway.Init") // set by picocli
  private String uri;

  @Parameters(
      index = "1",
      paramLabel = "NAME",
      description = "The lock's name: 1 to 255 characters, any.")
  @SuppressWarnings("NullAway.Init") // set by picocli
  private String name;

  String uri() {
    return uri;
  }

  String name() {
    return name;
  }

  CommandLine command() {
    return spec.commandLine();
  }

  LockClient open(LockOptions options) {
    return LockClient.open(uri, options);
  }

  /** Does something with the name, which may turn out not to be one. */
  <T> T onName(Function<String, T> action) {
    try {
      return action.apply(name);
    } catch (IllegalArgumentException e) {
      throw new ParameterException(spec.commandLine(), "NAME: " + e.getMessage(), e);
    }
  }
}
