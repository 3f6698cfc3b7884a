package dev.interlock.testbed.server;

import dev.interlock.testbed.install.BinaryInstallation;
import dev.interlock.testbed.install.Installation;
import dev.interlock.testbed.install.UnsuitableSourceException;
import dev.interlock.testbed.process.Program;
import dev.interlock.testbed.process.ServerProcess;
import dev.interlock.testbed.process.TestbedException;
import dev.interlock.testbed.process.Workspace;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/**
 * A server program whose clock shows another time of day, through a preloaded library. Its
 * monotonic clock is correct. A file in the server's directory has the difference; the library maps
 * it into memory, so that the clock can be set while the server runs. (libfaketime does more, but
 * redis-server hangs under it during its start.)
 *
 * @param compiler the C compiler for the library
 * @param ahead the first difference
 */
public record WrongClock(BinaryInstallation program, Path compiler, Duration ahead)
    implements Installation {
  private static final String SOURCE = "wrong-clock.c";
  private static final String DIRECTORY = "wrong-clock";
  private static final String LIBRARY = "wrong-clock.so";
  private static final String FILE = "clock-ahead";

  /**
   * Gives a program a wrong clock.
   *
   * @param ahead the difference to the correct time, in whole seconds; negative for behind
   * @throws UnsuitableSourceException if this program or this machine does not support it
   */
  public static WrongClock on(Installation installation, Duration ahead)
      throws UnsuitableSourceException {
    if (!(installation instanceof BinaryInstallation program)) {
      throw new UnsuitableSourceException("a wrong clock needs a server program on this machine");
    }
    if (!System.getProperty("os.name", "").equals("Linux")) {
      throw new UnsuitableSourceException("a wrong clock needs Linux");
    }
    return new WrongClock(program, findCompiler(), ahead);
  }

  /** Finds any C compiler: the source needs no headers, and the library no others. */
  private static Path findCompiler() throws UnsuitableSourceException {
    Optional<Path> installed = BinaryInstallation.onPath("cc", "gcc");
    try {
      return installed.isPresent()
          ? installed.get()
          : BinaryInstallation.find("tcc", "interlock.tcc.binary").program();
    } catch (UnsuitableSourceException e) {
      throw new UnsuitableSourceException(
          "a wrong clock needs a C compiler: there is no cc or gcc on the PATH, and "
              + e.getMessage());
    }
  }

  @Override
  public String source() {
    return program.source();
  }

  @Override
  public ServerProcess process(Workspace workspace, Path directory, List<String> arguments) {
    set(directory, ahead);
    Path library = workspace.sharedDirectory(DIRECTORY, this::compile).resolve(LIBRARY);
    String file = directory.resolve(FILE).toString();
    return program
        .with(Map.of("LD_PRELOAD", library.toString(), "INTERLOCK_CLOCK_FILE", file))
        .process(workspace, directory, arguments);
  }

  /**
   * Sets the clock of the server in that directory.
   *
   * @param ahead the difference to the correct time, in whole seconds; negative for behind
   */
  static void set(Path directory, Duration ahead) {
    ByteBuffer seconds = ByteBuffer.allocate(Long.BYTES).order(ByteOrder.nativeOrder());
    seconds.putLong(0, ahead.toSeconds());
    // Written in place, since the server has mapped this file.
    try (FileChannel file =
        FileChannel.open(
            directory.resolve(FILE), StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
      file.write(seconds, 0);
    } catch (IOException e) {
      throw new TestbedException("cannot set the clock of a server: " + e.getMessage(), e);
    }
  }

  /** {@return the difference of the clock of the server in that directory} */
  static Duration read(Path directory) {
    try {
      byte[] seconds = Files.readAllBytes(directory.resolve(FILE));
      return Duration.ofSeconds(ByteBuffer.wrap(seconds).order(ByteOrder.nativeOrder()).getLong());
    } catch (IOException e) {
      throw new TestbedException("cannot read the clock of a server: " + e.getMessage(), e);
    }
  }

  private void compile(Path directory) {
    // so that a server of another user can load the library
    directory.toFile().setExecutable(true, false);
    Path source = directory.resolve(SOURCE);
    try (InputStream resource = WrongClock.class.getResourceAsStream(SOURCE)) {
      Files.copy(Objects.requireNonNull(resource, SOURCE), source);
      List<String> command = new ArrayList<>();
      command.addAll(List.of(compiler.toString(), "-shared", "-fPIC", "-nostdlib", "-o"));
      command.addAll(List.of(directory.resolve(LIBRARY).toString(), source.toString()));
      Program.run(command);
    } catch (IOException e) {
      throw new TestbedException("cannot compile the wrong clock: " + e.getMessage(), e);
    }
  }

  /** Checks that the server reports the time of its clock. */
  static void verify(DisposableServer server, Duration ahead) {
    try {
      long before = System.currentTimeMillis() + ahead.toMillis();
      long seconds = server.askTime();
      long after = System.currentTimeMillis() + ahead.toMillis();
      if (seconds < before / 1_000 - 1 || seconds > after / 1_000 + 1) {
        throw new TestbedException(
            "%s does not use its own clock, which is %s ahead: it reports %d instead of %d"
                .formatted(server.name(), ahead, seconds, before / 1_000));
      }
    } catch (IOException e) {
      throw new TestbedException(server.name() + " does not report its time: " + e.getMessage(), e);
    }
  }
}
