package dev.interlock.etcd;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.options.OptionsUtil;
import org.jspecify.annotations.Nullable;

/**
 * A single key, or a range of keys.
 *
 * @param from the key, or the first key of the range
 * @param end the first key after the range; null for a single key
 */
record KeyRange(ByteSequence from, @Nullable ByteSequence end) {

  static KeyRange ofKey(ByteSequence key) {
    return new KeyRange(key, null);
  }

  static KeyRange ofPrefix(ByteSequence prefix) {
    return new KeyRange(prefix, OptionsUtil.prefixEndOf(prefix));
  }
}
