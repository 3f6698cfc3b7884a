package dev.interlock.redlock;

import dev.interlock.LockException;

/** The answer of one node to one attempt, or the reason why there is none. */
sealed interface Vote {

  /**
   * The node holds the lock for this attempt.
   *
   * @param fence the node's fence after this grant
   * @param before the fence before it, or 0 if there was none
   */
  record Granted(long fence, long before) implements Vote {}

  /**
   * The node holds the lock for another attempt.
   *
   * @param value the value of the lock
   * @param remainingMillis the remaining TTL
   */
  record Busy(String value, long remainingMillis) implements Vote {}

  /** The node had granted the lock, but did not hold it any more when it was asked to confirm. */
  record Lost() implements Vote {}

  /**
   * The node answered that it does not vote at present.
   *
   * @param why the end of the sentence "refused: …"
   */
  record Refused(String why) implements Vote {}

  /** The node did not answer in time, and may have executed the request. */
  record TimedOut() implements Vote {}

  /**
   * The node could not be asked, or answered with an error.
   *
   * @param problem the failure
   */
  record Failed(LockException problem) implements Vote {}

  /** Describes the vote for a message that lists all nodes. */
  default String inWords() {
    if (this instanceof Granted) {
      return "granted";
    }
    if (this instanceof Busy busy) {
      return "busy for " + busy.remainingMillis() + " ms";
    }
    if (this instanceof Lost) {
      return "granted, then lost the lock";
    }
    if (this instanceof Refused refused) {
      return "refused: " + refused.why();
    }
    if (this instanceof Failed failed) {
      return "failed: " + failed.problem().getMessage();
    }
    return "timed out";
  }
}
