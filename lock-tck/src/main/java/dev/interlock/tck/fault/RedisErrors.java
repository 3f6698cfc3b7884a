package dev.interlock.tck.fault;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;

/**
 * Proxies between clients and a store of the Redis protocol that answer commands with errors,
 * without executing them:
 *
 * <pre>{@code
 * try (RedisErrors way = RedisErrors.to(List.of(server), ports -> "redis://localhost:" + ports.get(0));
 *     RedisErrors.Spoiled second = way.answer(RedisError.LOADING, 1, 1)) {
 *   // the second command that a client sends to way.uri() is answered by the error
 * }
 * }</pre>
 *
 * <p>All methods may be called from any thread.
 */
public final class RedisErrors implements AutoCloseable {
  private final String uri;
  private final List<RedisErrorProxy> proxies;

  private RedisErrors(String uri, List<RedisErrorProxy> proxies) {
    this.uri = uri;
    this.proxies = List.copyOf(proxies);
  }

  /**
   * Puts a proxy in front of every address of a store. A store that does not speak the Redis
   * protocol, or speaks it through TLS, can be used through the proxies, but gets no errors.
   *
   * @param servers the store's addresses
   * @param uri gives the URI that leads to the proxies' ports on the loopback address
   * @return the way
   * @throws IOException if a proxy cannot listen
   */
  public static RedisErrors to(List<InetSocketAddress> servers, Function<List<Integer>, String> uri)
      throws IOException {
    List<RedisErrorProxy> proxies = new ArrayList<>();
    try {
      for (InetSocketAddress server : servers) {
        proxies.add(new RedisErrorProxy(server));
      }
    } catch (IOException e) {
      proxies.forEach(RedisErrorProxy::close);
      throw e;
    }
    List<Integer> ports = proxies.stream().map(proxy -> proxy.address().getPort()).toList();
    return new RedisErrors(uri.apply(ports), proxies);
  }

  /** {@return the URI that leads to the store} */
  public String uri() {
    return uri;
  }

  /**
   * {@return whether clients have sent requests of the Redis protocol through these proxies; false
   * also if nothing has been sent yet}
   */
  public boolean speaksRedis() {
    return proxies.stream().anyMatch(RedisErrorProxy::speaksRedis);
  }

  /**
   * {@return whether clients use TLS, so that the proxies can read and answer nothing; false also
   * if nothing has been sent yet}
   */
  public boolean encrypted() {
    return proxies.stream().anyMatch(RedisErrorProxy::encrypted);
  }

  /**
   * Answers some commands to each server with an error, counted over all connections to that server
   * from now on.
   *
   * @param error the answer
   * @param earlier how many commands are executed before the first error, zero or more
   * @param count how many commands get the error, at least one
   * @return the fault, active until that many were answered or it is closed
   */
  public Spoiled answer(RedisError error, int earlier, int count) {
    CountDownLatch struck = new CountDownLatch(1);
    Map<RedisErrorProxy, Answers> answers = new HashMap<>();
    for (RedisErrorProxy proxy : proxies) {
      answers.put(proxy, new Answers(error, earlier, count, new AtomicInteger(), struck));
    }
    answers.forEach(RedisErrorProxy::begin);
    return new Spoiled(answers, struck);
  }

  /** Closes all connections and stops listening. */
  @Override
  public void close() {
    proxies.forEach(RedisErrorProxy::close);
  }

  /** An active fault that answers commands with errors, on all proxies. */
  public static final class Spoiled implements ActiveFault {
    private final Map<RedisErrorProxy, Answers> answers;
    private final CountDownLatch struck;

    private Spoiled(Map<RedisErrorProxy, Answers> answers, CountDownLatch struck) {
      this.answers = answers;
      this.struck = struck;
    }

    /** Waits until a command was answered with the error. */
    @Override
    public boolean awaitHit(Duration limit) throws InterruptedException {
      return struck.await(limit.toNanos(), TimeUnit.NANOSECONDS);
    }

    /** Ends the fault: commands are executed again. */
    @Override
    public void close() {
      answers.forEach(RedisErrorProxy::end);
    }
  }

  /** The errors of one proxy. */
  record Answers(
      RedisError error, int earlier, int count, AtomicInteger seen, CountDownLatch struck) {

    /** Counts a command, and returns whether to answer it with the error. */
    boolean isNext() {
      int number = seen.getAndIncrement() - earlier;
      boolean next = number >= 0 && number < count;
      if (next) {
        struck.countDown();
      }
      return next;
    }
  }
}
