package dev.interlock.tck.fault;

/** One of the two ways in which bytes travel through a {@link FaultProxy}. */
public enum Direction {
  /** Requests: what the client sends. */
  CLIENT_TO_SERVER,
  /** Replies and notifications: what the server sends. */
  SERVER_TO_CLIENT
}
