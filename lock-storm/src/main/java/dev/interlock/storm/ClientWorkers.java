package dev.interlock.storm;

import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockException;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One client of the storm: some threads that use locks until they are reported to stop. It opens
 * its lock client by itself, and tries again while the store is out of reach.
 */
final class ClientWorkers implements AutoCloseable {
  /** After so many leases all that a client starts lazily is taken to have been started. */
  private static final int WARMED_UP = 30;

  /** A pool closes a connection that has been idle for a minute, and looks every half. */
  private static final Duration LONGEST_REST = Duration.ofSeconds(100);

  private static final Duration LOOK = Duration.ofMillis(10);
  private static final int MORE_THREADS = 10;
  private static final int MORE_CONNECTIONS = 6;

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

  private ClientWorkers(
      Assignment assignment, Supplier<LockClient> opener, boolean ownProcess, Journal journal) {
    this.assignment = assignment;
    this.opener = opener;
    this.ownProcess = ownProcess;
    this.journal = journal;
    this.recorder = new LeaseJournal(assignment.client(), journal);
  }

  /** Starts to work. Does not wait until the store is reached. */
  static ClientWorkers start(Assignment assignment, Supplier<LockClient> opener, boolean ownProcess)
      throws IOException {
    ClientWorkers work =
        new ClientWorkers(assignment, opener, ownProcess, Journal.create(assignment.journal()));
    Thread first = new Thread(work::begin, assignment.client());
    first.setDaemon(true);
    first.start();
    return work;
  }

  private void begin() {
    LockClient opened = null;
    // Also when the work is over: it will be asked whether the store is reached.
    while (opened == null && !closed) {
      try {
        opened = opener.get();
      } catch (LockException e) {
        pause(LOOK);
      } catch (RuntimeException | Error e) {
        journal.record(new Entry.Broken("FAULT-01", "a client could not be opened: " + e));
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
                assignment, opened, recorder, journal, this::isOver, new Random(random.nextLong()));
        threads.add(thread);
        thread.onLease(this::leaseHad);
        thread.start();
      }
    }
    client.complete(opened);
  }

  private boolean isOver() {
    return over;
  }

  private void leaseHad() {
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

  /** Waits until the client is open and has had a first lease. */
  void awaitWorking(Duration limit) throws InterruptedException, IOException {
    RunningTime time = new RunningTime();
    while (leases.get() == 0) {
      if (client.isCompletedExceptionally() || !time.isWithin(limit)) {
        throw new IOException(assignment.client() + " has had no lock within " + limit);
      }
      TimeUnit.NANOSECONDS.sleep(LOOK.toNanos());
    }
  }

  /** Ends all threads; those that wait for a lock must get it. What does not end is recorded. */
  void stop() throws InterruptedException {
    over = true;
    RunningTime time = new RunningTime();
    List<WorkerThread> left;
    synchronized (threads) {
      left = new ArrayList<>(threads);
    }
    while (left.removeIf(thread -> !thread.isAlive()) || !left.isEmpty()) {
      if (!time.isWithin(assignment.patience())) {
        break;
      }
      pause(LOOK);
    }
    for (WorkerThread stuck : left) {
      journal.record(
          new Entry.Broken(
              "WAIT-06",
              stuck.getName()
                  + " still waits for \""
                  + stuck.busyWith()
                  + "\" "
                  + assignment.patience()
                  + " after everything had healed: "
                  + List.of(stuck.getStackTrace())));
      stuck.interrupt();
    }
  }

  /** Every lock must be to be had by this client, now that everything has healed. */
  void probe() throws InterruptedException {
    Optional<LockClient> open = opened();
    if (open.isEmpty()) {
      journal.record(
          new Entry.Broken(
              "FAULT-01",
              assignment.client()
                  + " did not reach the store within "
                  + assignment.patience()
                  + " after everything had healed"));
      return;
    }
    for (String name : assignment.names()) {
      long requestedAt = System.nanoTime();
      try {
        var lease = open.get().lock(name).tryAcquire(assignment.patience());
        if (lease.isPresent()) {
          LeaseJournal.Recorded recorded = recorder.granted(lease.get(), requestedAt);
          recorded.release(lease.get());
        } else {
          journal.record(
              new Entry.Broken(
                  "WAIT-03", unserved(name, "it is held: " + open.get().inspect(name))));
        }
      } catch (LockException e) {
        journal.record(new Entry.Broken("FAULT-01", unserved(name, e.toString())));
      }
    }
  }

  /** Takes every lock for a while, and neither renews nor releases it. */
  void abandon() throws InterruptedException {
    Optional<LockClient> open = opened();
    if (open.isPresent()) {
      for (String name : assignment.names()) {
        long requestedAt = System.nanoTime();
        try {
          open.get()
              .lock(name, assignment::passing)
              .tryAcquire(assignment.patience())
              .ifPresent(lease -> recorder.granted(lease, requestedAt).abandoned());
        } catch (LockException e) {
          journal.record(new Entry.Broken("FAULT-01", unserved(name, e.toString())));
        }
      }
    }
  }

  /** Waits, without looking by itself, for locks that end by themselves. */
  void awaitAbandoned() throws InterruptedException {
    Optional<LockClient> open = opened();
    if (open.isEmpty()) {
      return; // was reported before
    }
    Map<String, CompletableFuture<Lease>> waiting = new TreeMap<>();
    long requestedAt = System.nanoTime();
    for (String name : assignment.names()) {
      waiting.put(name, open.get().lock(name).acquireAsync());
    }
    for (var each : waiting.entrySet()) {
      try {
        Lease lease = each.getValue().get(assignment.patience().toMillis(), TimeUnit.MILLISECONDS);
        LeaseJournal.Recorded recorded = recorder.granted(lease, requestedAt);
        recorded.release(lease);
      } catch (TimeoutException e) {
        each.getValue().cancel(true);
        journal.record(
            new Entry.Broken(
                "WAIT-05", unserved(each.getKey(), "its holder let it run out meanwhile")));
      } catch (ExecutionException e) {
        journal.record(
            new Entry.Broken("WAIT-05", unserved(each.getKey(), String.valueOf(e.getCause()))));
      }
    }
  }

  private Optional<LockClient> opened() throws InterruptedException {
    try {
      return Optional.of(client.get(assignment.patience().toMillis(), TimeUnit.MILLISECONDS));
    } catch (ExecutionException | TimeoutException e) {
      return Optional.empty();
    }
  }

  private String unserved(String name, String why) {
    return assignment.client()
        + " did not get \""
        + name
        + "\" within "
        + assignment.patience()
        + " after everything had healed: "
        + why;
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
        journal.record(
            new Entry.Broken(
                "REL-04", assignment.client() + " has grown from " + before + " to " + after));
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
