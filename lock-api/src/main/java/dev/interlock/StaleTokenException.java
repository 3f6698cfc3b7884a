package dev.interlock;

import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * A guarded store refused a fencing token: its fence holds another. Nothing was written.
 *
 * <p>If the fence holds a higher token, a later holder has claimed it, so that the lease of this
 * token has ended, whatever its own clock says: stop the work. If the fence holds a lower one, or
 * none, this token was not claimed, or the store has lost the claim since: what was read under it
 * may be outdated. If the lease is still held, claim the token and read again.
 */
public final class StaleTokenException extends LockException {

  private static final long serialVersionUID = 1L;

  private final String name;
  private final long token;
  private final @Nullable Long claimed;

  /**
   * Creates an exception for one refusal.
   *
   * @param name the lock's name
   * @param token the token that was refused
   * @param claimed the token in the fence, or null if there is none
   */
  public StaleTokenException(String name, long token, @Nullable Long claimed) {
    super(message(name, token, claimed), null);
    this.name = name;
    this.token = token;
    this.claimed = claimed;
  }

  private static String message(String name, long token, @Nullable Long claimed) {
    String refused = "token " + token + " of \"" + name + "\" refused: ";
    if (claimed == null) {
      return refused + "it is not claimed; claim it, and read again before you write";
    }
    return claimed > token
        ? refused + "a later holder has claimed " + claimed
        : refused
            + "the fence is still at "
            + claimed
            + "; claim the token, and read again before you write";
  }

  /** {@return the lock's name} */
  public String name() {
    return name;
  }

  /** {@return the token that was refused} */
  public long token() {
    return token;
  }

  /** {@return the token in the fence; empty if there is none} */
  public OptionalLong claimedToken() {
    return claimed == null ? OptionalLong.empty() : OptionalLong.of(claimed);
  }

  /** {@return whether a later holder has claimed a higher token: this one stays refused} */
  public boolean isSuperseded() {
    return claimed != null && claimed > token;
  }
}
