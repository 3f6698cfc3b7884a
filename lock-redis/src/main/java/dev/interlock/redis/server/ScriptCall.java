package dev.interlock.redis.server;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * A call of a script.
 *
 * @param script the script
 * @param keys the keys
 * @param arguments the arguments
 */
public record ScriptCall(Script script, List<byte[]> keys, List<byte[]> arguments) {

  /**
   * {@return this call with more arguments at the end}
   *
   * @param more the arguments
   */
  public ScriptCall with(byte[]... more) {
    List<byte[]> all = new ArrayList<>(arguments.size() + more.length);
    all.addAll(arguments);
    Collections.addAll(all, more);
    return new ScriptCall(script, keys, all);
  }

  /**
   * {@return a number as an argument}
   *
   * @param value the number
   */
  public static byte[] number(long value) {
    return Long.toString(value).getBytes(StandardCharsets.US_ASCII);
  }
}
