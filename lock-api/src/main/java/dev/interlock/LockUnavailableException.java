package dev.interlock;

import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The store did not answer, or answered that it cannot serve at the moment: a refused or broken
 * connection, a time-out, no quorum, a server that is loading, full or read-only, or one that
 * refuses the password or certificate of a client that it had let in before, because these are
 * being changed. The same call may succeed later.
 *
 * <p>If it is {@linkplain #isInDoubt() in doubt}, the operation may or may not have been executed.
 * The client undoes an acquisition in doubt in the background.
 */
public final class LockUnavailableException extends LockException {

  private static final long serialVersionUID = 1L;

  private final @Nullable String name;
  private final String backend;
  private final String endpoint;
  private final boolean inDoubt;

  /**
   * Creates an exception that concerns no lock in particular.
   *
   * @param backend the backend's name, such as {@code redis}
   * @param endpoint the address or addresses of the store, without any password
   * @param problem what happened, as the end of the sentence "redis at 127.0.0.1:6379: …"
   * @param cause the driver's own exception, if there is one
   */
  public LockUnavailableException(
      String backend, String endpoint, String problem, @Nullable Throwable cause) {
    this(backend, endpoint, problem, cause, true);
  }

  private LockUnavailableException(
      String backend, String endpoint, String problem, @Nullable Throwable cause, boolean inDoubt) {
    super(backend + " at " + endpoint + ": " + problem, cause);
    this.name = null;
    this.backend = backend;
    this.endpoint = endpoint;
    this.inDoubt = inDoubt;
  }

  /**
   * Creates an exception for a request of which nothing was sent: the client has nothing to undo.
   * If only a part was sent, or an earlier copy, use the constructor.
   *
   * @param backend the backend's name, such as {@code redis}
   * @param endpoint the address or addresses of the store, without any password
   * @param problem what happened, as the end of the sentence "redis at 127.0.0.1:6379: …"
   * @param cause the driver's own exception, if there is one
   * @return the exception; {@link #isInDoubt()} is false
   */
  public static LockUnavailableException notSent(
      String backend, String endpoint, String problem, @Nullable Throwable cause) {
    return new LockUnavailableException(backend, endpoint, problem, cause, false);
  }

  /**
   * Creates an exception that concerns one lock.
   *
   * @param name the lock's name, or those of a set
   * @param problem what happened; its cause and stack trace become this one's
   */
  public LockUnavailableException(String name, LockUnavailableException problem) {
    super("lock \"" + name + "\": " + problem.getMessage(), problem.getCause());
    this.name = name;
    this.backend = problem.backend;
    this.endpoint = problem.endpoint;
    this.inDoubt = problem.inDoubt;
    setStackTrace(problem.getStackTrace());
  }

  /**
   * {@return the name of the lock, or the names of a set joined by {@code ", "}} Empty if the
   * failure concerns no lock in particular, such as that of opening a client.
   */
  public Optional<String> name() {
    return Optional.ofNullable(name);
  }

  /**
   * {@return whether the store may have executed the request; false if nothing of it was sent} If a
   * call has sent several, this is about the last; the client also undoes earlier ones in doubt.
   */
  public boolean isInDoubt() {
    return inDoubt;
  }

  /** {@return the backend's name, such as {@code redis}} */
  public String backend() {
    return backend;
  }

  /** {@return the address or addresses of the store, without any password} */
  public String endpoint() {
    return endpoint;
  }
}
