package dev.interlock.testbed.database;

import dev.interlock.testbed.install.BinaryInstallation;
import dev.interlock.testbed.install.Installation;
import dev.interlock.testbed.install.UnsuitableWayException;
import dev.interlock.testbed.process.Ports;
import dev.interlock.testbed.server.DeploymentBuilder;
import dev.interlock.testbed.server.Place;
import dev.interlock.testbed.server.Way;
import dev.interlock.testbed.server.WrongClock;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What is wanted of a database server before it is started.
 *
 * @param <B> the type of this builder, returned by its own methods
 * @param <S> what {@link #start()} gives
 */
public abstract class DatabaseBuilder<B extends DatabaseBuilder<B, S>, S extends DatabaseServer>
    extends DeploymentBuilder<B, S> {
  private @Nullable Duration ahead;

  DatabaseBuilder(String kind, String setting) {
    super(kind, setting);
  }

  /**
   * Gives the server a clock of its own, which {@link DatabaseServer#setClock} sets. Takes Linux, a
   * C compiler, and a server program of this machine.
   *
   * @param ahead by how much it is ahead at first, in whole seconds; negative for behind
   */
  public final B clockAhead(Duration ahead) {
    this.ahead = ahead;
    return self();
  }

  /**
   * Lets the server answer before the disk has what it has committed. All of it survives a kill of
   * the server, though not of the machine, and a slow disk does not delay those who measure time.
   */
  public final B withoutSync() {
    return config(withoutSyncSettings());
  }

  abstract String[] withoutSyncSettings();

  @Override
  protected final boolean isConfigured() {
    return ahead != null || !extra.isEmpty();
  }

  /**
   * A program, and what runs the script that runs it.
   *
   * @param shell has all that the program needs in its environment
   */
  record Program(Path path, Installation shell) {}

  /** Finds the program on this machine. */
  abstract BinaryInstallation find() throws UnsuitableWayException;

  /** Starts the server at a place, with lines of settings to add to its own. */
  abstract S launch(Program program, Place place, int port, List<String> more);

  @Override
  protected final S launch(Way way) throws UnsuitableWayException {
    if (way != Way.BINARY) {
      throw new UnsuitableWayException("databases are programs of this machine only");
    }
    BinaryInstallation found = find();
    Installation shell =
        new BinaryInstallation(found.how(), Path.of("/bin/sh"), found.environment());
    Program program =
        new Program(found.program(), ahead == null ? shell : WrongClock.on(shell, ahead));
    List<String> more = List.copyOf(extra);
    String name = String.valueOf(found.program().getFileName());
    return retryOnBindConflict(
        () -> {
          int port = Ports.reserve();
          return Place.launch(name, place -> launch(program, place, port, more), port);
        });
  }
}
