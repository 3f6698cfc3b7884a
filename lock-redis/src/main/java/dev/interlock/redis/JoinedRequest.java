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
 * The request of one caller, sent over the same connection as those of others. No caller depends on
 * the request of another:
 *
 * <ul>
 *   <li>A caller waits until its own deadline.
 *   <li>An interrupt withdraws a request that has not been sent. After that, the caller waits for
 *       the reply, and restores the interrupt; on a virtual thread it withdraws the request even
 *       then. Both are the same over a connection of its own.
 *   <li>When the connection breaks, the requests whose replies have not been read are in doubt.
 *       They are repeated over another connection, unless they were withdrawn.
 *   <li>An acquisition that was withdrawn after it was sent is undone. The undo goes through the
 *       same queue, so it follows the acquisition; the caller's own undo, over another connection,
 *       may come before it. Like every release, the undo compares the claim's value.
 * </ul>
 */
final class JoinedRequest implements Request {

  private enum State {
    QUEUED,
    SENT,
    ENDED,
    WITHDRAWN
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

  /** Sends the request, and waits for the reply. */
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
          if (tryWithdraw(State.QUEUED)
              || (VirtualThreads.isCurrent() && tryWithdrawSent(pipeline))) {
            interrupted = false;
            throw new InterruptedException();
          }
        }
        long remaining = deadline.remainingNanos();
        if (remaining > 0) {
          LockSupport.parkNanos(this, remaining);
        } else if (tryWithdraw(State.QUEUED)) {
          throw new TooLateException();
        } else if (tryWithdrawSent(pipeline)) {
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

  private boolean tryWithdraw(State from) {
    return state.compareAndSet(from, State.WITHDRAWN);
  }

  private boolean tryWithdrawSent(Pipelines pipeline) {
    if (!tryWithdraw(State.SENT)) {
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
  public void complete(Object reply) {
    call.recordAnswer();
    end(reply);
  }

  @Override
  public void fail(RuntimeException problem) {
    end(problem);
  }

  private void end(Object how) {
    outcome = how;
    State before = state.getAndUpdate(now -> now == State.WITHDRAWN ? now : State.ENDED);
    if (before != State.WITHDRAWN) {
      LockSupport.unpark(caller);
    }
  }

  @Override
  public boolean isWithdrawn() {
    return state.get() == State.WITHDRAWN;
  }

  @Override
  public Deadline sendBefore() {
    return deadline;
  }

  /** Undoes an acquisition that was withdrawn. Nobody waits for the reply. */
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
    public void complete(Object reply) {
      // Either reply will do: the grant was undone, or there was none.
    }

    @Override
    public void fail(RuntimeException problem) {
      // The pipeline repeats the undo until its time is up.
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
