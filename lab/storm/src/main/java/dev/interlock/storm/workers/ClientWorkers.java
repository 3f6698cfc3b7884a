package dev.interlock.storm.workers;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockException;
import dev.interlock.spi.DaemonThreads;
import dev.interlock.tck.process.Journal;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One client of the storm: some threads that use locks until they are stopped. It opens its lock
 * client, and tries again while the store is out of reach.
 */
public final class ClientWorkers implements AutoCloseable {
  /** After so many leases a client is taken to have started all that it starts lazily. */
  private static final int WARMED_UP = 30;

  /** The time in which each client must get a first lease. */
  private static final Duration FIRST_LEASE = Duration.ofSeconds(60);

  /** A pool closes a connection that has been idle for a minute, and looks twice a minute. */
  private static final Duration LONGEST_REST = Duration.ofSeconds(100);

  private static final Duration LOOK = Duration.ofMillis(10);
  private static final int MORE_THREADS = 10;
  private static final int MORE_CONNECTIONS = 6;

  /** The phases of a client's work, in order. */
  public enum Phase {
    /** Waits until the client is open and has acquired its first lease. */
    AWAIT_WORKING,
    /** Ends all threads; waiting threads must acquire their locks first. */
    STOP,
    /** Acquires every lock once, which must be possible after all faults have ended. */
    PROBE,
    /** Acquires every lock, and neither renews nor releases it. */
    ABANDON,
    /** Waits for locks that another client has abandoned. */
    AWAIT_ABANDONED,
    /** Closes the lock client. */
    CLOSE
  }

  private final Assignment assignment;
  private final Supplier<LockClient> opener;
  private final boolean ownProcess;
  private final Journal journal;
  private final CompletableFuture<LockClient> client = new CompletableFuture<>();
  private final List<WorkerThread> threads = new ArrayList<>();
  private final AtomicLong leases = new AtomicLong();
  private final LeaseJournal recorder;
  private volatile boolean over;
  private volatile boolean closed;
  private volatile Entry.@Nullable Size calm;

  /** Why the last attempt to open the lock client failed. */
  private volatile @Nullable LockException unreachable;

  private ClientWorkers(
      Assignment assignment, Supplier<LockClient> opener, boolean ownProcess, Journal journal) {
    this.assignment = assignment;
    this.opener = opener;
    this.ownProcess = ownProcess;
    this.journal = journal;
    this.recorder = new LeaseJournal(assignment.client(), journal, assignment.blocked());
  }

  /** Starts to work. Does not wait until the store is reached. */
  static ClientWorkers start(Assignment assignment, Supplier<LockClient> opener, boolean ownProcess)
      throws IOException {
    ClientWorkers work =
        new ClientWorkers(assignment, opener, ownProcess, Journal.create(assignment.journal()));
    DaemonThreads.factory(assignment.client()).newThread(work::begin).start();
    return work;
  }

  private void begin() {
    LockClient opened = null;
    // Even when the work is over: the probe checks whether the client reaches the store.
    while (opened == null && !closed) {
      try {
        opened = opener.get();
      } catch (LockException e) {
        unreachable = e;
        pause(LOOK);
      } catch (RuntimeException | Error e) {
        broken("FAULT-01", "a client could not be opened: " + e);
        client.completeExceptionally(e);
        return;
      }
    }
    if (opened == null) {
      client.completeExceptionally(new IllegalStateException("closed before it was opened"));
      return;
    }
    if (closed) {
      opened.close();
      client.completeExceptionally(new IllegalStateException("opened after it was closed"));
      return;
    }
    Random random = new Random(assignment.seed());
    synchronized (threads) {
      for (int t = 0; t < assignment.threads(); t++) {
        WorkerThread thread =
            new WorkerThread(
                assignment,
                opened,
                recorder,
                journal,
                () -> over,
                this::countLease,
                new Random(random.nextLong()));
        threads.add(thread);
        thread.start();
      }
    }
    client.complete(opened);
  }

  private void countLease() {
    if (leases.incrementAndGet() == WARMED_UP && ownProcess) {
      calm = size();
    }
  }

  private Entry.Size size() {
    int sockets = 0;
    try (DirectoryStream<Path> open = Files.newDirectoryStream(Path.of("/proc/self/fd"))) {
      for (Path each : open) {
        try {
          if (Files.readSymbolicLink(each).toString().startsWith("socket:")) {
            sockets++;
          }
        } catch (IOException e) {
          // Closed meanwhile.
        }
      }
    } catch (IOException e) {
      sockets = 0; // no Linux
    }
    return new Entry.Size(Thread.getAllStackTraces().size(), sockets);
  }

  /** Carries out one phase; returns when it is over. */
  void perform(Phase phase) throws IOException, InterruptedException {
    switch (phase) {
      case AWAIT_WORKING -> awaitWorking();
      case STOP -> stop();
      case PROBE -> probe();
      case ABANDON -> abandon();
      case AWAIT_ABANDONED -> awaitAbandoned();
      case CLOSE -> close();
    }
  }

  private void awaitWorking() throws InterruptedException, IOException {
    RunningTime time = new RunningTime();
    while (leases.get() == 0) {
      if (client.isCompletedExceptionally() || !time.isWithin(FIRST_LEASE)) {
        throw new IOException(assignment.client() + " got no lock within " + FIRST_LEASE);
      }
      TimeUnit.NANOSECONDS.sleep(LOOK.toNanos());
    }
  }

