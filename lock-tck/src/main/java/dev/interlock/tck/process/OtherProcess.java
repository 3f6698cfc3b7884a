package dev.interlock.tck.process;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.gson.Gson;
import dev.interlock.LockOptions;
import dev.interlock.tck.Harness;
import dev.interlock.tck.run.NotOfferedException;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.URISyntaxException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.slf4j.event.Level;

/**
 * Another JVM on the same class path, with its own lock client. It runs tasks for a test, and can
 * be stopped, continued and killed.
 *
 * <pre>{@code
 * try (OtherProcess other = OtherProcess.start(settings)) {
 *   other.call(TakeLock.class, "a");
 *   other.kill();
 * }
 * }</pre>
 *
 * <p>It runs one task at a time. Closing kills it.
 */
public final class OtherProcess implements AutoCloseable {
  private static final Duration START_TIMEOUT = Duration.ofMinutes(2);

  /** Turkish has different cases of {@code i}, and Egypt has different digits. */
  private static final List<String> FOREIGN_OPTIONS =
      List.of(
          "-Duser.language=tr",
          "-Duser.country=TR",
          "-Duser.language.format=ar",
          "-Duser.country.format=EG",
          "-Duser.timezone=Asia/Kathmandu",
          "-Dfile.encoding=ISO-8859-1");

  /** Limits the JVMs that start at once, since they take processor time from running tests. */
  private static final Semaphore START_PERMITS = new Semaphore(2);

  private final Process process;
  private final Path log;
  private final OutputStream orders;
  private final BufferedReader answers;

  private OtherProcess(Process process, Path log) {
    this.process = process;
    this.log = log;
    this.orders = process.getOutputStream();
    this.answers = new BufferedReader(new InputStreamReader(process.getInputStream(), UTF_8));
  }

  /**
   * The settings of the other JVM.
   *
   * @param harness opens its client; must pass {@link #canMake}
   * @param uri the store's URI
   * @param options the options of its client; only TTL, request time-out and auto-renewal count
   * @param jvmArguments further arguments for the JVM
   * @param trace whether it logs at all levels
   */
  public record Settings(
      Harness harness, String uri, LockOptions options, List<String> jvmArguments, boolean trace) {}

  /**
   * {@return whether another JVM can open clients as the harness does: by the URI alone, or with
   * its own instance of the harness}
   *
   * @param harness the harness
   */
  public static boolean canMake(Harness harness) {
    return opensByUri(harness) || className(harness).isPresent();
  }

  private static boolean opensByUri(Harness harness) {
    try {
      return harness
          .getClass()
          .getMethod("open", String.class, LockOptions.class)
          .getDeclaringClass()
          .equals(Harness.class);
    } catch (NoSuchMethodException e) {
      throw new LinkageError("Harness has no method open", e);
    }
  }

  private static Optional<String> className(Harness harness) {
    Class<?> type = harness.getClass();
    boolean makeable =
        Arrays.stream(type.getDeclaredConstructors())
            .anyMatch(constructor -> constructor.getParameterCount() == 0);
    return makeable && !type.isAnonymousClass() && !type.isLocalClass()
        ? Optional.of(type.getName())
        : Optional.empty();
  }

  /**
   * Starts a JVM and waits until it accepts tasks.
   *
   * @param settings its settings
   * @return the process
   * @throws IOException if it does not start; the message shows its output
   * @throws InterruptedException if the thread is interrupted
   */
  public static OtherProcess start(Settings settings) throws IOException, InterruptedException {
    return start(Jdks.own(), settings, List.of());
  }

  /**
   * Starts a JVM with another locale, time zone and default charset than this one and, if the
   * machine has another JDK, of another version. None of these may matter to a lock.
   *
   * @param settings its settings
   * @return the process
   * @throws IOException if it does not start; the message shows its output
   * @throws InterruptedException if the thread is interrupted
   */
  public static OtherProcess startForeign(Settings settings)
      throws IOException, InterruptedException {
    return start(Jdks.other(), settings, FOREIGN_OPTIONS);
  }

