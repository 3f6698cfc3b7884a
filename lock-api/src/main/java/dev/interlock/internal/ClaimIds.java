package dev.interlock.internal;

import java.util.Base64;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Identities of attempts: 120 random bits of the client's own, then a count. No system call per
 * attempt, and no two attempts of anybody share one.
 */
final class ClaimIds {

  private static final String DIGITS =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

  private final String prefix;
  private final AtomicLong count = new AtomicLong();

  ClaimIds(Platform platform) {
    prefix = Base64.getUrlEncoder().withoutPadding().encodeToString(platform.unique(15));
  }

  String next() {
    long number = count.getAndIncrement();
    // One expression, so that nothing but the result is allocated.
    return prefix
        + digit(number >>> 36)
        + digit(number >>> 30)
        + digit(number >>> 24)
        + digit(number >>> 18)
        + digit(number >>> 12)
        + digit(number >>> 6)
        + digit(number);
  }

  private static char digit(long number) {
    return DIGITS.charAt((int) (number & 63));
  }
}
