package dev.interlock.storm.nemesis;

import dev.interlock.Fault;
import java.time.Duration;
import java.util.Locale;

/** The faults that the nemesis injects, each an instance of one fault of the failure model. */
public enum FaultKind {
  /** A process of clients is killed, and another one started in its place. */
  KILL_CLIENT(Fault.CLIENT_KILLED, Scope.PROCESS, 4, 300, 2_000),
  /** A process of clients stands still, often for longer than its leases are valid. */
  STOP_CLIENT(Fault.CLIENT_STOPPED, Scope.PROCESS, 6, 300, 6_000),

  /** A client's connections are closed, and new ones refused. */
  CUT(Fault.CONNECTION_LOST, Scope.NETWORK, 3, 100, 4_000),
  /** A client's connections are reset once. */
  RESET(Fault.CONNECTION_LOST, Scope.NETWORK, 3, 0, 0),
  /** The addresses of some servers lead to another one. */
  MOVE_ADDRESSES(Fault.CONNECTION_LOST, Scope.NETWORK, 3, 1_000, 6_000),
  /** Nothing passes in either direction. */
  PARTITION(Fault.PARTITION, Scope.NETWORK, 3, 300, 6_000),
  /** The connections that are open fall silent; new ones work. */
  SILENCE(Fault.PARTITION, Scope.NETWORK, 2, 300, 4_000),
  /** Requests vanish. */
  LOSE_REQUESTS(Fault.PARTITION, Scope.NETWORK, 2, 300, 4_000),
  /** Requests arrive, and their answers vanish. */
  LOSE_REPLIES(Fault.PARTITION, Scope.NETWORK, 3, 300, 4_000),
  /** Requests are kept, and arrive when the fault is over. */
  HOLD_REQUESTS(Fault.PARTITION, Scope.NETWORK, 2, 300, 5_000),
  /** Answers are kept, and arrive when the fault is over. */
  HOLD_REPLIES(Fault.PARTITION, Scope.NETWORK, 2, 300, 5_000),
  /** Requests on the connections that are open are overtaken by those on new ones. */
  OVERTAKE(Fault.PARTITION, Scope.NETWORK, 2, 300, 5_000),
  /** Answers are late. */
  DELAY(Fault.PARTITION, Scope.NETWORK, 6, 1_500, 6_000),

  /** A server stands still. */
  STOP_SERVER(Fault.SERVER_STOPPED, Scope.STORE, 3, 200, 4_000),
  /** A server becomes a replica at its own address, and refuses to write; then a primary again. */
  DEMOTE_SERVER(Fault.SERVER_STOPPED, Scope.STORE, 3, 200, 4_000),
  /** A server is killed, and started again with its data. */
  RESTART_SERVER(Fault.SERVER_RESTARTED, Scope.STORE, 2, 0, 2_000),
  /** As many servers are killed for a while as a majority can do without. */
  LOSE_MINORITY(Fault.MINORITY_LOST, Scope.STORE, 2, 500, 5_000),
  /** A server is cut off from the others, often for longer than they take to notice. */
  CUT_OFF_SERVER(Fault.MINORITY_LOST, Scope.STORE, 2, 2_000, 10_000),
  /** Another server takes the lead. */
  CHANGE_LEADER(Fault.LEADER_CHANGED, Scope.STORE, 2, 0, 0),
  /** The leader is killed for a while. */
  LOSE_LEADER(Fault.LEADER_CHANGED, Scope.STORE, 2, 500, 4_000),
  /** The primary is killed, and its replica takes over, which may not have all writes. */
  FAIL_OVER(Fault.ASYNC_FAILOVER, Scope.STORE, 2, 0, 0),
  /** A primary is cut off from its replica, which takes over, while clients still reach both. */
  CUT_OFF_PRIMARY(Fault.ASYNC_FAILOVER, Scope.STORE, 2, 200, 6_000),
  /** A server is killed, and started again without its data. */
  EMPTY_SERVER(Fault.SERVER_RESTARTED_EMPTY, Scope.STORE, 2, 0, 1_000),
  /** A server's time of day jumps ahead or back; its monotonic clock does not. */
  STEP_CLOCK(Fault.SERVER_CLOCK_STEPPED, Scope.STORE, 2, 500, 4_000),
  /** Locks are deleted behind their holders' backs, again and again. */
  DELETE(Fault.FORCED_RELEASE, Scope.STORE, 4, 500, 4_000),
  /** A client's session is ended on the server, and with it all that depends on it. */
  END_SESSION(Fault.FORCED_RELEASE, Scope.STORE, 4, 0, 0);

  /** What a fault hits. */
  public enum Scope {
    /** One process of clients. */
    PROCESS,
    /** The network between one process of clients and the store. */
    NETWORK,
    /** The store; only one that was started for the storm. */
    STORE
  }

  private final Fault fault;
  private final Scope scope;
  private final int weight;
  private final Duration shortest;
  private final Duration longest;

  FaultKind(Fault fault, Scope scope, int weight, int shortestMillis, int longestMillis) {
    this.fault = fault;
    this.scope = scope;
    this.weight = weight;
    this.shortest = Duration.ofMillis(shortestMillis);
    this.longest = Duration.ofMillis(longestMillis);
  }

  /** {@return the fault of the failure model that it is an instance of} */
  public Fault fault() {
    return fault;
  }

  /** {@return what it hits} */
  public Scope scope() {
    return scope;
  }

  /** How often it is chosen, compared with the others. */
  int weight() {
    return weight;
  }

  Duration shortest() {
    return shortest;
  }

  Duration longest() {
    return longest;
  }

  /** {@return what it is called in reports, for example {@code lose replies}} */
  public String label() {
    return name().toLowerCase(Locale.ROOT).replace('_', ' ');
  }
}
