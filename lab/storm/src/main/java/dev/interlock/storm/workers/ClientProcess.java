package dev.interlock.storm.workers;

import dev.interlock.storm.workers.ClientWorkers.Phase;
import dev.interlock.tck.Harness;
import dev.interlock.tck.fault.Network;
import dev.interlock.tck.process.OtherProcess;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A client in a process of its own, which can be stopped, killed and started again. */
public final class ClientProcess implements Client {
  private static final Duration ANSWER_TIMEOUT = Duration.ofSeconds(60);

  private final Assignment first;
  private final Harness harness;
  private final String uri;
  private final @Nullable Network network;
  private final List<Path> journals = new ArrayList<>();
  private final List<Stop> stops = new ArrayList<>();
  private @Nullable OtherProcess process;
  private long stoppedAt;
  private boolean stopped;

  /**
   * Starts the process.
   *
   * @param first the first assignment; later incarnations get names, seeds and journals of their
   *     own
   * @param uri the URI of the store without proxies
   */
  public ClientProcess(Assignment first, Harness harness, String uri, @Nullable Network network)
      throws IOException, InterruptedException {
    this.first = first;
    this.harness = harness;
    this.uri = network == null ? uri : network.uri();
    this.network = network;
    restart();
  }

  @Override
  public String name() {
    return first.client();
  }

  @Override
  public Optional<Network> network() {
    return Optional.ofNullable(network);
  }

  @Override
  public boolean isProcess() {
    return true;
  }

  @Override
  public ClientProcess process() {
    return this;
  }

  /** Stops the process (SIGSTOP), and returns when the operating system shows that. */
  public synchronized void stop() throws IOException, InterruptedException {
    if (process != null && !stopped) {
      stoppedAt = System.nanoTime();
      stopped = true;
      process.stop();
    }
  }

  /** Resumes the process (SIGCONT), and returns when the operating system shows that. */
  public synchronized void resume() throws IOException, InterruptedException {
    if (process != null && stopped) {
      process.resume();
      stopped = false;
      stops.add(new Stop(stoppedAt, System.nanoTime()));
    }
  }

  /** Kills the process (SIGKILL). */
  public synchronized void kill() {
    if (process != null) {
      process.close();
      process = null;
      stopped = false;
    }
  }

  /** Starts the process again after it was killed, with the same network. */
  public synchronized void restart() throws IOException, InterruptedException {
    if (process != null) {
      return;
    }
    Assignment assignment = first.incarnation(journals.size() + 1);
    OtherProcess started =
        OtherProcess.start(
            new OtherProcess.Settings(
                harness,
                uri,
                assignment.options(),
                assignment.blocked() ? List.of("-Dinterlock.tck.log.delay=300") : List.of(),
                false));
    process = started;
    journals.add(assignment.journal());
    started.call(ANSWER_TIMEOUT, ClientTasks.Begin.class, assignment.encode());
  }

  @Override
  public void perform(Phase phase) throws IOException, InterruptedException {
    OtherProcess running;
    synchronized (this) {
      running = process;
    }
    if (running == null) {
      throw new IOException(name() + " was killed and not started again");
    }
    // Each phase has limits of its own; this limit is for a process that does not answer at all.
    running.call(
        ANSWER_TIMEOUT.plus(first.recoveryLimit().multipliedBy(4)),
        ClientTasks.Perform.class,
        phase.name());
  }

  @Override
  public synchronized List<Path> journals() {
    return List.copyOf(journals);
  }

  @Override
  public synchronized List<Stop> stops() {
    return List.copyOf(stops);
  }

  @Override
  public void close() {
    kill();
    if (network != null) {
      network.close();
    }
  }
}
