package dev.interlock.testbed.server;

import dev.interlock.testbed.install.Installation;
import dev.interlock.testbed.process.Directories;
import dev.interlock.testbed.process.Ports;
import dev.interlock.testbed.process.Workspace;
import java.io.Closeable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/** What one server of ours occupies: a directory of the workspace, and ports. */
public final class Place {
  private final Workspace workspace;
  private final Path directory;
  private final int[] ports;
  private final List<Closeable> kept = new ArrayList<>();
  private boolean left;

  private Place(Workspace workspace, Path directory, int... ports) {
    this.workspace = workspace;
    this.directory = directory;
    this.ports = ports;
  }

  /**
   * Launches a server at a new place, which is left again if that fails.
   *
   * @param name the server's name
   * @param launch returns the server, which leaves the place when it is closed
   * @param ports what has been reserved for it
   */
  public static <S> S launch(String name, Function<Place, S> launch, int... ports) {
    Workspace workspace = Workspace.join();
    Place place = new Place(workspace, workspace.newDirectory(name), ports);
    try {
      return launch.apply(place);
    } catch (RuntimeException e) {
      place.leave();
      throw e;
    }
  }

  /** {@return the directory that all servers share with this one} */
  public Workspace workspace() {
    return workspace;
  }

  /**
   * Prepares a server here.
   *
   * @param arguments what follows the program's name on its command line
   * @param wipe removes the server's data while it is down
   */
  public DisposableServer.Parts parts(
      Installation installation, List<String> arguments, Runnable wipe) {
    return new DisposableServer.Parts(
        installation.process(workspace, directory, arguments),
        wipe,
        this::leave,
        installation instanceof WrongClock ? directory : null);
  }

  public Path directory() {
    return directory;
  }

  /** Has something closed when the place is left. */
  public synchronized void keep(Closeable what) {
    kept.add(what);
  }

  /** Deletes the directory and gives the ports up. Idempotent. */
  public synchronized void leave() {
    if (left) {
      return;
    }
    left = true;
    try {
      for (Closeable each : kept) {
        each.close();
      }
      Directories.delete(directory);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } finally {
      Ports.release(ports);
      workspace.leave();
    }
  }
}
