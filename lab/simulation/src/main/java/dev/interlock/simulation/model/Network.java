package dev.interlock.simulation.model;

import dev.interlock.simulation.machine.Machine;
import dev.interlock.simulation.machine.Scheduler;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The network between machines and servers, and its faults. */
public final class Network {

  /** The path from one machine to one server, with its faults. */
  private static final class Path {
    private int holdsRequests;
    private int holdsReplies;
    private int cut;
    private final List<Runnable> whenHealed = new ArrayList<>();
  }

  private final Scheduler scheduler;
  private final long usualDelay;
  private final Map<String, Path> paths = new HashMap<>();
  private long extraDelay;
  private boolean steady;

  public Network(Scheduler scheduler, long usualDelay) {
    this.scheduler = scheduler;
    this.usualDelay = usualDelay;
  }

  private Path path(Machine machine, Server server) {
    return paths.computeIfAbsent(machine.name() + ">" + server.name, key -> new Path());
  }

  long delay() {
    long delay = usualDelay / 4 + scheduler.random(usualDelay);
    if (scheduler.random(50) == 0) {
      delay += scheduler.random(Math.min(usualDelay * 20, 40_000_000));
    }
    return delay + (steady || extraDelay == 0 ? extraDelay : scheduler.random(extraDelay));
  }

  boolean holdsRequests(Machine machine, Server server) {
    return path(machine, server).holdsRequests > 0;
  }

  boolean holdsReplies(Machine machine, Server server) {
    return path(machine, server).holdsReplies > 0;
  }

  void whenHealed(Machine machine, Server server, Runnable action) {
    path(machine, server).whenHealed.add(action);
  }

  /** Delays each message by the extra time, or by a random part of it. */
  public void slow(long extra, boolean always, long nanos) {
    extraDelay = extra;
    steady = always;
    scheduler.after(
        nanos,
        () -> {
          extraDelay = 0;
          steady = false;
        });
  }

  /** Holds back messages in these directions until the fault ends, and then delivers them. */
  public void hold(Machine machine, Server server, boolean requests, boolean replies, long nanos) {
    Path path = path(machine, server);
    path.holdsRequests += requests ? 1 : 0;
    path.holdsReplies += replies ? 1 : 0;
    scheduler.after(
        nanos,
        () -> {
          path.holdsRequests -= requests ? 1 : 0;
          path.holdsReplies -= replies ? 1 : 0;
          List<Runnable> delayed = List.copyOf(path.whenHealed);
          path.whenHealed.clear();
          delayed.forEach(Runnable::run);
        });
  }

  private static List<Connection> connections(Machine machine, Server server) {
    return server.connections().stream()
        .filter(connection -> connection.machine() == machine)
        .toList();
  }

  /** Breaks all connections, and refuses new ones for some time. */
  public void cut(Machine machine, Server server, long nanos) {
    connections(machine, server).forEach(Connection::cut);
    Path path = path(machine, server);
    path.cut++;
    scheduler.after(nanos, () -> path.cut--);
  }

  /** Makes the open connections drop all messages silently. */
  public void fallSilent(Machine machine, Server server) {
    connections(machine, server).forEach(Connection::fallSilent);
  }

  /** Cuts all connections of a machine that has died. */
  public void disconnect(Machine machine, List<? extends Server> servers) {
    servers.forEach(server -> connections(machine, server).forEach(Connection::cut));
  }

  boolean refuses(Machine machine, Server server) {
    return path(machine, server).cut > 0 || !server.isUp();
  }

  /**
   * Connects at once; the first request takes the time of a handshake.
   *
   * @throws dev.interlock.LockUnavailableException if the server refuses
   */
  Connection connect(Machine machine, Server server) {
    if (refuses(machine, server)) {
      throw Connection.unavailable(server, "connection refused");
    }
    return new Connection(machine, server, this);
  }
}
