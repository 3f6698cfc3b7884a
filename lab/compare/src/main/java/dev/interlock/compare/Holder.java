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

/**
 * Another process that holds a lock without renewing it, and can be stopped or killed.
 *
 * @param acquired the {@link System#nanoTime} at which it had the lock; the processes of one
 *     machine share this clock
 * @param ttl the TTL that the store applies
 * @param token the fencing token, or 0 if the backend has none
 */
record Holder(OtherProcess process, String name, long acquired, Duration ttl, long token)
    implements AutoCloseable {
  private static final Duration ANSWER_TIMEOUT = Duration.ofSeconds(30);

  /** Starts a process that acquires the lock. */
  static Holder start(OpenContender contender, String name, Duration ttl)
      throws IOException, InterruptedException {
    LockOptions options = OpenContender.options(ttl).toBuilder().autoRenew(false).build();
    OtherProcess process = contender.otherProcess(contender.uri(), options);
    try {
      String[] answer = process.call(ANSWER_TIMEOUT, Acquire.class, name).split(" ", -1);
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

  void kill() {
    process.kill();
  }

  void stop() throws IOException, InterruptedException {
    process.stop();
  }

  void resume() throws IOException, InterruptedException {
    process.resume();
  }

  /** {@return whether the lease counts as held in the other process} */
  boolean believesItHolds() throws IOException, InterruptedException {
    return Boolean.parseBoolean(process.call(ANSWER_TIMEOUT, Ask.class, name));
  }

  /** {@return the token with which the other process would write now} */
  long lateToken() throws IOException, InterruptedException {
    return Long.parseLong(process.call(ANSWER_TIMEOUT, Write.class, name));
  }

  @Override
  public void close() {
    process.close();
  }

  private static long token(Worker worker, Lease lease) {
    return worker.client().backend().has(Capability.FENCING) ? lease.fencingToken() : 0;
  }

  /**
   * Acquires the lock; answers with its TTL in nanoseconds, its token, and the time of the grant.
   */
  static final class Acquire implements RemoteTask {
    @Override
    public String run(Worker worker, List<String> arguments) throws Exception {
      Lease lease =
          worker
              .client()
              .lock(arguments.get(0))
              .tryAcquire(Locking.UNCONTENDED_TIMEOUT)
              .orElseThrow(
                  () -> new IllegalStateException("a lock that nobody else uses was held"));
      long acquired = System.nanoTime();
      worker.keep(arguments.get(0), lease);
      return lease.effectiveTtl().toNanos() + " " + token(worker, lease) + " " + acquired;
    }
  }

  /** Answers whether the lease is held, by the clock of its process. */
  static final class Ask implements RemoteTask {
    @Override
    public String run(Worker worker, List<String> arguments) {
      return Boolean.toString(worker.lease(arguments.get(0)).isHeld());
    }
  }

  /** Answers with the token of the lease, without checking that it is held. */
  static final class Write implements RemoteTask {
    @Override
    public String run(Worker worker, List<String> arguments) {
      return Long.toString(token(worker, worker.lease(arguments.get(0))));
    }
  }
}
