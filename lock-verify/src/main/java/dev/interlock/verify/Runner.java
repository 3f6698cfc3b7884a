package dev.interlock.verify;

import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletionService;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** Runs suites in several JVMs at once, the slowest first. */
final class Runner {
  private final TestJvm.Settings settings;
  private final int jobs;
  private final Log log;

  Runner(TestJvm.Settings settings, int jobs, Log log) {
    this.settings = settings;
    this.jobs = jobs;
    this.log = log;
  }

  /** Returns the suites of some modules that have tests to run. */
  List<Suite> suites(List<MavenModule> modules, SuiteTimes times)
      throws IOException, InterruptedException {
    List<Suite> suites = Collections.synchronizedList(new ArrayList<>());
    Queue<MavenModule> left = new ConcurrentLinkedQueue<>(modules);
    inParallel(
        () -> {
          for (MavenModule module = left.poll(); module != null; module = left.poll()) {
            for (String name : TestJvm.list(settings, module)) {
              suites.add(times.suite(module, name));
            }
          }
        });
    return List.copyOf(suites);
  }

  /** Runs suites to their ends, and reports each start and end to the progress. */
  void run(List<Suite> suites, Progress progress) throws IOException, InterruptedException {
    Queue<List<Suite>> left = new ConcurrentLinkedQueue<>(Batches.of(suites));
    inParallel(
        () -> {
          for (List<Suite> batch = left.poll(); batch != null; batch = left.poll()) {
            runBatch(batch, progress);
          }
        });
  }

  private void runBatch(List<Suite> batch, Progress progress)
      throws IOException, InterruptedException {
    TestJvm jvm = null;
    try {
      for (Suite suite : batch) {
        if (jvm == null) {
          jvm = TestJvm.start(settings, suite.module(), "run");
        }
        if (!run(suite, jvm, progress)) {
          jvm.close();
          jvm = null;
        }
      }
    } finally {
      if (jvm != null) {
        jvm.close();
      }
    }
  }

  private boolean run(Suite suite, TestJvm jvm, Progress progress)
      throws IOException, InterruptedException {
    progress.started(suite);
    long start = System.nanoTime();
    Duration before = jvm.cpuTime();
    List<TestResult> tests = new ArrayList<>();
    long printed = Files.size(jvm.output());
    boolean alive = jvm.run(suite, tests::add);
    if (tests.isEmpty()) {
      tests.add(TestResult.ofSuite("it ran no test"));
    }
    SuiteResult result =
        new SuiteResult(
            suite,
            Duration.ofNanos(System.nanoTime() - start),
            alive ? jvm.cpuTime().minus(before) : Duration.ZERO,
            tests);
    log.append(result, jvm.output(), printed);
    progress.finished(result);
    return alive;
  }

  private interface Work {
    void run() throws IOException, InterruptedException;
  }

  /** Does the same on several threads, and waits for all of them. */
  private void inParallel(Work work) throws IOException, InterruptedException {
    ExecutorService threads = Executors.newFixedThreadPool(jobs);
    try {
      CompletionService<Void> running = new ExecutorCompletionService<>(threads);
      for (int i = 0; i < jobs; i++) {
        running.submit(
            () -> {
              work.run();
              return null;
            });
      }
      for (int i = 0; i < jobs; i++) {
        running.take().get();
      }
    } catch (ExecutionException e) {
      if (e.getCause() instanceof IOException cause) {
        throw cause;
      }
      throw new IllegalStateException(e.getCause());
    } finally {
      threads.shutdownNow();
    }
  }
}
