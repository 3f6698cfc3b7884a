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
 * Proxies between clients and a store of the Redis protocol. They answer commands with errors
 * without executing them:
 *
 * <pre>{@code
 * try (RedisErrors proxies = RedisErrors.to(List.of(server), ports -> "redis://localhost:" + ports.get(0));
 *     RedisErrors.ActiveErrors second = proxies.answer(RedisError.LOADING, 1, 1)) {
 *   // the second command that a client sends to proxies.uri() is answered by the error
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
   * Puts a proxy in front of every address of a store. Stores of other protocols, and TLS, pass the
   * proxies, but get no errors.
   *
   * @param servers the store's addresses
   * @param uri returns the URI with the proxies' ports on the loopback address
   * @return the proxies
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

  /** {@return the URI that leads to the store through the proxies} */
  public String uri() {
    return uri;
  }

  /** {@return whether a client has sent a request of the Redis protocol through these proxies} */
  public boolean speaksRedis() {
    return proxies.stream().anyMatch(RedisErrorProxy::speaksRedis);
  }

  /** {@return whether a client has started TLS, so that the proxies cannot read its requests} */
  public boolean encrypted() {
    return proxies.stream().anyMatch(RedisErrorProxy::encrypted);
  }

  /**
   * Answers some commands to each server with an error, counted over all connections to that server
   * from now on.
   *
   * @param error the answer
   * @param earlier the number of commands that are executed before the first error
   * @param count the number of commands that get the error, at least one
   * @return the fault, active until it is closed or that many commands got the error
   */
  public ActiveErrors answer(RedisError error, int earlier, int count) {
    return answer(proxies, error, earlier, count);
  }

  /**
   * Answers all commands to the first server with an error.
   *
   * @param error the answer
   * @return the fault, active until it is closed
   */
  public ActiveErrors answerAtFirstServer(RedisError error) {
    return answer(proxies.subList(0, 1), error, 0, Integer.MAX_VALUE);
  }

  private static ActiveErrors answer(
      List<RedisErrorProxy> proxies, RedisError error, int earlier, int count) {
    CountDownLatch struck = new CountDownLatch(1);
    Map<RedisErrorProxy, Answers> answers = new HashMap<>();
    for (RedisErrorProxy proxy : proxies) {
      answers.put(proxy, new Answers(error, earlier, count, new AtomicInteger(), struck));
    }
    answers.forEach(RedisErrorProxy::begin);
    return new ActiveErrors(answers, struck);
  }

  /**
   * Makes the servers forget all scripts, as {@code SCRIPT FLUSH} and a restart do. A digest is
   * answered with NOSCRIPT until its script was sent again by {@code EVAL} or {@code SCRIPT LOAD}.
   *
   * @return the fault, which is already hit, and lasts until the proxies are closed
   */
  public ActiveFault forgetScripts() {
    proxies.forEach(RedisErrorProxy::forgetScripts);
    return new ActiveFault() {
      @Override
      public boolean awaitHit(Duration limit) {
        return true;
      }

      @Override
      public void close() {}
    };
  }

  /** {@return whether a client has sent a digest whose script was forgotten} */
  public boolean refusedDigests() {
    return proxies.stream().anyMatch(RedisErrorProxy::refusedDigests);
  }

  /** Closes all connections and stops listening. */
  @Override
  public void close() {
    proxies.forEach(RedisErrorProxy::close);
  }

  /** An active fault that answers commands with errors, on all proxies. */
  public static final class ActiveErrors implements ActiveFault {
    private final Map<RedisErrorProxy, Answers> answers;
    private final CountDownLatch struck;

    private ActiveErrors(Map<RedisErrorProxy, Answers> answers, CountDownLatch struck) {
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
