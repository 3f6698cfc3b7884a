package dev.interlock;

/** A fault of a client, a server or the network between them. More may be added. */
public enum Fault {
  /** The client's process is killed. */
  CLIENT_KILLED,
  /** The client's process is paused for longer than the validity of its leases, and resumes. */
  CLIENT_STOPPED,
  /** The client's connections break. */
  CONNECTION_LOST,
  /** The network drops packets, in either direction, without breaking connections. */
  PARTITION,
  /** A server process is paused for a while, and resumes. */
  SERVER_STOPPED,
  /** A server is restarted with all of its data. */
  SERVER_RESTARTED,
  /** A server is restarted without its data, or without the last writes. */
  SERVER_RESTARTED_EMPTY,
  /** An asynchronous replica takes over. */
  ASYNC_FAILOVER,
  /** Fewer than half of the nodes are dead. */
  MINORITY_LOST,
  /** The cluster's leader changes. */
  LEADER_CHANGED,
  /** A server's wall clock is set forward or back. */
  SERVER_CLOCK_STEPPED,
  /** The client's machine sleeps. */
  MACHINE_SUSPENDED,
  /** The store evicts entries because it is full. */
  EVICTION,
  /** A person deletes the lock, or {@link LockAdmin#forceRelease(String)} is called. */
  FORCED_RELEASE
}
