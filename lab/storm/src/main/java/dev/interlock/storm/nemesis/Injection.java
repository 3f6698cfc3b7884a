package dev.interlock.storm.nemesis;

import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/**
 * A fault that is in force until it is closed.
 *
 * @param target the client or servers that it hits, for example {@code client-1} or {@code
 *     redlock-3}
 * @param effect whether it had a visible effect, such as a lost byte, a reset connection or a
 *     stopped process; called before the fault is closed
 * @param details further details; may be empty
 * @param undo ends the fault, and returns when its end is visible
 */
record Injection(String target, BooleanSupplier effect, Supplier<String> details, Undo undo)
    implements AutoCloseable {

  /** Ends an injection. */
  interface Undo {
    void run() throws Exception;
  }

  /** A fault whose effect was visible when it was injected. */
  Injection(String target, String note, Undo undo) {
    this(target, () -> true, () -> note, undo);
  }

  boolean tookEffect() {
    return effect.getAsBoolean();
  }

  String note() {
    return details.get();
  }

  @Override
  public void close() throws Exception {
    undo.run();
  }
}
