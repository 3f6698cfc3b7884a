package dev.interlock.simulation.model;

import dev.interlock.LockUnavailableException;
import dev.interlock.simulation.machine.Machine;
import dev.interlock.simulation.machine.Scheduler;
import dev.interlock.spi.WakeUp;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One TCP connection between a machine and a server. Messages on it arrive in order, or not at all
 * once it has broken; messages on other connections may overtake them. Messages in flight when the
 * client closes it may still arrive.
 */
public final class Connection {

  private final Machine machine;
  private final Server server;
  private final Network network;
  private final Scheduler scheduler;
  private final List<Reply<?>> open = new ArrayList<>();
  private final int number;
  private boolean closed;
  private boolean broken;
  private boolean silent;
  private boolean requestsLost;
  private long lastRequestAt;
  private long lastReplyAt;
  private @Nullable Runnable onBreak;

  Connection(Machine machine, Server server, Network network) {
    this.machine = machine;
    this.server = server;
    this.network = network;
    this.scheduler = server.scheduler;
    this.number = server.register(this);
  }

  /** {@return the number of the connection; later connections have higher numbers} */
  int number() {
    return number;
  }

  Machine machine() {
    return machine;
  }

  boolean isOpen() {
    return !closed && !broken;
  }

  void onBreak(Runnable action) {
    onBreak = action;
  }

  /** A request in flight. */
  static final class Reply<R> {
    private final WakeUp wakeUp;
    private @Nullable R value;
    private @Nullable RuntimeException failure;
    private boolean done;

    Reply(WakeUp wakeUp) {
      this.wakeUp = wakeUp;
    }

    boolean isDone() {
      return done;
    }

    /** {@return the reply, which must have arrived} */
    @Nullable R value() {
      if (failure != null) {
        throw failure;
      }
      return value;
    }

    private void complete(@Nullable R reply, @Nullable RuntimeException problem) {
      if (!done) {
        done = true;
        value = reply;
        failure = problem;
        wakeUp.signal();
      }
    }
  }

  static LockUnavailableException unavailable(Server server, String problem) {
    return new LockUnavailableException("model", server.name, problem, null);
  }

  /** Sends a request. The reply signals the wake-up. */
  <R> Reply<R> send(WakeUp wakeUp, Supplier<R> atServer) {
    Reply<R> reply = new Reply<>(wakeUp);
    if (!isOpen()) {
      reply.complete(null, unavailable(server, "the connection is closed"));
      return reply;
    }
    open.add(reply);
    lastRequestAt = Math.max(lastRequestAt + 1, scheduler.now() + network.delay());
    scheduler.at(lastRequestAt, () -> arrive(reply, atServer));
    return reply;
  }

  private <R> void arrive(Reply<R> reply, Supplier<R> atServer) {
    if (requestsLost || silent) {
      return;
    }
    if (network.holdsRequests(machine, server)) {
      // Messages that are held back are delivered in order when the path heals.
      network.whenHealed(machine, server, () -> arrive(reply, atServer));
      return;
    }
    server.receive(
        () -> {
          try {
            R value = atServer.get();
            push(() -> completeReply(reply, value, null));
          } catch (RuntimeException e) {
            push(() -> completeReply(reply, null, e));
          }
        });
  }

  private <R> void completeReply(
      Reply<R> reply, @Nullable R value, @Nullable RuntimeException problem) {
    open.remove(reply);
    reply.complete(value, problem);
  }

  /** Sends a message from the server. The action runs at the client when the message arrives. */
  void push(Runnable atClient) {
    if (!isOpen()) {
      return;
    }
    lastReplyAt = Math.max(lastReplyAt + 1, scheduler.now() + network.delay());
    scheduler.at(lastReplyAt, () -> arriveAtClient(atClient));
  }

  private void arriveAtClient(Runnable atClient) {
    if (!isOpen() || silent || machine.isDead()) {
      return;
    }
    if (network.holdsReplies(machine, server)) {
      network.whenHealed(machine, server, () -> arriveAtClient(atClient));
      return;
    }
    atClient.run();
  }

  /** Drops all messages from now on, as if a router had forgotten the connection. */
  void fallSilent() {
    silent = true;
  }

  /** Closes the connection at the client. Requests in flight may still arrive. */
  void close() {
    if (isOpen()) {
      closed = true;
      disconnect("the connection was closed");
    }
  }

  private void disconnect(String problem) {
    server.unregister(this);
    for (Reply<?> reply : List.copyOf(open)) {
      reply.complete(null, unavailable(server, problem));
    }
  }

  /** Breaks the connection. Replies in flight are lost, and possibly requests. */
  void cut() {
    if (!isOpen()) {
      return;
    }
    broken = true;
    requestsLost = scheduler.random(2) == 0;
    disconnect("the connection broke");
    if (onBreak != null) {
      onBreak.run();
    }
  }
}
