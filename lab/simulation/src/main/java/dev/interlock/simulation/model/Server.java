package dev.interlock.simulation.model;

import dev.interlock.simulation.machine.Scheduler;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;

/** A server process of a store; subclasses keep its state. */
public abstract class Server {

  final Scheduler scheduler;
  public final String name;
  private final List<Connection> connections = new ArrayList<>();
  private final Queue<Runnable> waiting = new ArrayDeque<>();
  private int made;
  private boolean up = true;
  private int stopped;
  private boolean refusing;

  Server(Scheduler scheduler, String name) {
    this.scheduler = scheduler;
    this.name = name;
  }

  // --- faults ---------------------------------------------------------------------------------

  /** Stops it for a while; requests that arrive meanwhile wait. */
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

  /** Kills it, and starts it again. */
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
          started();
        });
  }

  /** Has it refuse every request for a while, as a replica does. */
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

  /** All locks, and places in a queue. */
  public abstract List<String> held();

  /** Until when a grant of a name is kept without renewal; 0 if there is none. */
  public abstract long keptUntil(String name, long number);

  /** Called when it is running again, with its state intact. */
  void started() {}

  // --- messages -------------------------------------------------------------------------------

  /** Returns how many there were before. */
  int connected(Connection connection) {
    connections.add(connection);
    return made++;
  }

  void disconnected(Connection connection) {
    connections.remove(connection);
  }

  List<Connection> connections() {
    return List.copyOf(connections);
  }

  /** Executes a request, once the server is not stopped. */
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
