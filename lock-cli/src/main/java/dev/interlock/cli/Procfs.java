package dev.interlock.cli;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Reads from {@code /proc} of Linux, see proc(5), what Java does not tell about processes. On other
 * systems, and for processes of other users, it finds nothing.
 */
final class Procfs {
  private static final Path ROOT = Path.of("/proc");

  // Indexes of fields in /proc/PID/stat, counted after the parenthesised program name.
  private static final int STATE = 0;
  private static final int GROUP = 2;
  private static final int TERMINAL_GROUP = 5;

  private Procfs() {}

  /** {@return the processes that were started with this variable, written NAME=value} */
  static List<ProcessHandle> startedWith(String variable) {
    List<ProcessHandle> found = new ArrayList<>();
    try (DirectoryStream<Path> processes = Files.newDirectoryStream(ROOT, "[0-9]*")) {
      for (Path process : processes) {
        if (hasVariable(process, variable)) {
          ProcessHandle.of(Long.parseLong(process.getFileName().toString())).ifPresent(found::add);
        }
      }
    } catch (IOException | DirectoryIteratorException e) {
      return found; // no /proc here
    }
    return found;
  }

  /** {@return whether the process was started with this variable, written NAME=value} */
  static boolean wasStartedWith(ProcessHandle process, String variable) {
    return hasVariable(ROOT.resolve(Long.toString(process.pid())), variable);
  }

  private static boolean hasVariable(Path process, String variable) {
    return environment(process).contains("\0" + variable + "\0");
  }

  /** {@return the variables of the process, each as NAME=value between two NULs} */
  private static String environment(Path process) {
    try {
      byte[] bytes = Files.readAllBytes(process.resolve("environ"));
      return "\0" + new String(bytes, StandardCharsets.ISO_8859_1);
    } catch (IOException e) {
      return ""; // the process has ended, or belongs to another user
    }
  }

  /** {@return whether the process has ended but its parent has not collected its exit status} */
  static boolean isZombie(ProcessHandle process) {
    String state = stat(Long.toString(process.pid()), STATE);
    return state.equals("Z") || state.equals("X");
  }

  /**
   * {@return whether this process is in the foreground of its terminal} If so, an interrupt typed
   * there also reaches its children.
   */
  static boolean inForeground() {
    String group = stat("self", GROUP);
    return !group.isEmpty() && group.equals(stat("self", TERMINAL_GROUP));
  }

  /**
   * {@return a field of the process's stat file; empty if there is no such process, or no /proc}
   */
  private static String stat(String process, int index) {
    try {
      String line =
          Files.readString(ROOT.resolve(process).resolve("stat"), StandardCharsets.ISO_8859_1);
      // The name before it may contain parentheses and blanks.
      String[] fields = line.substring(line.lastIndexOf(')') + 1).strip().split(" ", -1);
      return index < fields.length ? fields[index] : "";
    } catch (IOException e) {
      return "";
    }
  }
}
