package dev.interlock;

import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * A guarded store refused a fencing token, because its fence is at another token. Nothing was
 * written.
 *
 * <p>If the fence is at a higher token, a later holder has claimed that, so the lease of this token
 * has ended, whatever its own clock says: stop the work. If the fence is at a lower token, or there
 * is none, this token was not claimed, or the store has lost the claim: data read under this token
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
    String refused = "token " + token + " of \"" + name + "\" was refused: ";
    if (claimed == null) {
      return refused + "no token is claimed; claim this one, and read again before you write";
    }
    return claimed > token
        ? refused + "a later holder has claimed " + claimed
        : refused
            + "the fence is still at "
            + claimed
            + "; claim this token, and read again before you write";
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

  /** {@return whether a later holder has claimed a higher token, so that this one stays refused} */
  public boolean isSuperseded() {
    return claimed != null && claimed > token;
  }
}
