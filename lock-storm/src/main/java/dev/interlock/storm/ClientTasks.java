package dev.interlock.storm;

import dev.interlock.tck.process.RemoteTask;
import dev.interlock.tck.process.Worker;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;

/** What a client process is reported to do, one after the other. */
final class ClientTasks {
  /** The work of this process; it has one. */
  private static final AtomicReference<ClientWorkers> WORK = new AtomicReference<>();

  private ClientTasks() {}

  private static ClientWorkers work() {
    ClientWorkers work = WORK.get();
    if (work == null) {
      throw new IllegalStateException("reported to go on before it was reported to begin");
    }
    return work;
  }

  /** Starts to work on an {@link Assignment}. */
  static final class Begin implements RemoteTask {
    @Override
    public String run(Worker worker, List<String> arguments) throws Exception {
      WORK.set(ClientWorkers.start(Assignment.decode(arguments), worker::client, true));
      return "";
    }
  }

  /** See {@link ClientWorkers#awaitWorking}. */
  static final class AwaitWorking implements RemoteTask {
    @Override
    public String run(Worker worker, List<String> arguments) throws Exception {
      work().awaitWorking(Duration.parse(arguments.get(0)));
      return "";
    }
  }

  /** See {@link ClientWorkers#stop}. */
  static final class Stop implements RemoteTask {
    @Override
    public String run(Worker worker, List<String> arguments) throws Exception {
      work().stop();
      return "";
    }
  }

  /** See {@link ClientWorkers#probe}. */
  static final class Probe implements RemoteTask {
    @Override
    public String run(Worker worker, List<String> arguments) throws Exception {
      work().probe();
      return "";
    }
  }

  /** See {@link ClientWorkers#abandon}. */
  static final class Abandon implements RemoteTask {
    @Override
    public String run(Worker worker, List<String> arguments) throws Exception {
      work().abandon();
      return "";
    }
  }

  /** See {@link ClientWorkers#awaitAbandoned}. */
  static final class AwaitAbandoned implements RemoteTask {
    @Override
    public String run(Worker worker, List<String> arguments) throws Exception {
      work().awaitAbandoned();
      return "";
    }
  }

  /** See {@link ClientWorkers#close}. */
  static final class Close implements RemoteTask {
    @Override
    public String run(Worker worker, List<String> arguments) throws Exception {
      work().close();
      return "";
    }
  }
}
