package dev.interlock.storm.nemesis;

import dev.interlock.Fault;
import java.time.Duration;
import java.util.Locale;

/** The faults that the nemesis injects. Each is an instance of one fault of the failure model. */
public enum FaultKind {
  /** A client process is killed, and another one is started in its place. */
  KILL_CLIENT(Fault.CLIENT_KILLED, Scope.PROCESS, 4, 300, 2_000),
  /** A client process is stopped, often for longer than its leases are valid. */
  STOP_CLIENT(Fault.CLIENT_STOPPED, Scope.PROCESS, 6, 300, 6_000),

  /** A client's connections are closed, and new ones are refused. */
  CUT(Fault.CONNECTION_LOST, Scope.NETWORK, 3, 100, 4_000),
  /** A client's connections are reset once. */
  RESET(Fault.CONNECTION_LOST, Scope.NETWORK, 3, 0, 0),
  /** The addresses of some servers lead to another server. */
  MOVE_ADDRESSES(Fault.CONNECTION_LOST, Scope.NETWORK, 3, 1_000, 6_000),
  /** No message passes in either direction. */
  PARTITION(Fault.PARTITION, Scope.NETWORK, 3, 300, 6_000),
  /** Open connections fall silent; new ones work. */
  SILENCE(Fault.PARTITION, Scope.NETWORK, 2, 300, 4_000),
  /** Requests are lost. */
  LOSE_REQUESTS(Fault.PARTITION, Scope.NETWORK, 2, 300, 4_000),
  /** Requests arrive, and their replies are lost. */
  LOSE_REPLIES(Fault.PARTITION, Scope.NETWORK, 3, 300, 4_000),
  /** Requests are held back until the fault is over. */
  HOLD_REQUESTS(Fault.PARTITION, Scope.NETWORK, 2, 300, 5_000),
  /** Replies are held back until the fault is over. */
  HOLD_REPLIES(Fault.PARTITION, Scope.NETWORK, 2, 300, 5_000),
  /** Requests on new connections overtake those on open ones. */
  OVERTAKE(Fault.PARTITION, Scope.NETWORK, 2, 300, 5_000),
  /** Replies are late. */
  DELAY(Fault.PARTITION, Scope.NETWORK, 6, 1_500, 6_000),

  /** A server is stopped for a while. */
  STOP_SERVER(Fault.SERVER_STOPPED, Scope.STORE, 3, 200, 4_000),
  /** A server becomes a replica, which refuses writes, and then a primary again. */
  DEMOTE_SERVER(Fault.SERVER_STOPPED, Scope.STORE, 3, 200, 4_000),
  /** A server is killed, and started again with its data. */
  RESTART_SERVER(Fault.SERVER_RESTARTED, Scope.STORE, 2, 0, 2_000),
  /** The largest minority of the servers is killed for a while. */
  LOSE_MINORITY(Fault.MINORITY_LOST, Scope.STORE, 2, 500, 5_000),
  /** A server is cut off from the others, often until they notice. */
  CUT_OFF_SERVER(Fault.MINORITY_LOST, Scope.STORE, 2, 2_000, 10_000),
  /** Another server takes the lead. */
  CHANGE_LEADER(Fault.LEADER_CHANGED, Scope.STORE, 2, 0, 0),
  /** The leader is killed for a while. */
  LOSE_LEADER(Fault.LEADER_CHANGED, Scope.STORE, 2, 500, 4_000),
  /** The primary is killed, and a replica takes over that may lack the last writes. */
  FAIL_OVER(Fault.ASYNC_FAILOVER, Scope.STORE, 2, 0, 0),
  /** A primary is cut off from its replica, which takes over; clients still reach both. */
  CUT_OFF_PRIMARY(Fault.ASYNC_FAILOVER, Scope.STORE, 2, 200, 6_000),
  /** A server is killed, and started again without its data. */
  EMPTY_SERVER(Fault.SERVER_RESTARTED_EMPTY, Scope.STORE, 2, 0, 1_000),
  /** A server's time of day jumps ahead or back; its monotonic clock does not. */
  STEP_CLOCK(Fault.SERVER_CLOCK_STEPPED, Scope.STORE, 2, 500, 4_000),
  /** All locks are deleted again and again, while clients hold them. */
  DELETE(Fault.FORCED_RELEASE, Scope.STORE, 4, 500, 4_000),
  /** A client's session is ended on the server, with everything that depends on it. */
  END_SESSION(Fault.FORCED_RELEASE, Scope.STORE, 4, 0, 0);

  /** The target of a fault. */
  public enum Scope {
    /** One client process. */
    PROCESS,
    /** The network between one client and the store. */
    NETWORK,
    /** The servers of the store, if the storm has started them. */
    STORE
  }

  private final Fault fault;
  private final Scope scope;
  private final int weight;
  private final Duration minDuration;
  private final Duration maxDuration;

  FaultKind(Fault fault, Scope scope, int weight, int minMillis, int maxMillis) {
    this.fault = fault;
    this.scope = scope;
    this.weight = weight;
    this.minDuration = Duration.ofMillis(minMillis);
    this.maxDuration = Duration.ofMillis(maxMillis);
  }

  /** {@return the fault of the failure model} */
  public Fault fault() {
    return fault;
  }

  /** {@return the target of the fault} */
  public Scope scope() {
    return scope;
  }

  /** {@return the relative frequency of this kind} */
  int weight() {
    return weight;
  }

  Duration minDuration() {
    return minDuration;
  }

  Duration maxDuration() {
    return maxDuration;
  }

  /** {@return the name in reports, for example {@code lose replies}} */
  public String label() {
    return name().toLowerCase(Locale.ROOT).replace('_', ' ');
  }
}
