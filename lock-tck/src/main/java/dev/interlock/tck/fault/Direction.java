package dev.interlock.tck.fault;

/** A direction in which bytes pass a {@link FaultProxy}. */
public enum Direction {
  /** Requests. */
  CLIENT_TO_SERVER,
  /** Replies and notifications. */
  SERVER_TO_CLIENT
}
