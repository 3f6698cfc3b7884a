package dev.interlock.testbed.database;

import dev.interlock.testbed.install.BinaryInstallation;
import dev.interlock.testbed.install.Installation;
import dev.interlock.testbed.install.UnsuitableWayException;
import dev.interlock.testbed.process.Directories;
import dev.interlock.testbed.process.Ports;
import dev.interlock.testbed.server.DeploymentBuilder;
import dev.interlock.testbed.server.DisposableServer;
import dev.interlock.testbed.server.EndpointUri;
import dev.interlock.testbed.server.Place;
import dev.interlock.testbed.server.Way;
import dev.interlock.testbed.server.WrongClock;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What is wanted of a database server before it is started.
 *
 * @param <B> the type of this builder, returned by its own methods
 * @param <S> what {@link #start()} gives
 */
public abstract class DatabaseBuilder<B extends DatabaseBuilder<B, S>, S extends DatabaseServer>
    extends DeploymentBuilder<B, S> {
  private final String scheme;
  private final int defaultPort;
  private final String administrator;
  private final Factory<S> servers;
  private @Nullable Duration ahead;

  /** Makes a server that has yet to be started. */
  interface Factory<S> {
    S server(String how, DatabaseServer.Access access, DisposableServer.@Nullable Parts parts);
  }

  /**
   * Wants the defaults.
   *
   * @param scheme of URIs; the script that runs a server is called so, too
   * @param defaultPort the port of a named endpoint that names none
   * @param administrator the user who may do everything on a server of ours
   */
  DatabaseBuilder(
      String kind, String scheme, int defaultPort, String administrator, Factory<S> servers) {
    super(kind, "interlock." + scheme + ".uri");
    this.scheme = scheme;
    this.defaultPort = defaultPort;
    this.administrator = administrator;
    this.servers = servers;
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

  /** Finds the program on this machine. */
  abstract BinaryInstallation find() throws UnsuitableWayException;

  /**
   * The files that the script reads, with their lines.
   *
   * @param port where the server is to listen
   * @param more lines to add to the settings
   */
  abstract Map<String, List<String>> files(int port, List<String> more);

  @Override
  protected final S named(String text) {
    EndpointUri uri = EndpointUri.parse(text, scheme, defaultPort);
    DatabaseEndpoint endpoint = DatabaseEndpoint.of(uri, scheme);
    DatabaseServer.Access access = new DatabaseServer.Access(endpoint, endpoint, text);
    return started(servers.server("endpoint " + uri, access, null));
  }

  @Override
  protected final S launch(Way way) throws UnsuitableWayException {
    if (way != Way.BINARY) {
      throw new UnsuitableWayException("databases are programs of this machine only");
    }
    BinaryInstallation found = find();
    Installation script =
        new BinaryInstallation(found.how(), Path.of("/bin/sh"), found.environment());
    Installation shell = ahead == null ? script : WrongClock.on(script, ahead);
    List<String> more = List.copyOf(extra);
    String name = String.valueOf(found.program().getFileName());
    return retryOnBindConflict(
        () -> {
          int port = Ports.reserve();
          return Place.launch(
              name, place -> launch(found.program(), shell, place, port, more), port);
        });
  }

  private S launch(Path program, Installation shell, Place place, int port, List<String> more) {
    DatabaseEndpoint clients =
        new DatabaseEndpoint(
            scheme,
            "127.0.0.1",
            port,
            DatabaseServer.DATABASE,
            DatabaseServer.USER,
            DatabaseServer.PASSWORD);
    Path directory = place.directory();
    String script = scheme + ".sh";
    try (InputStream text = DatabaseBuilder.class.getResourceAsStream(script)) {
      for (Map.Entry<String, List<String>> file : files(port, more).entrySet()) {
        Files.write(directory.resolve(file.getKey()), file.getValue());
      }
      String commands =
          new String(Objects.requireNonNull(text, script).readAllBytes(), StandardCharsets.UTF_8);
      DisposableServer.Parts parts =
          place.parts(
              shell,
              List.of("-c", commands, script, program.toString()),
              () -> Directories.delete(directory.resolve("data")));
      DatabaseServer.Access access =
          new DatabaseServer.Access(
              clients,
              clients.as(administrator, DatabaseServer.ADMINISTRATORS_PASSWORD),
              clients.uri());
      return started(servers.server(shell.how(), access, parts));
    } catch (IOException e) {
      throw new UncheckedIOException("cannot write below " + directory, e);
    }
  }

  private S started(S server) {
    server.awaitStart();
    return server;
  }
}
