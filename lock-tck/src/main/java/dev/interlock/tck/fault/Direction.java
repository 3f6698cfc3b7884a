package dev.interlock.tck.fault;

/** A direction in which bytes pass a {@link FaultProxy}. */
public enum Direction {
  /** Requests: what the client sends. */
  CLIENT_TO_SERVER,
  /** Replies and notifications: what the server sends. */
  SERVER_TO_CLIENT
}
