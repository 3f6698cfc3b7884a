package dev.interlock.verify;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Runs suites in several JVMs at once, the slowest first. */
final class Runner {
  private final Fork.Settings settings;
  private final int jobs;
  private final Log log;

  Runner(Fork.Settings settings, int jobs, Log log) {
    this.settings = settings;
    this.jobs = jobs;
    this.log = log;
  }

  /** Returns the suites of some modules that have tests to run. */
  List<Suite> suites(List<Module> modules, SuiteTimes times)
      throws IOException, InterruptedException {
    List<Suite> suites = Collections.synchronizedList(new ArrayList<>());
    atOnce(
        modules,
        module -> {
          for (String name : Fork.list(settings, module)) {
            suites.add(times.suite(module, name));
          }
        });
    return List.copyOf(suites);
  }

  /** Runs suites to their ends, and tells the progress of each that begins and ends. */
  void run(List<Suite> suites, Progress progress) throws IOException, InterruptedException {
    atOnce(Batches.of(suites), batch -> runBatch(batch, progress));
  }

  private void runBatch(List<Suite> batch, Progress progress)
      throws IOException, InterruptedException {
    Fork fork = null;
    try {
      for (Suite suite : batch) {
        if (fork == null) {
          fork = Fork.start(settings, suite.module(), "run");
        }
        if (!run(suite, fork, progress)) {
          fork.close();
          fork = null;
        }
      }
    } finally {
      if (fork != null) {
        fork.close();
      }
    }
  }

  private boolean run(Suite suite, Fork fork, Progress progress)
      throws IOException, InterruptedException {
    progress.begins(suite);
    long start = System.nanoTime();
    Duration before = fork.cpuTime();
    List<TestResult> tests = new ArrayList<>();
    Path output = Files.createTempFile("interlock-verify", ".log");
    try {
      boolean alive;
      try (var writer = Files.newBufferedWriter(output)) {
        alive = fork.run(suite, writer, tests::add);
      }
      if (tests.isEmpty()) {
        tests.add(TestResult.ofSuite(suite.className(), "it ran no test"));
      }
      SuiteResult result =
          new SuiteResult(
              suite,
              Duration.ofNanos(System.nanoTime() - start),
              alive ? fork.cpuTime().minus(before) : Duration.ZERO,
              tests);
      log.append(result, output);
      progress.ended(result);
      return alive;
    } finally {
      Files.delete(output);
    }
  }

  private interface Work<T> {
    void on(T item) throws IOException, InterruptedException;
  }

  private <T> void atOnce(List<T> items, Work<T> work) throws IOException, InterruptedException {
    Queue<T> queue = new ConcurrentLinkedQueue<>(items);
    ExecutorService lanes = Executors.newFixedThreadPool(jobs);
    try {
      List<Future<?>> running = new ArrayList<>();
      for (int i = 0; i < jobs; i++) {
        running.add(
            lanes.submit(
                () -> {
                  for (T item = queue.poll(); item != null; item = queue.poll()) {
                    work.on(item);
                  }
                  return null;
                }));
      }
      for (Future<?> lane : running) {
        lane.get();
      }
    } catch (ExecutionException e) {
      if (e.getCause() instanceof IOException cause) {
        throw cause;
      }
      throw new IllegalStateException(e.getCause());
    } finally {
      lanes.shutdownNow();
    }
  }
}
