package dev.interlock.storm;

import dev.interlock.tck.fault.Network;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** One of the storm's clients, wherever it runs. */
interface Client extends AutoCloseable {
  String name();

  /** The way from it to the store. */
  Optional<Network> network();

  /** Waits until it works. */
  void awaitWorking(Duration limit) throws IOException, InterruptedException;

  /** Ends its threads; those that wait for a lock must get it. */
  void stopWork() throws IOException, InterruptedException;

  /** Has it take every lock once. */
  void probe() throws IOException, InterruptedException;

  /** Has it take every lock, and leave it to run out. */
  void abandon() throws IOException, InterruptedException;

  /** Has it wait for locks that another client has left to run out. */
  void awaitAbandoned() throws IOException, InterruptedException;

  /** Closes its lock client. */
  void closeWork() throws IOException, InterruptedException;

  /** The journals of its incarnations, the last one last. */
  List<Path> journals();

  /** When it was stopped, and continued: pairs of {@link System#nanoTime()}. */
  List<Stop> stops();

  /**
   * A time in which the process stood still.
   *
   * @param from before it was stopped
   * @param until after it went on
   */
  record Stop(long from, long until) {}

  /** Ends it in any case. */
  @Override
  void close();
}
