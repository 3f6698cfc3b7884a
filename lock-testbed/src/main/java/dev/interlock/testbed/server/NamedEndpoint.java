package dev.interlock.testbed.server;

import dev.interlock.testbed.server.DisposableServer.State;

/** A server that the user named: it is looked at and never touched. */
public record NamedEndpoint(String address) implements ServerControl {

  @Override
  public boolean canBeHurt() {
    return false;
  }

  @Override
  public State state() {
    return State.RUNNING;
  }

  @Override
  public void pause() {
    throw refusal();
  }

  @Override
  public void resume() {
    throw refusal();
  }

  @Override
  public void kill() {
    throw refusal();
  }

  @Override
  public void restart() {
    throw refusal();
  }

  @Override
  public void restartEmpty() {
    throw refusal();
  }

  @Override
  public String log() {
    return "";
  }

  @Override
  public void close() {
    // it was there before us and stays
  }

  private UnsupportedOperationException refusal() {
    return new UnsupportedOperationException(
        address
            + " is an endpoint that you named; the testbed hurts only servers that it started."
            + " Unset it, or ask for forFaults()");
  }
}
