package dev.interlock.tck.rules;

import dev.interlock.tck.fault.ActiveFault;
import dev.interlock.tck.fault.Network;
import dev.interlock.tck.fault.RedisError;
import dev.interlock.tck.fault.RedisErrors;
import java.util.function.IntFunction;

/**
 * A proxy between a client and the store that can spoil an answer.
 *
 * @param uri the URI for the client
 * @param effect the effect on the answer, for failure messages
 * @param start starts to spoil the answer that follows the given number of others
 */
record Spoiler(String uri, String effect, IntFunction<ActiveFault> start) {

  /** {@return a proxy that cuts the connection instead of passing the answer} */
  static Spoiler losing(Network network) {
    return new Spoiler(
        network.uri(), "lost", earlier -> network.everywhere(proxy -> proxy.loseAnswer(earlier)));
  }

  /** {@return a proxy that answers with an error and does not forward the request} */
  static Spoiler refusing(RedisErrors proxies, RedisError error, int count) {
    return new Spoiler(
        proxies.uri(), "replaced by " + error, earlier -> proxies.answer(error, earlier, count));
  }
}
