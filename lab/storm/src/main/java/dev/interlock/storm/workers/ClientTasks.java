package dev.interlock.storm.workers;

import dev.interlock.tck.process.RemoteTask;
import dev.interlock.tck.process.Worker;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;

/** The tasks of a client process. */
final class ClientTasks {
  private static final AtomicReference<ClientWorkers> WORKERS = new AtomicReference<>();

  private ClientTasks() {}

  /** Starts the workers with the {@link Assignment} that is the argument. */
  static final class Begin implements RemoteTask {
    @Override
    public String run(Worker worker, List<String> arguments) throws Exception {
      WORKERS.set(ClientWorkers.start(Assignment.decode(arguments.get(0)), worker::client, true));
      return "";
    }
  }

  /** Carries out the {@link ClientWorkers.Phase} that is the argument. */
  static final class Perform implements RemoteTask {
    @Override
    public String run(Worker worker, List<String> arguments) throws Exception {
      ClientWorkers workers = WORKERS.get();
      if (workers == null) {
        throw new IllegalStateException("a phase was requested before the client has begun");
      }
      workers.perform(ClientWorkers.Phase.valueOf(arguments.get(0)));
      return "";
    }
  }
}
