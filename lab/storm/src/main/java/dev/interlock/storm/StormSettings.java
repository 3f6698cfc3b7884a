package dev.interlock.storm;

import dev.interlock.tck.Harness;
import dev.interlock.testbed.server.Deployment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The target and kind of a storm.
 *
 * @param name what the backend is called in the report
 * @param uri where the store is; null if it has to be started first
 * @param start starts its servers; null if they are there, and no fault may hit them
 * @param harness opens clients; null to open them by the URI
 * @param duration for how long faults are injected
 * @param seed makes the plan and the clients' choices
 * @param beyond whether faults outside the failure model are injected too
 * @param processes how many clients are processes of their own
 * @param threads how many threads each client has
 * @param folder where the journals are while the storm lasts
 * @param stopped whether to end early, with a verdict on what has happened
 * @param progress receives a line for each phase
 */
public record StormSettings(
    String name,
    @Nullable String uri,
    @Nullable Supplier<? extends Deployment> start,
    @Nullable Harness harness,
    Duration duration,
    long seed,
    boolean beyond,
    int processes,
    int threads,
    Path folder,
    BooleanSupplier stopped,
    Consumer<String> progress) {}
