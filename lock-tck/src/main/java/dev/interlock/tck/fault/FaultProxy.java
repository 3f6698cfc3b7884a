package dev.interlock.tck.fault;

import static java.util.Objects.requireNonNull;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.BindException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A TCP proxy between clients and one server that injects network faults. It listens on a free port
 * of the loopback address and forwards every connection to the server. A method that starts or ends
 * a fault takes effect before it returns: for every byte that the proxy reads afterwards.
 *
 * <pre>{@code
 * try (FaultProxy proxy = FaultProxy.to("127.0.0.1", 6379);
 *     Socket client = new Socket("127.0.0.1", proxy.port())) {
 *   try (NetworkFault partition = proxy.partition()) {
 *     // neither side hears the other, and neither sees its connection closed
 *   }
 * }
 * }</pre>
 *
 * <p>Faults of different kinds can be active together: a cut takes precedence over dropping,
 * dropping over delay, and delays add up. Close a fault to end it, or call {@link #heal()} to end
 * all.
 *
 * <p>One difference remains from a real partition, which also loses the packets that open a
 * connection: here a new connection is accepted, and then receives nothing.
 *
 * <p>One daemon thread serves all connections; without traffic it sleeps. All methods may be called
 * from any thread, and wait only for that thread.
 */
public final class FaultProxy implements AutoCloseable {
  private static final int BACKLOG = 1024;
  private static final Duration PROCESS_START_TIMEOUT = Duration.ofSeconds(10);

  private final InetSocketAddress upstream;
  private final InetSocketAddress address;
  private final Socket portKeeper;
  private final Selector selector;
  private final Faults faults = new Faults();
  private final Set<Link> links = new LinkedHashSet<>();
  private final Queue<Order<?>> orders = new ConcurrentLinkedQueue<>();
  private final ByteBuffer scratch = ByteBuffer.allocate(64 << 10);
  private final AtomicBoolean closed = new AtomicBoolean();
  private final Thread thread;
  private @Nullable ServerSocketChannel listener;
  private final AtomicLong accepted = new AtomicLong();
  private volatile int open;

  /** Work for the proxy's thread. */
  private record Order<T>(Supplier<T> work, CompletableFuture<T> result) {

    /** Does the work, and returns an action that completes the result. */
    Runnable execute() {
      try {
        T value = work.get();
        return () -> result.complete(value);
      } catch (RuntimeException e) {
        return () -> result.completeExceptionally(e);
      }
    }
  }

  private FaultProxy(InetSocketAddress upstream) throws IOException {
    this.upstream = upstream;
    this.selector = Selector.open();
    // Bound, but never listening: it keeps the port while the listener is closed, and connections
    // are refused then. Linux lets the listener share the port since both sockets may reuse it.
    this.portKeeper = new Socket();
    portKeeper.setReuseAddress(true);
    portKeeper.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
    this.address =
        new InetSocketAddress(InetAddress.getLoopbackAddress(), portKeeper.getLocalPort());
    listen();
    this.thread = new Thread(this::run, "fault-proxy-" + address.getPort());
    thread.setDaemon(true);
  }

  /**
   * Starts a proxy in front of a server. Until the server runs, clients' connections are reset.
   *
   * @param host the server's host
   * @param port the server's port
   * @return a running proxy
   * @throws IOException if no local port can be listened on, or the host is unknown
   */
  public static FaultProxy to(String host, int port) throws IOException {
    InetSocketAddress upstream = new InetSocketAddress(requireNonNull(host, "host"), port);
    if (upstream.isUnresolved()) {
      throw new IOException("unknown host: " + host);
    }
    FaultProxy proxy = new FaultProxy(upstream);
    proxy.thread.start();
    return proxy;
  }

  /** {@return the address for clients to connect to} */
  public InetSocketAddress address() {
    return address;
  }

  /** {@return the local port for clients to connect to} */
  public int port() {
    return address.getPort();
  }

  /** {@return the server's address} */
  public InetSocketAddress upstream() {
    return upstream;
  }

  /** {@return the traffic up to now} */
  public Traffic traffic() {
    return new Traffic(accepted.get(), open, faults.toServer(), faults.toClient());
  }

  /**
   * Closes all connections, and refuses new ones until the fault ends.
   *
   * @return the active fault
   */
  public NetworkFault cut() {
    NetworkFault fault = fault("cut", new Behaviour.Refuse());
    Consumer<Link> close =
        link -> {
          link.close();
          fault.countStrike();
        };
    return begin(fault, () -> links.forEach(close));
  }

  /**
   * Refuses new connections until the fault ends; open ones continue.
   *
   * @return the active fault
   */
  public NetworkFault refuse() {
    return begin("refuse", new Behaviour.Refuse());
  }

  /**
   * Resets all connections (RST), as a server does that was restarted. New ones are accepted.
   *
   * @return how many connections were reset
   */
  public int reset() {
    return onProxyThread(
        () -> {
          int count = links.size();
          links.forEach(Link::reset);
          return count;
        });
  }

  /**
   * Drops all bytes of one direction, and also the end of a stream, so that one side does not
   * notice when the other closes or dies. Connections stay open, and new ones are accepted. When
   * the fault ends, connections that lost bytes are reset.
   *
   * @param direction which bytes are dropped
   * @return the active fault
   */
  public NetworkFault blackHole(Direction direction) {
    return begin("black hole " + direction, new Behaviour.BlackHole(Set.of(direction)));
  }

  /**
   * Drops both directions: {@link #blackHole} twice.
   *
   * @return the active fault
   */
  public NetworkFault partition() {
    return begin("partition", new Behaviour.BlackHole(EnumSet.allOf(Direction.class)));
  }

  /**
   * Keeps the bytes of one direction, and delivers them in their order when the fault ends: a
   * partition that TCP survives, after which old requests arrive late.
   *
   * @param direction which bytes are held back
   * @return the active fault
   */
  public NetworkFault hold(Direction direction) {
    return begin("hold " + direction, new Behaviour.Hold(direction));
  }

  /**
   * Holds back bytes as {@link #hold} does, but only on the connections that are open now. If a
   * client closes such a connection and opens another one, its old requests arrive when the fault
   * ends.
   *
   * @param direction which bytes are held back
   * @return the active fault
   */
  public NetworkFault holdOpenConnections(Direction direction) {
    return beginAmongOpen(
        "hold " + direction + " on open connections", new Behaviour.Hold(direction));
  }

  /**
   * Silences both directions as {@link #partition} does, but only on the connections that are open
   * now. Connections behave like this when a firewall or a load balancer has forgotten them.
   *
   * @return the active fault
   */
  public NetworkFault silenceOpenConnections() {
    return beginAmongOpen(
        "silence of open connections", new Behaviour.BlackHole(EnumSet.allOf(Direction.class)));
  }

  /**
   * Delays one direction, and keeps its order. When the fault ends, delayed bytes are delivered at
   * once.
   *
   * @param direction which bytes are delayed
   * @param latency the delay, positive
   * @return the active fault
   * @throws IllegalArgumentException if the latency is not positive
   */
  public NetworkFault delay(Direction direction, Duration latency) {
    if (latency.isNegative() || latency.isZero()) {
      throw new IllegalArgumentException("the latency must be positive, not " + latency);
    }
    String description = "delay " + direction + " by " + latency.toMillis() + " ms";
    return begin(description, new Behaviour.Delay(direction, latency.toNanos()));
  }

  /**
   * Lets a number of bytes pass in one direction, counted over all connections from now on. Then it
   * closes the connection that carries the next byte, and drops that byte and those behind it. The
   * fault strikes once.
   *
   * @param direction which bytes are counted
   * @param bytes the number of bytes that pass, zero or more
   * @return the active fault
   * @throws IllegalArgumentException if the number is negative
   */
  public NetworkFault dropAfter(Direction direction, long bytes) {
    if (bytes < 0) {
      throw new IllegalArgumentException("bytes must not be negative: " + bytes);
    }
    String description = "drop after " + bytes + " bytes " + direction;
    return begin(description, new Behaviour.DropAfter(direction, bytes));
  }

  /**
   * Drops the server's replies on each connection that from now on carries a request with the given
   * text in it (as UTF-8). The server executes the request, but its client never gets the answer.
   * Other connections work. When the fault ends, the affected connections are reset.
   *
   * @param requestText the text to look for in requests, at least one character
   * @return the active fault
   * @throws IllegalArgumentException if the text is empty
   */
  public NetworkFault loseReplies(String requestText) {
    if (requestText.isEmpty()) {
      throw new IllegalArgumentException("the text to look for must not be empty");
    }
    String description = "lose replies to requests with '" + requestText + "'";
    byte[] pattern = requestText.getBytes(StandardCharsets.UTF_8);
    return begin(description, new Behaviour.LoseReplies(pattern));
  }

  /**
   * Lets a number of answers pass, and closes the connection that carries the next one before its
   * first byte. The server has executed the request, or will do so, but the client sees its
   * connection end. An answer is the first chunk that the server sends after its client has sent
   * something on the same connection. Answers are counted over all connections from now on;
   * notifications pass. The fault strikes once.
   *
   * @param earlier the number of answers that pass, zero or more
   * @return the active fault
   * @throws IllegalArgumentException if the number is negative
   */
  public NetworkFault loseAnswer(int earlier) {
    if (earlier < 0) {
      throw new IllegalArgumentException("earlier must not be negative: " + earlier);
    }
    String description = "lose the answer after " + earlier + " others";
    return begin(description, new Behaviour.LoseAnswer(earlier));
  }

  /**
   * Accepts connections, and closes each as soon as its client sends something. Nothing is
   * forwarded. A load balancer behaves like this when it has no server. A client that uses TLS sees
   * its handshake fail.
   *
   * @return the active fault
   */
  public NetworkFault hangUp() {
    return begin("hang up", new Behaviour.HangUp());
  }

  /**
   * Resets all connections, and redirects new ones to another server, as when an address has been
   * given to another machine. When the fault ends, the redirected connections are reset.
   *
   * @param elsewhere the other server's address
   * @return the active fault
   */
  public NetworkFault redirectTo(InetSocketAddress elsewhere) {
    return begin(
        fault("lead to " + elsewhere, new Behaviour.Redirect(elsewhere)),
        () -> links.forEach(Link::reset));
  }

  /** Ends all faults, as {@link NetworkFault#close()} does for one. */
  public void heal() {
    onProxyThread(
        () -> {
          faults.clear();
          afterFault();
          return true;
        });
  }

  /** Closes all connections and the listening port. When it returns, the thread has ended. */
  @Override
  public void close() {
    if (closed.compareAndSet(false, true)) {
      selector.wakeup();
    }
    boolean interrupted = false;
    while (thread.isAlive()) {
      try {
        thread.join();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** {@return the addresses of the proxy and of its server} */
  @Override
  public String toString() {
    return "fault proxy " + address + " -> " + upstream;
  }

  private NetworkFault fault(String description, Behaviour behaviour) {
    return new NetworkFault(this, description, behaviour, null);
  }

  private NetworkFault beginAmongOpen(String description, Behaviour behaviour) {
    return onProxyThread(
        () -> {
          NetworkFault fault = new NetworkFault(this, description, behaviour, Set.copyOf(links));
          faults.add(fault);
          return fault;
        });
  }

  private NetworkFault begin(String description, Behaviour behaviour) {
    return begin(fault(description, behaviour), () -> {});
  }

  private NetworkFault begin(NetworkFault fault, Runnable first) {
    return onProxyThread(
        () -> {
          faults.add(fault);
          updateListener();
          first.run();
          return fault;
        });
  }

  void end(NetworkFault fault) {
    if (closed.get()) {
      return;
    }
    onProxyThread(
        () -> {
          if (faults.remove(fault)) {
            afterFault();
          }
          return true;
        });
  }

  /** Sends bytes that an ended fault delayed, and resets streams with a gap or redirected ones. */
  private void afterFault() {
    long now = System.nanoTime();
    for (Link link : links) {
      if (link.lossy() || link.redirected()) {
        link.reset();
      } else {
        link.deliverWithoutDelay(now);
      }
    }
    updateListener();
  }

  private <T> T onProxyThread(Supplier<T> work) {
    CompletableFuture<T> result = new CompletableFuture<>();
    orders.add(new Order<>(work, result));
    selector.wakeup();
    if (closed.get()) {
      result.completeExceptionally(new IllegalStateException("the proxy is closed"));
    }
    try {
      return result.join();
    } catch (CompletionException e) {
      throw new IllegalStateException("cannot change the faults of " + this, e.getCause());
    }
  }

  private void run() {
    try {
      while (!closed.get()) {
        select();
        serveSelected();
        List<Runnable> answers = runOrders();
        long now = System.nanoTime();
        links.forEach(link -> link.pump(now));
        if (links.removeIf(Link::closed) || !answers.isEmpty()) {
          // the socket of a closed channel stays open until its key is deregistered
          selector.selectNow();
        }
        open = links.size();
        answers.forEach(Runnable::run);
      }
    } catch (IOException | RuntimeException e) {
      fail(e);
    } finally {
      shutDown();
    }
  }

  private void select() throws IOException {
    long now = System.nanoTime();
    long nanos = orders.isEmpty() ? Long.MAX_VALUE : 0;
    for (Link link : links) {
      nanos = Math.min(nanos, link.dueIn(now));
    }
    if (nanos == 0) {
      selector.selectNow();
    } else if (nanos == Long.MAX_VALUE) {
      selector.select();
    } else {
      selector.select(TimeUnit.NANOSECONDS.toMillis(nanos) + 1);
    }
  }

  private void serveSelected() throws IOException {
    long now = System.nanoTime();
    for (Iterator<SelectionKey> keys = selector.selectedKeys().iterator(); keys.hasNext(); ) {
      SelectionKey key = keys.next();
      keys.remove();
      if (key.attachment() instanceof Link link) {
        link.ready(key, scratch, now);
      } else if (key.isValid() && key.isAcceptable()) {
        accept();
      }
    }
  }

  private void accept() throws IOException {
    ServerSocketChannel from = listener;
    SocketChannel client = from == null ? null : from.accept();
    if (client == null) {
      return;
    }
    accepted.incrementAndGet();
    SocketChannel server = SocketChannel.open();
    for (SocketChannel channel : List.of(client, server)) {
      channel.configureBlocking(false);
      channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
    }
    Link link = new Link(faults, client, server, selector);
    links.add(link);
    InetSocketAddress destination = faults.destination(upstream);
    link.connect(destination, !destination.equals(upstream));
  }

  /** Executes the orders, and returns the answers, to be given after the selector has run. */
  private List<Runnable> runOrders() {
    List<Runnable> answers = new ArrayList<>();
    for (Order<?> order = orders.poll(); order != null; order = orders.poll()) {
      answers.add(order.execute());
    }
    return answers;
  }

  private void updateListener() {
    try {
      if (faults.refuses()) {
        if (listener != null) {
          listener.close();
          listener = null;
          selector.selectNow(); // deregisters it
          awaitRefusal();
        }
      } else if (listener == null) {
        listenAgain();
      }
    } catch (IOException e) {
      throw new UncheckedIOException("cannot listen on " + address, e);
    }
  }

  /**
   * Waits until connections are refused. A process that is being started inherits a copy of the
   * listener, and closes it only later.
   */
  private void awaitRefusal() throws IOException {
    long start = System.nanoTime();
    while (System.nanoTime() - start < PROCESS_START_TIMEOUT.toNanos()) {
      try (Socket probe = new Socket()) {
        probe.connect(address, 1_000);
      } catch (ConnectException e) {
        return;
      } catch (SocketTimeoutException e) {
        // not accepted since the backlog is full, but not refused yet
      } catch (SocketException e) {
        // reset, since it was in the backlog of a copy that was closed; the next one is refused
      }
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(1));
    }
    throw new IOException(
        "connections to " + address + " are not refused although the proxy does not listen");
  }

  /** Listens again. A process that is being started may briefly keep the port in use. */
  private void listenAgain() throws IOException {
    long start = System.nanoTime();
    while (true) {
      try {
        listen();
        return;
      } catch (BindException e) {
        if (System.nanoTime() - start > PROCESS_START_TIMEOUT.toNanos()) {
          throw e;
        }
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(1));
      }
    }
  }

  private void listen() throws IOException {
    ServerSocketChannel channel = ServerSocketChannel.open();
    try {
      channel.setOption(StandardSocketOptions.SO_REUSEADDR, true);
      channel.bind(address, BACKLOG);
      channel.configureBlocking(false);
      channel.register(selector, SelectionKey.OP_ACCEPT);
      listener = channel;
    } finally {
      if (listener != channel) {
        channel.close();
      }
    }
  }

  private void fail(Exception cause) {
    closed.set(true);
    IllegalStateException failure = new IllegalStateException("the proxy failed: " + this, cause);
    orders.forEach(order -> order.result.completeExceptionally(failure));
  }

  private void shutDown() {
    links.forEach(Link::close);
    links.clear();
    open = 0;
    try {
      if (listener != null) {
        listener.close();
      }
      portKeeper.close();
      selector.close();
    } catch (IOException e) {
      throw new UncheckedIOException("cannot close " + this, e);
    } finally {
      fail(new IllegalStateException("the proxy is closed"));
    }
  }
}
