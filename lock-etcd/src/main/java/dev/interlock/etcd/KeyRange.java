package dev.interlock.etcd;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.options.OptionsUtil;
import org.jspecify.annotations.Nullable;

/**
 * One key, or all keys from one up to another.
 *
 * @param from the key, or the first of them
 * @param end the first key behind them, or null for one key
 */
record KeyRange(ByteSequence from, @Nullable ByteSequence end) {

  static KeyRange ofKey(ByteSequence key) {
    return new KeyRange(key, null);
  }

  static KeyRange ofPrefix(ByteSequence prefix) {
    return new KeyRange(prefix, OptionsUtil.prefixEndOf(prefix));
  }
}
