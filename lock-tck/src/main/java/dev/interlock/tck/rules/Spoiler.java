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
 * @param isHarmless whether a correct client succeeds in spite of it
 * @param start starts to spoil the answer that follows the given number of others
 */
record Spoiler(String uri, String effect, boolean isHarmless, IntFunction<ActiveFault> start) {

  /** {@return a proxy that cuts the connection instead of passing the answer} */
  static Spoiler losing(Network network) {
    return new Spoiler(
        network.uri(),
        "lost",
        false,
        earlier -> network.everywhere(proxy -> proxy.loseAnswer(earlier)));
  }

  /** {@return a proxy that answers with an error and does not forward the request} */
  static Spoiler refusing(RedisErrors proxies, RedisError error, int count) {
    return new Spoiler(
        proxies.uri(),
        "replaced by " + error,
        false,
        earlier -> proxies.answer(error, earlier, count));
  }

  /** {@return a proxy that answers as if the server had forgotten its scripts} */
  static Spoiler forgetting(RedisErrors proxies) {
    return new Spoiler(
        proxies.uri(),
        "after the scripts were forgotten",
        true,
        earlier -> proxies.forgetScripts());
  }
}
