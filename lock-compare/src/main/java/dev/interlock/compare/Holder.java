package dev.interlock.compare;

import dev.interlock.Capability;
import dev.interlock.Lease;
import dev.interlock.LockOptions;
import dev.interlock.tck.process.OtherProcess;
import dev.interlock.tck.process.RemoteTask;
import dev.interlock.tck.process.Worker;
import java.io.IOException;
import java.time.Duration;
import java.util.List;

/** A process that holds a lock and does not renew it, until something happens to it. */
final class Holder implements AutoCloseable {
  private static final Duration ANSWER = Duration.ofSeconds(30);

  private final OtherProcess process;
  private final String name;
  private final long took;
  private final Duration ttl;
  private final long token;

  private Holder(OtherProcess process, String name, long took, Duration ttl, long token) {
    this.process = process;
    this.name = name;
    this.took = took;
    this.ttl = ttl;
    this.token = token;
  }

  /** Starts a process that takes the lock. */
  static Holder take(Subject subject, String name, Duration ttl)
      throws IOException, InterruptedException {
    LockOptions options = Subject.options(ttl).toBuilder().autoRenew(false).build();
    OtherProcess process = subject.otherProcess(subject.uri(), options);
    try {
      String[] answer = process.call(ANSWER, Take.class, name).split(" ", -1);
      return new Holder(
          process,
          name,
          Long.parseLong(answer[2]),
          Duration.ofNanos(Long.parseLong(answer[0])),
          Long.parseLong(answer[1]));
    } catch (IOException | InterruptedException e) {
      process.close();
      throw e;
    }
  }

  /**
   * When it had the lock, on the clock of {@link System#nanoTime}, which the processes of one
   * machine share.
   */
  long took() {
    return took;
  }

  /** The TTL that the store applies. */
  Duration ttl() {
    return ttl;
  }

  /** The fencing token, or 0 if the backend has none. */
  long token() {
    return token;
  }

  void kill() {
    process.kill();
  }

  void stop() throws IOException, InterruptedException {
    process.stop();
  }

  void resume() throws IOException, InterruptedException {
    process.resume();
  }

  /** Asks the lease, by the process's own clock. */
  boolean thinksThatItHolds() throws IOException, InterruptedException {
    return Boolean.parseBoolean(process.call(ANSWER, Ask.class, name));
  }

  /** Lets it write at last: its answer is the token that its write carries. */
  long writesWith() throws IOException, InterruptedException {
    return Long.parseLong(process.call(ANSWER, Write.class, name));
  }

  @Override
  public void close() {
    process.close();
  }

  private static long token(Worker worker, Lease lease) {
    return worker.client().backend().has(Capability.FENCING) ? lease.fencingToken() : 0;
  }

  /** Takes the lock; answers with its TTL in nanoseconds, its token, and when it had it. */
  static final class Take implements RemoteTask {
    @Override
    public String run(Worker worker, List<String> arguments) throws Exception {
      Lease lease =
          worker
              .client()
              .lock(arguments.get(0))
              .tryAcquire(Pairs.PATIENCE)
              .orElseThrow(() -> new IllegalStateException("a lock that nobody has was busy"));
      long took = System.nanoTime();
      worker.keep(arguments.get(0), lease);
      return lease.effectiveTtl().toNanos() + " " + token(worker, lease) + " " + took;
    }
  }

  /** Answers whether the lease says that it is held. */
  static final class Ask implements RemoteTask {
    @Override
    public String run(Worker worker, List<String> arguments) {
      return Boolean.toString(worker.lease(arguments.get(0)).isHeld());
    }
  }

  /** Answers with the token of the lease, without a look at whether it is still held. */
  static final class Write implements RemoteTask {
    @Override
    public String run(Worker worker, List<String> arguments) {
      return Long.toString(token(worker, worker.lease(arguments.get(0))));
    }
  }
}
