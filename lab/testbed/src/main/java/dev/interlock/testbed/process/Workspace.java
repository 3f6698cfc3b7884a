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
 * The directory below which all servers of this JVM keep their files, and the process that cleans
 * up after the JVM however it ends.
 *
 * <p>The cleaner is a shell that reads from a pipe of which only this JVM holds the other end, and
 * which says what processes run. When the pipe closes (at the last server's close, at the JVM's
 * exit, or because the JVM was killed) it kills those that are left and removes the directory.
 * Linux's parent-death signal would not do: it follows the thread that started the process, and it
 * exists on Linux only.
 *
 * <p>Other users can pass through the directory but not list it, so that a server that does not run
 * as root reaches its own directory within; only the owner of that one can read it.
 *
 * <p>Opened by the first server, closed with the last: afterwards neither process nor directory is
 * left.
 */
public final class Workspace {
  // The signals of a terminal reach the whole group; the cleaner has work to do after them.
  private static final String CLEANER =
      """
      trap '' INT HUP TERM
      running=
      while read -r change pid; do
        case $change in
          +) running="$running $pid" ;;
          -) left=
             for other in $running; do [ "$other" = "$pid" ] || left="$left $other"; done
             running=$left ;;
        esac
      done
      [ -z "$running" ] || kill -KILL $running 2>/dev/null
      for try in 1 2 3 4 5; do
        rm -rf -- "$1" 2>/dev/null && break
        sleep 1 # processes that the killed ones had started may still write
      done
      """;

  // This and the counts below are touched only with this class's monitor held.
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

  /** Opens the workspace, or joins its other users; each call needs one {@link #leave}. */
  public static Workspace join() {
    synchronized (Workspace.class) {
      if (current == null) {
        try {
          current = new Workspace();
        } catch (IOException e) {
          throw new UncheckedIOException("cannot make a directory for test servers", e);
        }
      }
      current.users++;
      return current;
    }
  }

  /** Ends one use; the last one removes everything. */
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
        return; // the hook runs already
      }
      clean();
    }
  }

  /** A new, empty directory that only this user can read: configurations hold passwords. */
  public Path newDirectory(String name) {
    synchronized (Workspace.class) {
      directories++;
      try {
        return Files.createDirectory(
            root.resolve(directories + "-" + name), permissions("rwx------"));
      } catch (IOException e) {
        throw new UncheckedIOException("cannot make a directory for " + name, e);
      }
    }
  }

  /** A directory that all servers of the workspace share, created and filled on first use. */
  public Path sharedDirectory(String name, Consumer<Path> fill) {
    synchronized (Workspace.class) {
      Path directory = root.resolve(name);
      if (!Files.exists(directory)) {
        try {
          fill.accept(Files.createDirectory(directory, permissions("rwx------")));
        } catch (IOException e) {
          throw new UncheckedIOException("cannot make a directory for " + name, e);
        } catch (RuntimeException e) {
          Directories.delete(directory);
          throw e;
        }
      }
      return directory;
    }
  }

  /** To be called as soon as the process runs. */
  void started(long pid) {
    tell("+ " + pid);
  }

  /** To be called once the process has ended: its number may soon belong to another. */
  void ended(long pid) {
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
      throw new UncheckedIOException("the process that cleans up after test servers has gone", e);
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
      Thread.currentThread().interrupt(); // the cleaner goes on without us
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
