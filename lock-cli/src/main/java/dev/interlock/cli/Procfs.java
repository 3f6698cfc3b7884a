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
 * What Linux shows about processes under {@code /proc}, see proc(5), and Java does not. On other
 * systems, and for processes of other users, the answers are "none" and "no".
 */
final class Procfs {
  private static final Path ROOT = Path.of("/proc");

  // Places in /proc/PID/stat, counted from what follows the parenthesised program name.
  private static final int STATE = 0;
  private static final int GROUP = 2;
  private static final int TERMINAL_GROUP = 5;

  private Procfs() {}

  /** The processes that were started with the variable in their environment, as NAME=value. */
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

  /** Whether the process has the variable in its environment, as NAME=value. */
  static boolean wasStartedWith(ProcessHandle process, String variable) {
    return hasVariable(ROOT.resolve(Long.toString(process.pid())), variable);
  }

  private static boolean hasVariable(Path process, String variable) {
    return environment(process).contains("\0" + variable + "\0");
  }

  /** NAME=value pairs, each between two NULs. */
  private static String environment(Path process) {
    try {
      byte[] bytes = Files.readAllBytes(process.resolve("environ"));
      return "\0" + new String(bytes, StandardCharsets.ISO_8859_1);
    } catch (IOException e) {
      return ""; // ended meanwhile, or another user's
    }
  }

  /** Whether the process has ended, and its parent has not yet collected its exit status. */
  static boolean isZombie(ProcessHandle process) {
    String state = stat(Long.toString(process.pid()), STATE);
    return state.equals("Z") || state.equals("X");
  }

  /**
   * Whether this process is in the foreground of its terminal, so that an interrupt typed there
   * reaches its children as well.
   */
  static boolean inForeground() {
    String group = stat("self", GROUP);
    return !group.isEmpty() && group.equals(stat("self", TERMINAL_GROUP));
  }

  /** Empty if there is no such process, or no such system. */
  private static String stat(String process, int place) {
    try {
      String line =
          Files.readString(ROOT.resolve(process).resolve("stat"), StandardCharsets.ISO_8859_1);
      // The name before it may contain parentheses and blanks.
      String[] fields = line.substring(line.lastIndexOf(')') + 1).strip().split(" ", -1);
      return place < fields.length ? fields[place] : "";
    } catch (IOException e) {
      return "";
    }
  }
}
