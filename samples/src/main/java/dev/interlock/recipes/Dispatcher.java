package dev.interlock.recipes;

import dev.interlock.LeaderElection;
import dev.interlock.Lease;
import dev.interlock.LockClient;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.ObjLongConsumer;

/** A service of which one instance at a time works. */
final class Dispatcher implements AutoCloseable {
  private final BlockingQueue<String> tasks;
  private final ObjLongConsumer<String> worker;
  private final LeaderElection.Candidacy candidacy;

  Dispatcher(LockClient client, BlockingQueue<String> tasks, ObjLongConsumer<String> worker) {
    this.tasks = tasks;
    this.worker = worker;
    candidacy = client.election("dispatcher").start(this::dispatch);
  }

  /** Called after each election; the thread is interrupted when the leadership ends. */
  private void dispatch(Lease leadership) throws InterruptedException {
    while (leadership.isHeld()) {
      String task = tasks.poll(1, TimeUnit.SECONDS);
      if (task != null) {
        worker.accept(task, leadership.fencingToken());
      }
    }
  }

  boolean isLeader() {
    return candidacy.isLeader();
  }

  boolean isHealthy() {
    return candidacy.failure().isEmpty();
  }

  /** Ends the work, and only then resigns. */
  @Override
  public void close() {
    candidacy.close();
  }
}
