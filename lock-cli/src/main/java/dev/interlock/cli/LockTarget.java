package dev.interlock.cli;

import dev.interlock.BackendInfo;
import dev.interlock.Capability;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.spi.LockProviders;
import dev.interlock.spi.LockUri;
import dev.interlock.spi.UriParameter;
import java.time.Duration;
import java.util.Locale;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** The lock that a command acts on. */
final class LockTarget {

  @Spec(Spec.Target.MIXEE)
  private CommandSpec spec;

  @ParentCommand private Main main;

  @Parameters(
      index = "0",
      paramLabel = "URI",
      converter = UriArgument.class,
      description = UriArgument.DESCRIPTION)
  private String uri;

  @Parameters(
      index = "1",
      paramLabel = "NAME",
      description = "The lock's name: 1 to 255 characters of any kind.")
  private String name;

  String name() {
    return name;
  }

  ProcessContext process() {
    return main.process();
  }

  CommandLine command() {
    return spec.commandLine();
  }

  String quotedName() {
    return "\"" + Text.printable(name) + "\"";
  }

  LockClient open(LockOptions options) {
    return LockClient.open(uri, options);
  }

  /**
   * Fails if the backend lacks a capability, before anything is sent to the store.
   *
   * @param feature a noun in the plural for the message, such as "semaphores"
   */
  void require(Capability capability, String feature) {
    String scheme = LockUri.parse(uri).scheme();
    BackendInfo backend = LockProviders.find().serving(scheme).describe(scheme);
    if (!backend.has(capability)) {
      throw new CommandFailure(
          ExitCode.USAGE,
          "%s has no %s; 'interlock backends' shows which backends have them (capability %s)"
              .formatted(
                  backend.name(),
                  feature,
                  capability.name().toLowerCase(Locale.ROOT).replace('_', ' ')));
    }
  }

  /** Sets an option if the command line gives it. The URI must not give it, too. */
  void set(
      String option,
      @Nullable Duration value,
      UriParameter<Duration> parameter,
      Consumer<Duration> setter) {
    if (value == null) {
      return;
    }
    if (LockUri.parse(uri).get(parameter).isPresent()) {
      throw new ParameterException(command(), option + " is also given by the URI; give it once");
    }
    try {
      setter.accept(value);
    } catch (IllegalArgumentException e) {
      throw new ParameterException(command(), option + ": " + e.getMessage(), e);
    }
  }

  /** Applies the action to the name, and reports an illegal name as wrong usage. */
  <T> T onName(Function<String, T> action) {
    try {
      return action.apply(name);
    } catch (IllegalArgumentException e) {
      throw new ParameterException(spec.commandLine(), "NAME: " + e.getMessage(), e);
    }
  }
}
