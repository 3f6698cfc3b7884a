package dev.interlock.storm;

import dev.interlock.tck.process.RemoteTask;
import dev.interlock.tck.process.Worker;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;

/** What a client process is told to do, one after the other. */
final class ClientTasks {
  /** The work of this process; it has one. */
  private static final AtomicReference<ClientWork> WORK = new AtomicReference<>();

  private ClientTasks() {}

  private static ClientWork work() {
    ClientWork work = WORK.get();
    if (work == null) {
      throw new IllegalStateException("told to go on before it was told to begin");
    }
    return work;
  }

  /** Starts to work on an {@link Assignment}. */
  static final class Begin implements RemoteTask {
    @Override
    public String run(Worker worker, List<String> arguments) throws Exception {
      WORK.set(ClientWork.start(Assignment.decode(arguments), worker::client, true));
      return "";
    }
  }

  /** See {@link ClientWork#awaitWorking}. */
  static final class AwaitWorking implements RemoteTask {
    @Override
    public String run(Worker worker, List<String> arguments) throws Exception {
      work().awaitWorking(Duration.parse(arguments.get(0)));
      return "";
    }
  }

  /** See {@link ClientWork#stop}. */
  static final class Stop implements RemoteTask {
    @Override
    public String run(Worker worker, List<String> arguments) throws Exception {
      work().stop();
      return "";
    }
  }

  /** See {@link ClientWork#probe}. */
  static final class Probe implements RemoteTask {
    @Override
    public String run(Worker worker, List<String> arguments) throws Exception {
      work().probe();
      return "";
    }
  }

  /** See {@link ClientWork#abandon}. */
  static final class Abandon implements RemoteTask {
    @Override
    public String run(Worker worker, List<String> arguments) throws Exception {
      work().abandon();
      return "";
    }
  }

  /** See {@link ClientWork#awaitAbandoned}. */
  static final class AwaitAbandoned implements RemoteTask {
    @Override
    public String run(Worker worker, List<String> arguments) throws Exception {
      work().awaitAbandoned();
      return "";
    }
  }

  /** See {@link ClientWork#close}. */
  static final class Close implements RemoteTask {
    @Override
    public String run(Worker worker, List<String> arguments) throws Exception {
      work().close();
      return "";
    }
  }
}
