package dev.interlock.testbed.database;

import dev.interlock.testbed.install.BinaryInstallation;
import dev.interlock.testbed.install.Installation;
import dev.interlock.testbed.install.UnsuitableSourceException;
import dev.interlock.testbed.process.Directories;
import dev.interlock.testbed.process.Ports;
import dev.interlock.testbed.server.DeploymentBuilder;
import dev.interlock.testbed.server.DisposableServer;
import dev.interlock.testbed.server.EndpointUri;
import dev.interlock.testbed.server.Place;
import dev.interlock.testbed.server.ServerSource;
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
 * The settings of a database server before it is started.
 *
 * @param <B> the type of this builder, returned by its own methods
 * @param <S> the type of the server
 */
public abstract class DatabaseBuilder<B extends DatabaseBuilder<B, S>, S extends DatabaseServer>
    extends DeploymentBuilder<B, S> {
  private final String scheme;
  private final int defaultPort;
  private final String administrator;
  private final Factory<S> servers;
  private @Nullable Duration ahead;

  /** Creates a server without starting it. */
  interface Factory<S> {
    S server(String source, DatabaseServer.Access access, DisposableServer.@Nullable Parts parts);
  }

  /**
   * Creates a builder with the default settings.
   *
   * @param scheme the scheme of URIs, and the name of the script that runs a server
   * @param defaultPort the port of a named endpoint without a port
   * @param administrator the superuser of a server that the testbed starts
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
   * Gives the server a clock of its own, which {@link DatabaseServer#setClock} sets. Requires
   * Linux, a C compiler, and a server program on this machine.
   *
   * @param ahead the first difference to the correct time, in whole seconds; negative for behind
   */
  public final B clockAhead(Duration ahead) {
    this.ahead = ahead;
    return self();
  }

  /**
   * Makes the server confirm commits before they are on disk, so that a slow disk does not disturb
   * measurements. Commits survive a kill of the server, but not a crash of the machine.
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
  abstract BinaryInstallation find() throws UnsuitableSourceException;

  /**
   * {@return the files that the script reads, by name, with their lines}
   *
   * @param port the port for the server
   * @param more further lines of the settings
   */
  abstract Map<String, List<String>> files(int port, List<String> more);

  @Override
  protected final S named(String text) {
    EndpointUri uri = EndpointUri.parse(text, scheme, defaultPort);
    DatabaseEndpoint endpoint = DatabaseEndpoint.of(uri, scheme);
    DatabaseServer.Access access = new DatabaseServer.Access(endpoint, endpoint, text);
    return start(servers.server("endpoint " + uri, access, null));
  }

  @Override
  protected final S launch(ServerSource source) throws UnsuitableSourceException {
    if (source != ServerSource.BINARY) {
      throw new UnsuitableSourceException(
          "the testbed starts databases only from programs on this machine");
    }
    BinaryInstallation found = find();
    Installation script =
        new BinaryInstallation(found.source(), Path.of("/bin/sh"), found.environment());
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
      return start(servers.server(shell.source(), access, parts));
    } catch (IOException e) {
      throw new UncheckedIOException("cannot write below " + directory, e);
    }
  }

  private S start(S server) {
    server.awaitStart();
    return server;
  }
}
