package dev.interlock.internal;

import java.util.concurrent.ExecutorService;
import java.util.stream.Stream;

/**
 * The threads of one client: all daemons, which end when idle.
 *
 * <p>Eight groups, so that none can starve another: acquire loops (asynchronous acquisitions), set
 * acquisitions (asynchronous acquisitions of sets, which wait for acquire loops and must not occupy
 * their threads), requests (asynchronous renewals and releases, for which acquire loops may wait),
 * clean-up (undoing and releasing in the background), renewal, observers (the requests that ask for
 * leaders), callbacks (losses and events, which reach the program's listeners and may block for any
 * time), and deliveries (results of asynchronous calls, whose dependents may block as well).
 */
final class Threads implements AutoCloseable {

  private static final int MAX_ACQUIRE_LOOPS = 256;
  private static final int MAX_REQUESTS = 64;
  private static final int MAX_CLEANERS = 8;
  private static final int MAX_RENEWERS = 16;
  private static final int MAX_RENEWERS_OF_BATCHES = 2;
  private static final int MAX_OBSERVERS = 8;

  final ExecutorService acquireLoops;
  final ExecutorService setAcquisitions;
  final ExecutorService requests;
  final ExecutorService cleanup;
  final ExecutorService renewal;
  final ExecutorService observers;
  final ExecutorService callbacks;
  final ExecutorService deliveries;

  Threads(Platform platform, String backend, boolean renewsBatches) {
    acquireLoops = platform.pool(backend + "-async", MAX_ACQUIRE_LOOPS, true);
    setAcquisitions = platform.pool(backend + "-async-set", MAX_ACQUIRE_LOOPS, true);
    requests = platform.pool(backend + "-async-lease", MAX_REQUESTS, true);
    // Not virtual threads: there would be one for each claim to undo.
    cleanup = platform.pool(backend + "-cleanup", MAX_CLEANERS, false);
    renewal =
        platform.pool(
            backend + "-renewal", renewsBatches ? MAX_RENEWERS_OF_BATCHES : MAX_RENEWERS, false);
    observers = platform.pool(backend + "-observer", MAX_OBSERVERS, true);
    // Not virtual threads: if the program computes on all carriers, none is free to signal a loss.
    callbacks = platform.pool(backend + "-callback", Integer.MAX_VALUE, false);
    deliveries = platform.pool(backend + "-delivery", Integer.MAX_VALUE, true);
  }

  /** Ends the threads when they have finished their tasks; does not wait for them. */
  @Override
  public void close() {
    Stream.of(
            acquireLoops,
            setAcquisitions,
            requests,
            cleanup,
            renewal,
            observers,
            callbacks,
            deliveries)
        .forEach(ExecutorService::shutdown);
  }
}
