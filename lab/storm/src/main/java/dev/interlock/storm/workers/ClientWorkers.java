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
 * One client of the storm: some threads that use locks until they are stopped. It opens a lock
 * client, and tries again while the store cannot be reached.
 */
public final class ClientWorkers implements AutoCloseable {
  /** After so many leases, a client has started everything that it starts lazily. */
  private static final int WARM_UP_LEASES = 30;

  private static final Duration FIRST_LEASE_TIMEOUT = Duration.ofSeconds(60);

  /** A pool closes a connection that has been idle for a minute, and checks twice a minute. */
  private static final Duration MAX_IDLE_TIME = Duration.ofSeconds(100);

  private static final Duration POLL_INTERVAL = Duration.ofMillis(10);
  private static final int THREAD_TOLERANCE = 10;
  private static final int CONNECTION_TOLERANCE = 6;

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
    /** Acquires every lock after another client has abandoned it. */
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
  private final LeaseJournal leaseJournal;
  private volatile boolean stopped;
  private volatile boolean closed;
  private volatile Entry.@Nullable Size sizeAtStart;

  /** The failure of the last attempt to open the lock client. */
  private volatile @Nullable LockException lastFailure;

  private ClientWorkers(
      Assignment assignment, Supplier<LockClient> opener, boolean ownProcess, Journal journal) {
    this.assignment = assignment;
    this.opener = opener;
    this.ownProcess = ownProcess;
    this.journal = journal;
    this.leaseJournal = new LeaseJournal(assignment.client(), journal, assignment.blocked());
  }

  /** Starts the client. Does not wait until the store is reached. */
  static ClientWorkers start(Assignment assignment, Supplier<LockClient> opener, boolean ownProcess)
      throws IOException {
    ClientWorkers work =
        new ClientWorkers(assignment, opener, ownProcess, Journal.create(assignment.journal()));
    DaemonThreads.factory(assignment.client()).newThread(work::openAndWork).start();
    return work;
  }

  private void openAndWork() {
    LockClient opened = null;
    // Goes on when the threads are stopped: the probe checks whether the client reaches the store.
    while (opened == null && !closed) {
      try {
        opened = opener.get();
      } catch (LockException e) {
        lastFailure = e;
        pause(POLL_INTERVAL);
      } catch (RuntimeException | Error e) {
        recordBroken("FAULT-01", "the lock client could not be opened: " + e);
        client.completeExceptionally(e);
        return;
      }
    }
    if (opened == null) {
      client.completeExceptionally(
          new IllegalStateException("the client was closed before its lock client was opened"));
      return;
    }
    if (closed) {
      opened.close();
      client.completeExceptionally(
          new IllegalStateException("the lock client was opened after the client had been closed"));
      return;
    }
    Random random = new Random(assignment.seed());
    synchronized (threads) {
      for (int t = 0; t < assignment.threads(); t++) {
        WorkerThread thread =
            new WorkerThread(
                assignment,
                opened,
                leaseJournal,
                journal,
                () -> stopped,
                this::countLease,
                new Random(random.nextLong()));
        threads.add(thread);
        thread.start();
      }
    }
    client.complete(opened);
  }

  private void countLease() {
    if (leases.incrementAndGet() == WARM_UP_LEASES && ownProcess) {
      sizeAtStart = size();
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

  /** Carries out one phase, and returns when it is over. */
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
      if (client.isCompletedExceptionally() || !time.isWithin(FIRST_LEASE_TIMEOUT)) {
        throw new IOException(assignment.client() + " got no lock within " + FIRST_LEASE_TIMEOUT);
      }
      TimeUnit.NANOSECONDS.sleep(POLL_INTERVAL.toNanos());
    }
  }

  private void stop() throws InterruptedException {
    stopped = true;
    RunningTime time = new RunningTime();
    List<WorkerThread> alive;
    synchronized (threads) {
      alive = new ArrayList<>(threads);
    }
    alive.removeIf(thread -> !thread.isAlive());
    while (!alive.isEmpty() && time.isWithin(assignment.recoveryLimit())) {
      pause(POLL_INTERVAL);
      alive.removeIf(thread -> !thread.isAlive());
    }
    for (WorkerThread stuck : alive) {
      recordBroken(
          "WAIT-06",
          "%s still waits for \"%s\" %s after all faults had ended: %s"
              .formatted(
                  stuck.getName(),
                  stuck.lockName(),
                  assignment.recoveryLimit(),
                  List.of(stuck.getStackTrace())));
      stuck.interrupt();
    }
  }

