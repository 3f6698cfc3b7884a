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

/** The directory and the ports of one server. */
public final class Place {
  private final Workspace workspace;
  private final Path directory;
  private final int[] ports;
  private final List<Closeable> resources = new ArrayList<>();
  private boolean released;

  private Place(Workspace workspace, Path directory, int... ports) {
    this.workspace = workspace;
    this.directory = directory;
    this.ports = ports;
  }

  /**
   * Launches a server in a new directory. If that fails, directory and ports are released.
   *
   * @param name the server's name
   * @param launch returns the server, which releases the place when it is closed
   * @param ports the ports that are reserved for it
   */
  public static <S> S launch(String name, Function<Place, S> launch, int... ports) {
    Workspace workspace = Workspace.join();
    Place place = new Place(workspace, workspace.newDirectory(name), ports);
    try {
      return launch.apply(place);
    } catch (RuntimeException e) {
      place.release();
      throw e;
    }
  }

  /** {@return the workspace of all servers} */
  public Workspace workspace() {
    return workspace;
  }

  /**
   * Prepares a server in this place.
   *
   * @param arguments the arguments of the program
   * @param wipe removes the server's data while it is down
   */
  public DisposableServer.Parts parts(
      Installation installation, List<String> arguments, Runnable wipe) {
    return new DisposableServer.Parts(
        installation.process(workspace, directory, arguments),
        wipe,
        this::release,
        installation instanceof WrongClock ? directory : null);
  }

  public Path directory() {
    return directory;
  }

  /** Closes a resource when the place is released. */
  public synchronized void closeOnRelease(Closeable resource) {
    resources.add(resource);
  }

  /** Deletes the directory, and releases the ports. Idempotent. */
  public synchronized void release() {
    if (released) {
      return;
    }
    released = true;
    try {
      for (Closeable each : resources) {
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
