package dev.interlock.testbed.process;

import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The directory for the files of all servers of this JVM, and a process that cleans up when the JVM
 * ends, even if the JVM is killed.
 *
 * <p>The cleaner is a shell that reads the numbers of running processes from a pipe, of which only
 * this JVM has the other end. When the pipe closes (with the last server, or at the end of the
 * JVM), the shell kills the remaining processes, and removes the directory. Linux's parent-death
 * signal is no alternative, since it is bound to the thread that started the process.
 *
 * <p>Other users can traverse the directory but not list it, so that a server of another user can
 * reach its own directory in it. Only that directory's owner can read it.
 *
 * <p>The first server opens the workspace, and the last one closes it.
 */
public final class Workspace {
  // The signals of a terminal reach the whole group, but the cleaner must outlive the JVM.
  private static final String CLEANER =
      """
      trap '' INT HUP TERM
      running=
      while read -r change pid; do
        case $change in
          +) running="$running $pid" ;;
          -) rest=
             for other in $running; do [ "$other" = "$pid" ] || rest="$rest $other"; done
             running=$rest ;;
        esac
      done
      [ -z "$running" ] || kill -KILL $running 2>/dev/null
      for try in 1 2 3 4 5; do
        rm -rf -- "$1" 2>/dev/null && break
        sleep 1 # children of killed processes may still write
      done
      """;

  // This and the counts below are guarded by this class's monitor.
  private static @Nullable Workspace current;

  private final Path root;
  private final @Nullable Process cleaner;
  private final Thread atExit = new Thread(this::clean, "interlock-testbed-exit");

  private int users;
  private int directories;

  private Workspace() throws IOException {
    root = Files.createTempDirectory("interlock-testbed-", permissions("rwx--x--x"));
    cleaner = startCleaner(root);
    Runtime.getRuntime().addShutdownHook(atExit);
  }

  /** Opens or shares the workspace. Each call needs one {@link #leave}. */
  public static Workspace join() {
    synchronized (Workspace.class) {
      if (current == null) {
        try {
          current = new Workspace();
        } catch (IOException e) {
          throw new UncheckedIOException("cannot create a directory for test servers", e);
        }
      }
      current.users++;
      return current;
    }
  }

  /** Ends one use. The last one removes the workspace. */
  public void leave() {
    synchronized (Workspace.class) {
      users--;
      if (users > 0) {
        return;
      }
      current = null;
      try {
        Runtime.getRuntime().removeShutdownHook(atExit);
      } catch (IllegalStateException exiting) {
        return; // the hook is already running
      }
      clean();
    }
  }

  /** Creates a directory that only this user can read, since configurations contain passwords. */
  public Path newDirectory(String name) {
    synchronized (Workspace.class) {
      directories++;
      try {
        return Files.createDirectory(
            root.resolve(directories + "-" + name), permissions("rwx------"));
      } catch (IOException e) {
        throw new UncheckedIOException("cannot create a directory for " + name, e);
      }
    }
  }

  /** {@return a directory that all servers share; the first call creates and fills it} */
  public Path sharedDirectory(String name, Consumer<Path> fill) {
    synchronized (Workspace.class) {
      Path directory = root.resolve(name);
      if (!Files.exists(directory)) {
        try {
          fill.accept(Files.createDirectory(directory, permissions("rwx------")));
        } catch (IOException e) {
          throw new UncheckedIOException("cannot create a directory for " + name, e);
        } catch (RuntimeException e) {
          Directories.delete(directory);
          throw e;
        }
      }
      return directory;
    }
  }

  /** Registers a process that has just been started, to be killed at the end of the JVM. */
  void register(long pid) {
    tell("+ " + pid);
  }

  /** Unregisters a process that has ended, since its number may soon belong to another. */
  void unregister(long pid) {
    tell("- " + pid);
  }

  private synchronized void tell(String line) {
    if (cleaner == null) {
      return;
    }
    try {
      OutputStream pipe = cleaner.getOutputStream();
      pipe.write((line + "\n").getBytes(StandardCharsets.US_ASCII));
      pipe.flush();
    } catch (IOException e) {
      throw new UncheckedIOException("the process that cleans up after test servers has ended", e);
    }
  }

  private synchronized void clean() {
    if (cleaner == null) {
      Directories.delete(root);
      return;
    }
    try {
      cleaner.getOutputStream().close();
      cleaner.waitFor(10, TimeUnit.SECONDS);
    } catch (IOException e) {
      throw new UncheckedIOException("cannot clean up after test servers", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // the cleaner continues by itself
    }
  }

  private static FileAttribute<?>[] permissions(String permissions) {
    return FileSystems.getDefault().supportedFileAttributeViews().contains("posix")
        ? new FileAttribute<?>[] {
          PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString(permissions))
        }
        : new FileAttribute<?>[0];
  }

  private static @Nullable Process startCleaner(Path root) throws IOException {
    if (!LocalProcess.isSupported()) {
      return null;
    }
    return new ProcessBuilder("sh", "-c", CLEANER, "sh", root.toString())
        .redirectOutput(Redirect.DISCARD)
        .redirectError(Redirect.DISCARD)
        .start();
  }
}
