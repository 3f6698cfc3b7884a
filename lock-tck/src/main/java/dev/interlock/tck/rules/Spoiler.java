package dev.interlock.tck.rules;

import dev.interlock.tck.fault.ActiveFault;
import dev.interlock.tck.fault.Network;
import dev.interlock.tck.fault.RedisError;
import dev.interlock.tck.fault.RedisErrors;
import java.util.function.IntFunction;

/**
 * A proxy between a client and the store that can spoil an answer.
 *
 * @param uri where the client connects to
 * @param how what happens to the answer, for failure messages
 * @param spoils starts to spoil one answer, after the given number of earlier ones has passed
 */
record Spoiler(String uri, String how, IntFunction<ActiveFault> spoils) {

  /** {@return a proxy that cuts the connection instead of passing the answer} */
  static Spoiler losing(Network network) {
    return new Spoiler(
        network.uri(), "lost", earlier -> network.everywhere(proxy -> proxy.loseAnswer(earlier)));
  }

  /** {@return a proxy that answers with an error and does not forward the request} */
  static Spoiler refusing(RedisErrors way, RedisError error, int count) {
    return new Spoiler(
        way.uri(), "replaced by " + error, earlier -> way.answer(error, earlier, count));
  }
}
