package dev.interlock.testbed.install;

import dev.interlock.testbed.process.ServerProcess;
import dev.interlock.testbed.process.Workspace;
import dev.interlock.testbed.server.DisposableServer;
import java.nio.file.Path;
import java.util.List;

/** A server program that was found, ready to be run as often as needed. */
public interface Installation {

  /** How it was found, as {@link DisposableServer#how()} says it. */
  String how();

  /**
   * Prepares a process; nothing is started.
   *
   * @param arguments what follows the program's name on its command line
   * @param directory the directory of this one server, where it may write
   */
  ServerProcess process(Workspace workspace, Path directory, List<String> arguments);
}
