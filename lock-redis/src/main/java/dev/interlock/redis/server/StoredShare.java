package dev.interlock.redis.server;

import dev.interlock.LockKind;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Share;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Reads and writes members of the sorted set that {@code share_acquire.lua} describes. */
public final class StoredShare {

  private static final Pattern HEAD = Pattern.compile("v2\\|(read-write|semaphore)\\|(\\d{1,10})");

  private StoredShare() {}

  /**
   * {@return the head of a name, which says as which kind of lock the name is used}
   *
   * @param share any share of the name that is not exclusive
   */
  public static String head(Share share) {
    String kind = share.kind() == LockKind.SEMAPHORE ? "semaphore" : "read-write";
    return "v2|" + kind + '|' + share.capacity();
  }

  /**
   * {@return a share of the kind as which a name is used; null if the text does not describe one}
   *
   * @param found the content of a key in a script's reply
   */
  public static @Nullable Share use(String found) {
    if (found.equals("exclusive")) {
      return Share.EXCLUSIVE;
    }
    Matcher head = HEAD.matcher(found);
    if (!head.matches()) {
      return null;
    }
    int capacity = (int) Math.min(Long.parseLong(head.group(2)), Share.UNLIMITED);
    return head.group(1).equals("semaphore") ? Share.ofSemaphore(1, capacity) : Share.READ;
  }

  /** Names the kind of lock that a share belongs to. */
  static String describe(Share use) {
    return switch (use.kind()) {
      case EXCLUSIVE -> "an exclusive lock";
      case READ_WRITE -> "a read-write lock";
      case SEMAPHORE -> "a semaphore";
    };
  }

  /**
   * {@return whether a claim has a place in the line of waiters that want the same weight} Readers
   * need no place: there is always room for one more.
   *
   * @param claim an attempt
   */
  public static boolean isInLine(Claim claim) {
    return !claim.reservation().isZero() && !claim.share().equals(Share.READ);
  }

  /**
   * {@return the member that stores the hold of a claim}
   *
   * @param claim an attempt
   */
  public static String hold(Claim claim) {
    return hold(claim.id(), claim);
  }

  /**
   * {@return the member that stores the hold of a claim after its release was deferred}
   *
   * @param claim an attempt
   */
  public static String deferredHold(Claim claim) {
    return hold(claim.deferredId(), claim);
  }

  private static String hold(String id, Claim claim) {
    return id + '|' + claim.share().weight() + '|' + claim.label();
  }
}
