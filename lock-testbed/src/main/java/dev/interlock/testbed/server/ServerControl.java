package dev.interlock.testbed.server;

import dev.interlock.testbed.server.DisposableServer.State;

/** What the testbed may do to one server; the methods are those of {@link DisposableServer}. */
public interface ServerControl {
  boolean canBeHurt();

  State state();

  void pause();

  void resume();

  void kill();

  void restart();

  void restartEmpty();

  String log();

  void close();
}
