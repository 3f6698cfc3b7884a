package dev.interlock.internal;

import java.util.concurrent.ExecutorService;
import java.util.stream.Stream;

/**
 * The threads of one client; all daemons, all gone when idle.
 *
 * <p>Eight groups, so that none can starve another: acquire loops (asynchronous acquisitions),
 * gatherings (asynchronous acquisitions of sets: they wait for acquire loops, which must not wait
 * for their threads), requests (asynchronous renewals and releases, for which acquire loops may
 * wait), clean-up (undoing and releasing in the background), renewal, observers (the requests that
 * ask who leads), callbacks (losses and events, which reach the program's listeners and may block
 * for any time), and deliveries (results of asynchronous calls, whose dependents may block as
 * well).
 */
final class Threads implements AutoCloseable {

  private static final int MOST_ACQUIRE_LOOPS = 256;
  private static final int MOST_REQUESTS = 64;
  private static final int MOST_CLEANERS = 8;
  private static final int MAX_RENEWERS = 16;
  private static final int MAX_RENEWERS_OF_BATCHES = 2;
  private static final int MOST_OBSERVERS = 8;

  final ExecutorService loops;
  final ExecutorService gatherings;
  final ExecutorService requests;
  final ExecutorService cleanup;
  final ExecutorService renewal;
  final ExecutorService observers;
  final ExecutorService callbacks;
  final ExecutorService deliveries;

  Threads(Platform platform, String backend, boolean renewsBatches) {
    loops = platform.pool(backend + "-async", MOST_ACQUIRE_LOOPS, true);
    gatherings = platform.pool(backend + "-async-set", MOST_ACQUIRE_LOOPS, true);
    requests = platform.pool(backend + "-async-lease", MOST_REQUESTS, true);
    // Not virtual threads: there would be as many as there are claims to undo.
    cleanup = platform.pool(backend + "-cleanup", MOST_CLEANERS, false);
    renewal =
        platform.pool(
            backend + "-renewal", renewsBatches ? MAX_RENEWERS_OF_BATCHES : MAX_RENEWERS, false);
    observers = platform.pool(backend + "-observer", MOST_OBSERVERS, true);
    // Not virtual threads: where the program computes on those, none is free to signal a loss.
    callbacks = platform.pool(backend + "-callback", Integer.MAX_VALUE, false);
    deliveries = platform.pool(backend + "-delivery", Integer.MAX_VALUE, true);
  }

  /** Ends the threads when they have finished their tasks; does not wait for them. */
  @Override
  public void close() {
    Stream.of(loops, gatherings, requests, cleanup, renewal, observers, callbacks, deliveries)
        .forEach(ExecutorService::shutdown);
  }
}