  private void probe() throws InterruptedException {
    Optional<LockClient> lockClient = awaitOpen();
    if (lockClient.isEmpty()) {
      recordBroken(
          "FAULT-01",
          "%s did not reach the store within %s after all faults had ended: %s"
              .formatted(assignment.client(), assignment.recoveryLimit(), lastFailure));
      return;
    }
    for (UsedName name : assignment.names()) {
      long requestedAt = System.nanoTime();
      try {
        Optional<Lease> lease =
            name.whole(lockClient.get(), Assignment::autoRenewed)
                .tryAcquire(assignment.recoveryLimit());
        if (lease.isPresent()) {
          leaseJournal.recordGrant(lease.get(), name.whole(), requestedAt).release(lease.get());
        } else {
          recordUnserved(
              "WAIT-03",
              name.name(),
              "the lock is held: " + lockClient.get().admin().inspect(name.name()));
        }
      } catch (LockException e) {
        recordUnserved("FAULT-01", name.name(), e.toString());
      }
    }
  }

  private void abandon() throws InterruptedException {
    Optional<LockClient> lockClient = awaitOpen();
    if (lockClient.isEmpty()) {
      return; // the probe has recorded that
    }
    for (UsedName name : assignment.names()) {
      long requestedAt = System.nanoTime();
      try {
        name.whole(lockClient.get(), assignment::expiring)
            .tryAcquire(assignment.recoveryLimit())
            .ifPresent(
                lease ->
                    leaseJournal.recordGrant(lease, name.whole(), requestedAt).recordAbandonment());
      } catch (LockException e) {
        recordUnserved("FAULT-01", name.name(), e.toString());
      }
    }
  }

  private void awaitAbandoned() throws InterruptedException {
    Optional<LockClient> lockClient = awaitOpen();
    if (lockClient.isEmpty()) {
      return; // the probe has recorded that
    }
    Map<UsedName, CompletableFuture<Lease>> acquisitions = new LinkedHashMap<>();
    long requestedAt = System.nanoTime();
    for (UsedName name : assignment.names()) {
      acquisitions.put(name, name.whole(lockClient.get(), Assignment::autoRenewed).acquireAsync());
    }
    for (Map.Entry<UsedName, CompletableFuture<Lease>> each : acquisitions.entrySet()) {
      try {
        Lease lease =
            each.getValue().get(assignment.recoveryLimit().toMillis(), TimeUnit.MILLISECONDS);
        leaseJournal.recordGrant(lease, each.getKey().whole(), requestedAt).release(lease);
      } catch (TimeoutException e) {
        each.getValue().cancel(true);
        recordUnserved("WAIT-05", each.getKey().name(), "its holder let the lease expire");
      } catch (ExecutionException e) {
        recordUnserved("WAIT-05", each.getKey().name(), String.valueOf(e.getCause()));
      }
    }
  }

  /** Waits longer if no attempt has failed yet: a new process may still be loading its classes. */
  private Optional<LockClient> awaitOpen() throws InterruptedException {
    RunningTime time = new RunningTime();
    while (!client.isDone()
        && time.isWithin(lastFailure == null ? FIRST_LEASE_TIMEOUT : assignment.recoveryLimit())) {
      TimeUnit.NANOSECONDS.sleep(POLL_INTERVAL.toNanos());
    }
    return client.isDone() && !client.isCompletedExceptionally()
        ? Optional.of(client.join())
        : Optional.empty();
  }

  private void recordBroken(String rule, String what) {
    journal.record(new Entry.RuleBroken(rule, what));
  }

  private void recordUnserved(String rule, String name, String why) {
    recordBroken(
        rule,
        "%s did not get \"%s\" within %s after all faults had ended: %s"
            .formatted(assignment.client(), name, assignment.recoveryLimit(), why));
  }

  /**
   * Compares the numbers of threads and connections with the first ones, then closes the client.
   */
  @Override
  public void close() throws IOException {
    closed = true;
    Entry.Size before = sizeAtStart;
    if (before != null) {
      RunningTime time = new RunningTime();
      Entry.Size after = size();
      while (hasGrown(before, after) && time.isWithin(MAX_IDLE_TIME)) {
        pause(POLL_INTERVAL);
        after = size();
      }
      journal.record(before);
      journal.record(after);
      if (hasGrown(before, after)) {
        recordBroken(
            "REL-04",
            assignment.client() + " had " + before + " at first and " + after + " in the end");
      }
    }
    if (client.isDone() && !client.isCompletedExceptionally()) {
      client.join().close();
    }
    journal.close();
  }

  private boolean hasGrown(Entry.Size before, Entry.Size after) {
    return after.threads() > before.threads() + THREAD_TOLERANCE
        || after.connections() > before.connections() + assignment.threads() + CONNECTION_TOLERANCE;
  }

  private static void pause(Duration duration) {
    LockSupport.parkNanos(duration.toNanos());
  }
}
