package dev.interlock;

import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The store did not answer, or answered that it cannot serve at the moment. The same call may
 * succeed later. Causes are a refused or broken connection, a time-out, no quorum, and a server
 * that is loading, full or read-only. Another cause is a server that refuses the password or
 * certificate of a client that it had accepted before, because these are being changed.
 *
 * <p>If the failure is {@linkplain #isInDoubt() in doubt}, the store may or may not have executed
 * the operation. The client undoes an acquisition in doubt in the background.
 */
public final class LockUnavailableException extends LockException {

  private static final long serialVersionUID = 1L;

  private final @Nullable String name;
  private final String backend;
  private final String endpoint;
  private final boolean inDoubt;

  /**
   * Creates an exception that concerns no particular lock.
   *
   * @param backend the backend's name, such as {@code redis}
   * @param endpoint the address or addresses of the store, without any password
   * @param problem the problem, as the end of the sentence "redis at 127.0.0.1:6379: …"
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
   * Creates an exception for a request of which nothing was sent, so that there is nothing to undo.
   * If a part of it was sent, or an earlier copy, use the constructor.
   *
   * @param backend the backend's name, such as {@code redis}
   * @param endpoint the address or addresses of the store, without any password
   * @param problem the problem, as the end of the sentence "redis at 127.0.0.1:6379: …"
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
   * @param problem the problem; the new exception has its cause and stack trace
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
   * failure concerns no particular lock, for example when a client is opened.
   */
  public Optional<String> name() {
    return Optional.ofNullable(name);
  }

  /**
   * {@return whether the store may have executed the request; false if nothing of it was sent} If a
   * call sent several requests, this is about the last one. The client also undoes earlier ones
   * that are in doubt.
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
