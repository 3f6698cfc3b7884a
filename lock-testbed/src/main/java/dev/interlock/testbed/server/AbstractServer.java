package dev.interlock.testbed.server;

import java.io.IOException;
import java.time.Duration;

/** What the servers of all kinds have in common. */
public abstract class AbstractServer implements DisposableServer {
  private final String name;
  private final String host;
  private final int port;
  private final String how;
  private final Probe probe;
  private final ServerControl control;

  protected AbstractServer(
      String name, String host, int port, String how, Probe probe, ServerControl control) {
    this.name = name;
    this.host = host;
    this.port = port;
    this.how = how;
    this.probe = probe;
    this.control = control;
  }

  @Override
  public final String name() {
    return name;
  }

  @Override
  public final String host() {
    return host;
  }

  @Override
  public final int port() {
    return port;
  }

  @Override
  public final String how() {
    return how;
  }

  @Override
  public final State state() {
    return control.state();
  }

  @Override
  public final boolean answers(Duration limit) {
    try {
      probe.ready(limit);
      return true;
    } catch (IOException silent) {
      return false;
    }
  }

  @Override
  public final boolean canBeHurt() {
    return control.canBeHurt();
  }

  @Override
  public final void pause() {
    control.pause();
  }

  @Override
  public final void resume() {
    control.resume();
  }

  @Override
  public final void kill() {
    control.kill();
  }

  @Override
  public final void restart() {
    control.restart();
  }

  @Override
  public void restartEmpty() {
    control.restartEmpty();
  }

  @Override
  public final String log() {
    return control.log();
  }

  @Override
  public final void close() {
    control.close();
  }

  /** The server's name, address, origin and state; no password. */
  @Override
  public final String toString() {
    return name + " at " + host + ":" + port + " (" + how + ", " + state() + ")";
  }
}
