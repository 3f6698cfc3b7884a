package dev.interlock.zookeeper;

import dev.interlock.spi.Deadline;
import dev.interlock.spi.WakeUp;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.KeeperException.Code;
import org.jspecify.annotations.Nullable;

/**
 * The answer to one request, which one thread waits for. The driver's own blocking calls know
 * neither a deadline nor how to tell an interrupt from an answer.
 */
final class Reply<T> {

  private final String path;
  private final Session session;
  private final long askedAt;
  private final WakeUp arrived;
  private volatile @Nullable T value;
  private volatile @Nullable KeeperException error;

  Reply(String path, Session session) {
    this.path = path;
    this.session = session;
    this.askedAt = session.time().nanoTime();
    this.arrived = new WakeUp(session.time());
  }

  /** Called on the driver's thread, with what it says about the outcome. */
  void complete(int code, @Nullable T result) {
    session.connection().heard();
    if (code == Code.OK.intValue() && result != null) {
      value = result;
    } else {
      Code known = Code.get(code);
      error = KeeperException.create(known == null ? Code.SYSTEMERROR : known, path);
    }
    arrived.signal();
  }

  /** Waits until there is an answer or an error, or until the deadline. */
  void awaitEnd(Deadline deadline) throws InterruptedException {
    while (value == null && error == null && arrived.await(deadline)) {
      // Awake; look again.
    }
  }

  /** Whether it is certain that what was asked for was not done, and will not be. */
  boolean isRefused() {
    KeeperException failure = error;
    return failure != null && !Failures.isInDoubt(failure);
  }

  /**
   * Waits for the answer.
   *
   * @return the answer
   * @throws KeeperException if the answer is an error, or there was none by the deadline
   */
  T await(Deadline deadline) throws KeeperException, InterruptedException {
    awaitEnd(deadline);
    T answer = value;
    if (answer != null) {
      return answer;
    }
    KeeperException failure = error;
    if (failure != null) {
      throw failure;
    }
    session.connection().notHeardSince(askedAt);
    throw KeeperException.create(Code.OPERATIONTIMEOUT, path);
  }
}
