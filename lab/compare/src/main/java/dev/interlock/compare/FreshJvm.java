package dev.interlock.compare;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** A virtual machine that has not run anything yet. */
final class FreshJvm {
  private FreshJvm() {}

  /** {@return what starts one with our class path, and its {@code main} with these words} */
  static ProcessBuilder of(Class<?> main, String... words) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), main.getName()));
    command.addAll(List.of(words));
    return new ProcessBuilder(command);
  }
}
