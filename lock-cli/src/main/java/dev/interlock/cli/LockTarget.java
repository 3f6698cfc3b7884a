package dev.interlock.cli;

import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import java.util.function.Function;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** The lock that a command is about. */
final class LockTarget {

  @Spec(Spec.Target.MIXEE)
  @SuppressWarnings("NullAway.Init") // set by picocli
  private CommandSpec spec;

  @Parameters(
      index = "0",
      paramLabel = "URI",
      converter = UriArgument.class,
      description = UriArgument.DESCRIPTION)
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

  /** {@return the name in quotes, for messages} */
  String quotedName() {
    return "\"" + Text.printable(name) + "\"";
  }

  LockClient open(LockOptions options) {
    return LockClient.open(uri, options);
  }

  /** Applies the action to the name; reports an illegal name as wrong usage. */
  <T> T onName(Function<String, T> action) {
    try {
      return action.apply(name);
    } catch (IllegalArgumentException e) {
      throw new ParameterException(spec.commandLine(), "NAME: " + e.getMessage(), e);
    }
  }
}