  private static OtherProcess start(Path javaHome, Settings settings, List<String> foreign)
      throws IOException, InterruptedException {
    Path log = Files.createTempFile("interlock-tck-", ".log");
    List<String> command = new ArrayList<>();
    command.add(javaHome.resolve("bin/java").toString());
    command.addAll(List.of("-cp", classPath(), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"));
    command.addAll(StderrLogger.options(settings.trace ? Level.TRACE : Level.WARN));
    command.addAll(foreign);
    command.addAll(settings.jvmArguments);
    command.add(Worker.class.getName());
    command.add(opensByUri(settings.harness) ? "-" : className(settings.harness).orElseThrow());
    command.add(settings.uri);
    command.add(settings.options.ttl().toString());
    command.add(settings.options.requestTimeout().toString());
    command.add(Boolean.toString(settings.options.autoRenew()));
    START_PERMITS.acquire();
    try {
      Process process = new ProcessBuilder(command).redirectError(log.toFile()).start();
      OtherProcess other = new OtherProcess(process, log);
      try {
        String unused = other.answer(START_TIMEOUT);
        return other;
      } catch (IOException | InterruptedException e) {
        other.close();
        throw e;
      }
    } finally {
      START_PERMITS.release();
    }
  }

  /** {@return the class path of this JVM, with the entries of the thread's class loader} */
  private static String classPath() {
    List<String> entries = new ArrayList<>();
    ClassLoader loader = Thread.currentThread().getContextClassLoader();
    for (; loader != null; loader = loader.getParent()) {
      if (loader instanceof URLClassLoader urls) {
        for (URL url : urls.getURLs()) {
          try {
            entries.add(Path.of(url.toURI()).toString());
          } catch (URISyntaxException | IllegalArgumentException e) {
            throw new IllegalStateException(
                "the class path has an entry that is not a file: " + url, e);
          }
        }
      }
    }
    entries.add(System.getProperty("java.class.path"));
    return String.join(File.pathSeparator, entries);
  }

  /**
   * Runs a task and waits for its result.
   *
   * @param limit how long to wait
   * @param task the class of the task
   * @param arguments its arguments
   * @return its result
   * @throws NoAnswerException if the process did not answer in time, or the store did not answer to
   *     the process
   * @throws IOException if the process has died, or the task failed; the message describes the
   *     failure
   * @throws InterruptedException if the thread is interrupted
   */
  public String call(Duration limit, Class<? extends RemoteTask> task, String... arguments)
      throws IOException, InterruptedException {
    order(task, arguments);
    return answer(limit);
  }

  /**
   * Starts a task without waiting for its result, which {@link #answer} returns.
   *
   * @param task the class of the task
   * @param arguments its arguments
   * @throws IOException if the process has died
   */
  public void order(Class<? extends RemoteTask> task, String... arguments) throws IOException {
    List<String> message = new ArrayList<>();
    message.add(task.getName());
    message.addAll(List.of(arguments));
    orders.write((new Gson().toJson(message) + "\n").getBytes(UTF_8)); // in one line
    orders.flush();
  }

  /**
   * Waits for the result of the task that was started by {@link #order}.
   *
   * @param limit how long to wait
   * @return its result
   * @throws NoAnswerException if the process did not answer in time, or the store did not answer to
   *     the process
   * @throws IOException if the process has died, or the task failed
   * @throws InterruptedException if the thread is interrupted
   */
  public String answer(Duration limit) throws IOException, InterruptedException {
    FutureTask<@Nullable String> line = new FutureTask<>(answers::readLine);
    Thread reader = new Thread(line, "tck-reader-" + process.pid());
    reader.setDaemon(true);
    reader.start();
    String text = null;
    try {
      text = line.get(limit.toMillis(), TimeUnit.MILLISECONDS);
    } catch (TimeoutException e) {
      throw new NoAnswerException(
          this + " did not answer within " + limit.toMillis() + " ms; its output: " + log());
    } catch (ExecutionException e) {
      // counts as the end of its output
    }
    if (text == null) {
      throw new IOException(this + " has ended; its output: " + log());
    }
    List<String> answer = List.of(new Gson().fromJson(text, String[].class));
    if (answer.get(0).equals("not offered")) {
      throw new NotOfferedException(answer.get(1));
    }
    String failure = "a task in " + this + " failed: " + answer.get(1);
    if (answer.get(0).equals("no answer")) {
      throw new NoAnswerException(failure);
    }
    if (answer.get(0).equals("failed")) {
      throw new IOException(failure);
    }
    return answer.get(1);
  }

  /**
   * Stops the process (SIGSTOP).
   *
   * @throws IOException if it cannot be stopped
   * @throws InterruptedException if the thread is interrupted
   */
  public void stop() throws IOException, InterruptedException {
    ProcessSignals.stop(process.toHandle());
  }

  /**
   * Continues the process (SIGCONT).
   *
   * @throws IOException if it cannot be continued
   * @throws InterruptedException if the thread is interrupted
   */
  public void resume() throws IOException, InterruptedException {
    ProcessSignals.resume(process.toHandle());
  }

  /** Kills the process (SIGKILL) and waits for its end. */
  public void kill() {
    ProcessSignals.kill(process.toHandle());
  }

  /** {@return the log of the process, with its standard error and the output of tasks} */
  public String log() {
    try {
      return Files.readString(log);
    } catch (IOException e) {
      return "(its log cannot be read: " + e + ")";
    }
  }

  @Override
  public String toString() {
    return "process " + process.pid();
  }

  @Override
  public void close() {
    kill();
    try {
      Files.deleteIfExists(log);
    } catch (IOException e) {
      // leaves a temporary file behind
    }
  }
}
