package dev.interlock.simulation.model;

import dev.interlock.simulation.machine.Scheduler;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;

/** A server process of a store. Subclasses keep its state. */
public abstract class Server {

  final Scheduler scheduler;
  public final String name;
  private final List<Connection> connections = new ArrayList<>();
  private final Queue<Runnable> waiting = new ArrayDeque<>();
  private int connectionCount;
  private boolean up = true;
  private int stopped;
  private boolean refusing;

  Server(Scheduler scheduler, String name) {
    this.scheduler = scheduler;
    this.name = name;
  }

  // --- faults ---------------------------------------------------------------------------------

  /** Stops the server for some time. Requests that arrive meanwhile wait. */
  public void stop(long nanos) {
    stopped++;
    scheduler.after(
        nanos,
        () -> {
          stopped--;
          while (stopped == 0 && !waiting.isEmpty()) {
            waiting.remove().run();
          }
        });
  }

  /** Kills the server, and starts it again later. */
  public void restart(long downFor, boolean empty) {
    if (!up) {
      return;
    }
    up = false;
    waiting.clear();
    for (Connection connection : List.copyOf(connections)) {
      connection.cut();
    }
    if (empty) {
      forgetEverything();
    }
    scheduler.after(
        downFor,
        () -> {
          up = true;
          onStart();
        });
  }

  /** Makes the server refuse every request for some time, as a replica does. */
  public void refuse(long nanos) {
    refusing = true;
    scheduler.after(nanos, () -> refusing = false);
  }

  boolean isUp() {
    return up;
  }

  boolean isRefusing() {
    return refusing;
  }

  abstract void forgetEverything();

  /** {@return all locks, and all places in a queue} */
  public abstract List<String> locks();

  /** {@return the time until which a grant is kept without renewal; 0 if there is none} */
  public abstract long keptUntil(String name, long number);

  /** Called when the server is running again. */
  void onStart() {}

  // --- messages -------------------------------------------------------------------------------

  /** Registers a connection, and returns its number. */
  int register(Connection connection) {
    connections.add(connection);
    return connectionCount++;
  }

  void unregister(Connection connection) {
    connections.remove(connection);
  }

  List<Connection> connections() {
    return List.copyOf(connections);
  }

  /** Executes a request, or keeps it until the server is no longer stopped. */
  void receive(Runnable work) {
    if (!up) {
      return;
    }
    if (stopped > 0) {
      waiting.add(work);
    } else {
      work.run();
    }
  }
}
