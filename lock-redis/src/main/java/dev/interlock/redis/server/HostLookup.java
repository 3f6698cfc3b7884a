package dev.interlock.redis.server;

import com.google.common.net.InetAddresses;
import java.io.InterruptedIOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * Looks up the addresses of a host within a time-out. The resolver of the JVM cannot be
 * interrupted, and may hang for longer than a request may take. So another thread waits for it, at
 * most one for each name.
 */
final class HostLookup {

  /** Looks up addresses; may block for any time. */
  @FunctionalInterface
  interface Resolver {
    InetAddress[] resolve(String host) throws UnknownHostException;
  }

  /** A lookup with the resolver of the JVM. */
  static final HostLookup SYSTEM = new HostLookup(InetAddress::getAllByName);

  private final Resolver resolver;
  private final Map<String, CompletableFuture<InetAddress[]>> pending = new ConcurrentHashMap<>();

  HostLookup(Resolver resolver) {
    this.resolver = resolver;
  }

  /**
   * Returns the addresses of a host.
   *
   * @param host a name or an address
   * @throws UnknownHostException if the host has no address, or none was found in time
   * @throws InterruptedIOException if the thread is interrupted; it stays interrupted
   */
  InetAddress[] addresses(String host, long timeoutMillis)
      throws UnknownHostException, InterruptedIOException {
    if (InetAddresses.isInetAddress(host)) {
      return new InetAddress[] {InetAddresses.forString(host)};
    }
    try {
      // A copy, because callers shuffle it and may share the result.
      return pending
          .computeIfAbsent(host, this::start)
          .get(timeoutMillis, TimeUnit.MILLISECONDS)
          .clone();
    } catch (TimeoutException e) {
      throw unknownHost(host + " (its name was not resolved in time)", e);
    } catch (ExecutionException e) {
      throw unknownHost(host, e.getCause());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while resolving " + host);
    }
  }

  private CompletableFuture<InetAddress[]> start(String host) {
    CompletableFuture<InetAddress[]> found = new CompletableFuture<>();
    Runnable resolve =
        () -> {
          try {
            found.complete(resolver.resolve(host));
          } catch (Throwable e) {
            found.completeExceptionally(e);
          } finally {
            pending.remove(host);
          }
        };
    // Inherits nothing from the caller, which it may outlive.
    Thread thread = new Thread(null, resolve, "interlock-redis-lookup", 0, false);
    thread.setContextClassLoader(null);
    thread.setDaemon(true);
    thread.start();
    return found;
  }

  private static UnknownHostException unknownHost(String message, @Nullable Throwable cause) {
    UnknownHostException unknown = new UnknownHostException(message);
    unknown.initCause(cause);
    return unknown;
  }
}
