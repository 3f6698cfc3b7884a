package dev.interlock.redis;

import dev.interlock.redis.PooledNode.TooLateException;
import dev.interlock.redis.Wire.Call;
import dev.interlock.redis.server.Pipelines;
import dev.interlock.redis.server.Request;
import dev.interlock.redis.server.ScriptCall;
import dev.interlock.redis.server.VirtualThreads;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.TimeSource;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.exceptions.JedisConnectionException;

/**
 * One caller's request, sent together with those of others. No caller depends on another one's
 * request:
 *
 * <ul>
 *   <li>A caller waits until its own deadline.
 *   <li>An interrupt takes back a request that has not been sent. Otherwise the caller waits for
 *       the reply, as it does over its own connection, and keeps the interrupt; on a virtual thread
 *       it leaves, as it does there, too.
 *   <li>When the connection breaks, the requests whose replies have not been read are in doubt.
 *       They are repeated over another connection where a single one would be, unless the caller
 *       has left.
 *   <li>A caller that leaves has its acquisition undone. That goes through the same queue, so it
 *       comes behind the acquisition; the caller's own undoing over another connection may come
 *       before it. Like every release, the undo compares the claim's value.
 * </ul>
 */
final class JoinedRequest implements Request {

  private enum State {
    QUEUED,
    SENT,
    ENDED,
    LEFT
  }

  private final Call call;
  private final Deadline deadline;
  private final Thread caller = Thread.currentThread();
  private final AtomicReference<State> state = new AtomicReference<>(State.QUEUED);
  private @Nullable Object outcome;

  JoinedRequest(Call call, Deadline deadline) {
    this.call = call;
    this.deadline = deadline;
  }

  /** Sends it, and waits for the reply. */
  Object run(Pipelines pipeline) throws InterruptedException {
    pipeline.beginWait();
    try {
      pipeline.send(0, this);
      return await(pipeline);
    } finally {
      pipeline.endWait();
    }
  }

  private Object await(Pipelines pipeline) throws InterruptedException {
    boolean interrupted = false;
    try {
      while (state.get() != State.ENDED) {
        if (Thread.interrupted()) {
          interrupted = true;
          if (leaves(State.QUEUED) || (VirtualThreads.isCurrent() && leavesSent(pipeline))) {
            interrupted = false;
            throw new InterruptedException();
          }
        }
        long left = deadline.remainingNanos();
        if (left > 0) {
          LockSupport.parkNanos(this, left);
        } else if (leaves(State.QUEUED)) {
          throw new TooLateException();
        } else if (leavesSent(pipeline)) {
          throw new JedisConnectionException(
              "no answer in time", new SocketTimeoutException("the caller's deadline passed"));
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
    if (outcome instanceof RuntimeException problem) {
      throw problem;
    }
    return Objects.requireNonNull(outcome);
  }

  private boolean leaves(State from) {
    return state.compareAndSet(from, State.LEFT);
  }

  private boolean leavesSent(Pipelines pipeline) {
    if (!leaves(State.SENT)) {
      return false;
    }
    Call undo = call.undo();
    if (undo != null) {
      pipeline.send(0, new Undo(undo));
    }
    return true;
  }

  @Override
  public @Nullable ScriptCall call(String process) {
    return state.get() == State.SENT || state.compareAndSet(State.QUEUED, State.SENT)
        ? call.toSend()
        : null;
  }

  @Override
  public void answered(Object reply) {
    call.noteAnswer();
    end(reply);
  }

  @Override
  public void failed(RuntimeException problem) {
    end(problem);
  }

  private void end(Object how) {
    outcome = how;
    State before = state.getAndUpdate(now -> now == State.LEFT ? now : State.ENDED);
    if (before != State.LEFT) {
      LockSupport.unpark(caller);
    }
  }

  @Override
  public boolean isWithdrawn() {
    return state.get() == State.LEFT;
  }

  @Override
  public Deadline sendBefore() {
    return deadline;
  }

  /** Undoes the acquisition of a caller that has left. Nobody waits for the answer. */
  private static final class Undo implements Request {
    private static final Duration MAX_DELAY = Duration.ofSeconds(10);

    private final Call call;
    private final Deadline sendBefore = Deadline.in(TimeSource.system(), MAX_DELAY);

    Undo(Call call) {
      this.call = call;
    }

    @Override
    public ScriptCall call(String process) {
      return call.toSend();
    }

    @Override
    public void answered(Object reply) {
      // It was granted and is undone, or it was not.
    }

    @Override
    public void failed(RuntimeException problem) {
      // The pipeline repeats it until it is too late.
    }

    @Override
    public Deadline sendBefore() {
      return sendBefore;
    }

    @Override
    public Object releaseId() {
      return this;
    }
  }
}
