package dev.interlock.redlock;

import java.util.Arrays;

/** A set of 64-bit hashes, for more states than fit into memory as objects. */
final class Fingerprints {

  private long[] slots = new long[1 << 16];
  private int size;

  /** Hashes a state; never 0. */
  static long of(byte[] state) {
    return end(add(start(), state, 0, state.length));
  }

  /** Begins a hash, for what is not hashed from end to end. */
  static long start() {
    return 0x9E3779B97F4A7C15L;
  }

  /** Adds a part. */
  static long add(long hash, byte[] state, int from, int length) {
    long h = hash;
    for (int i = from; i < from + length; i++) {
      h = (h ^ state[i]) * 0xFF51AFD7ED558CCDL;
      h ^= h >>> 32;
    }
    return h;
  }

  /** Ends a hash; never 0. */
  static long end(long hash) {
    long h = hash * 0xC4CEB9FE1A85EC53L;
    h ^= h >>> 29;
    return h == 0 ? 1 : h;
  }

  /** Returns whether it was not there before. */
  boolean add(long hash) {
    if (size * 2 > slots.length) {
      long[] old = slots;
      slots = new long[old.length * 2];
      Arrays.stream(old).filter(each -> each != 0).forEach(this::put);
    }
    if (!put(hash)) {
      return false;
    }
    size++;
    return true;
  }

  private boolean put(long hash) {
    int at = (int) hash & slots.length - 1;
    while (slots[at] != 0) {
      if (slots[at] == hash) {
        return false;
      }
      at = at + 1 & slots.length - 1;
    }
    slots[at] = hash;
    return true;
  }

  int size() {
    return size;
  }
}
