package dev.interlock.tck.process;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.gson.Gson;
import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.LockUnavailableException;
import dev.interlock.tck.Harness;
import dev.interlock.tck.run.NotOfferedException;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Constructor;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The main class of {@linkplain OtherProcess other JVMs}. It reads tasks from its input, runs them
 * one after the other, and writes their results to its output. It ends with its input, so that it
 * does not outlive its test.
 */
public final class Worker {
  private final Harness harness;
  private final String uri;
  private final LockOptions options;
  private final Map<String, Lease> leases = new ConcurrentHashMap<>();
  private @Nullable LockClient client;

  private Worker(Harness harness, String uri, LockOptions options) {
    this.harness = harness;
    this.uri = uri;
    this.options = options;
  }

  /** {@return the worker's client, which the first call opens} */
  public synchronized LockClient client() {
    if (client == null) {
      client = harness.open(uri, options);
    }
    return client;
  }

  /**
   * Opens another client.
   *
   * @param otherUri the store's URI
   * @return a new client
   */
  public LockClient open(String otherUri) {
    return harness.open(otherUri, options);
  }

  /** {@return the options of the worker's client} */
  public LockOptions options() {
    return options;
  }

  /**
   * Keeps a lease for later tasks.
   *
   * @param key its key
   * @param lease the lease
   */
  public void keep(String key, Lease lease) {
    leases.put(key, lease);
  }

  /**
   * {@return a kept lease}
   *
   * @param key its key
   */
  public Lease lease(String key) {
    Lease lease = leases.get(key);
    if (lease == null) {
      throw new IllegalArgumentException("this process keeps no lease as " + key);
    }
    return lease;
  }

  /**
   * Serves the test that started this JVM.
   *
   * @param arguments harness class or {@code -}, URI, TTL, request time-out, auto-renewal
   * @throws Exception if the arguments are wrong, or the connection to the test fails
   */
  public static void main(String[] arguments) throws Exception {
    ignoreInterrupts();
    PrintStream answers = System.out;
    System.setOut(System.err); // output of tasks and libraries must not look like answers
    StderrLogger.traceJavaLogging();
    Harness harness =
        arguments[0].equals("-") ? Harness.at(arguments[1]) : instance(arguments[0], Harness.class);
    LockOptions options =
        LockOptions.builder()
            .ttl(Duration.parse(arguments[2]))
            .requestTimeout(Duration.parse(arguments[3]))
            .autoRenew(Boolean.parseBoolean(arguments[4]))
            .build();
    Worker worker = new Worker(harness, arguments[1], options);
    BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, UTF_8));
    answer(answers, "ready", Long.toString(System.nanoTime()));
    for (String line = orders.readLine(); line != null; line = orders.readLine()) {
      List<String> order = List.of(new Gson().fromJson(line, String[].class));
      try {
        RemoteTask task = instance(order.get(0), RemoteTask.class);
        answer(answers, "done", task.run(worker, order.subList(1, order.size())));
      } catch (Throwable e) {
        Optional<NotOfferedException> notOffered = NotOfferedException.in(e);
        if (notOffered.isPresent()) {
          answer(answers, "not offered", String.valueOf(notOffered.get().getMessage()));
          continue;
        }
        boolean noAnswer = e instanceof LockUnavailableException;
        answer(answers, noAnswer ? "no answer" : "failed", e.toString());
        e.printStackTrace();
      }
    }
    // the test has ended; the process exits without releasing its locks, as in a crash
    Runtime.getRuntime().halt(0);
  }

  /**
   * Ignores Control-C, which a terminal sends to the whole process group, so that the test ends
   * first. Java has no standard API for signals. Every JDK has this one. The call is reflective
   * since javac's warning about it cannot be suppressed.
   */
  private static void ignoreInterrupts() {
    try {
      Class<?> signal = Class.forName("sun.misc.Signal");
      Class<?> handler = Class.forName("sun.misc.SignalHandler");
      signal
          .getMethod("handle", signal, handler)
          .invoke(
              null,
              signal.getConstructor(String.class).newInstance("INT"),
              handler.getField("SIG_IGN").get(null));
    } catch (ReflectiveOperationException | IllegalArgumentException e) {
      // this JVM has no such signals
    }
  }

  private static void answer(PrintStream answers, String kind, String text) {
    byte[] line = (new Gson().toJson(List.of(kind, text)) + "\n").getBytes(UTF_8);
    answers.write(line, 0, line.length);
    answers.flush();
  }

  private static <T> T instance(String className, Class<T> type) throws Exception {
    Constructor<? extends T> constructor =
        Class.forName(className).asSubclass(type).getDeclaredConstructor();
    constructor.setAccessible(true);
    return constructor.newInstance();
  }
}
