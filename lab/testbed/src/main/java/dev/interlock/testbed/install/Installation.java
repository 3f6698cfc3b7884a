package dev.interlock.testbed.install;

import dev.interlock.testbed.process.ServerProcess;
import dev.interlock.testbed.process.Workspace;
import dev.interlock.testbed.server.DisposableServer;
import java.nio.file.Path;
import java.util.List;

/** An available server program. */
public interface Installation {

  /** {@return the origin of the program, as in {@link DisposableServer#source()}} */
  String source();

  /**
   * Prepares a process, without starting it.
   *
   * @param arguments the arguments of the program
   * @param directory the server's own directory, which it may write
   */
  ServerProcess process(Workspace workspace, Path directory, List<String> arguments);
}