  private void stop() throws InterruptedException {
    over = true;
    RunningTime time = new RunningTime();
    List<WorkerThread> left;
    synchronized (threads) {
      left = new ArrayList<>(threads);
    }
    left.removeIf(thread -> !thread.isAlive());
    while (!left.isEmpty() && time.isWithin(assignment.patience())) {
      pause(LOOK);
      left.removeIf(thread -> !thread.isAlive());
    }
    for (WorkerThread stuck : left) {
      broken(
          "WAIT-06",
          "%s still waits for \"%s\" %s after all faults had ended: %s"
              .formatted(
                  stuck.getName(),
                  stuck.lockName(),
                  assignment.patience(),
                  List.of(stuck.getStackTrace())));
      stuck.interrupt();
    }
  }

  private void probe() throws InterruptedException {
    Optional<LockClient> open = opened();
    if (open.isEmpty()) {
      broken(
          "FAULT-01",
          "%s did not reach the store within %s after all faults had ended: %s"
              .formatted(assignment.client(), assignment.patience(), unreachable));
      return;
    }
    for (UsedName name : assignment.names()) {
      long requestedAt = System.nanoTime();
      try {
        Optional<Lease> lease =
            name.whole(open.get(), Assignment::renewed).tryAcquire(assignment.patience());
        if (lease.isPresent()) {
          recorder.granted(lease.get(), name.whole(), requestedAt).release(lease.get());
        } else {
          unserved(
              "WAIT-03", name.name(), "it is held: " + open.get().admin().inspect(name.name()));
        }
      } catch (LockException e) {
        unserved("FAULT-01", name.name(), e.toString());
      }
    }
  }

  private void abandon() throws InterruptedException {
    Optional<LockClient> open = opened();
    if (open.isEmpty()) {
      return; // the probe has recorded that
    }
    for (UsedName name : assignment.names()) {
      long requestedAt = System.nanoTime();
      try {
        name.whole(open.get(), assignment::passing)
            .tryAcquire(assignment.patience())
            .ifPresent(lease -> recorder.granted(lease, name.whole(), requestedAt).abandoned());
      } catch (LockException e) {
        unserved("FAULT-01", name.name(), e.toString());
      }
    }
  }

  private void awaitAbandoned() throws InterruptedException {
    Optional<LockClient> open = opened();
    if (open.isEmpty()) {
      return; // the probe has recorded that
    }
    Map<UsedName, CompletableFuture<Lease>> waiting = new LinkedHashMap<>();
    long requestedAt = System.nanoTime();
    for (UsedName name : assignment.names()) {
      waiting.put(name, name.whole(open.get(), Assignment::renewed).acquireAsync());
    }
    for (Map.Entry<UsedName, CompletableFuture<Lease>> each : waiting.entrySet()) {
      try {
        Lease lease = each.getValue().get(assignment.patience().toMillis(), TimeUnit.MILLISECONDS);
        recorder.granted(lease, each.getKey().whole(), requestedAt).release(lease);
      } catch (TimeoutException e) {
        each.getValue().cancel(true);
        unserved("WAIT-05", each.getKey().name(), "its holder let it expire meanwhile");
      } catch (ExecutionException e) {
        unserved("WAIT-05", each.getKey().name(), String.valueOf(e.getCause()));
      }
    }
  }

  /** As long as no attempt has failed, a new process may still be loading its classes. */
  private Optional<LockClient> opened() throws InterruptedException {
    RunningTime time = new RunningTime();
    while (!client.isDone()
        && time.isWithin(unreachable == null ? FIRST_LEASE : assignment.patience())) {
      TimeUnit.NANOSECONDS.sleep(LOOK.toNanos());
    }
    return client.isDone() && !client.isCompletedExceptionally()
        ? Optional.of(client.join())
        : Optional.empty();
  }

  private void broken(String rule, String what) {
    journal.record(new Entry.Broken(rule, what));
  }

  private void unserved(String rule, String name, String why) {
    broken(
        rule,
        "%s did not get \"%s\" within %s after all faults had ended: %s"
            .formatted(assignment.client(), name, assignment.patience(), why));
  }

  /** Compares threads and connections with those at the start, then closes the client. */
  @Override
  public void close() throws IOException {
    closed = true;
    Entry.Size before = calm;
    if (before != null) {
      RunningTime time = new RunningTime();
      Entry.Size after = size();
      while (hasGrown(before, after) && time.isWithin(LONGEST_REST)) {
        pause(LOOK);
        after = size();
      }
      journal.record(before);
      journal.record(after);
      if (hasGrown(before, after)) {
        broken("REL-04", assignment.client() + " has grown from " + before + " to " + after);
      }
    }
    if (client.isDone() && !client.isCompletedExceptionally()) {
      client.join().close();
    }
    journal.close();
  }

  private boolean hasGrown(Entry.Size before, Entry.Size after) {
    return after.threads() > before.threads() + MORE_THREADS
        || after.connections() > before.connections() + assignment.threads() + MORE_CONNECTIONS;
  }

  private static void pause(Duration duration) {
    LockSupport.parkNanos(duration.toNanos());
  }
}
