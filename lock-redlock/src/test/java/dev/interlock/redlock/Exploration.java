package dev.interlock.redlock;

import com.google.common.primitives.Bytes;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Visits every state of a model, breadth first, until a property does not hold. */
final class Exploration {

  /**
   * A model: the states, and the events that can happen to them.
   *
   * @param <S> an event
   */
  interface Model<S> {

    /** Returns the states to begin with, each explored with what follows before the next. */
    List<byte[]> starts();

    List<S> steps(byte[] state);

    /** Applies an event to this state. Returns false if a property does not hold any more. */
    boolean happen(byte[] state, S step);

    /** Returns a hash, which is the same for states that are alike. */
    long mark(byte[] state);
  }

  /**
   * The result of an exploration.
   *
   * @param start the first state of the counter-example, or the last start
   */
  record Result<S>(long states, Optional<List<S>> counterExample, List<Byte> start) {}

  private record Trail<S>(long from, S step) {}

  private Exploration() {}

  /** Explores a model that is expected to have a counter-example. */
  static <S> Result<S> exploreBroken(Model<S> model) {
    return explore(model, new HashMap<>());
  }

  static <S> Result<S> explore(Model<S> model) {
    Result<S> result = explore(model, null);
    // Keeps the way to a violation in a second pass, because it takes much memory.
    return result.counterExample().isEmpty() ? result : explore(model, new HashMap<>());
  }

  /** Returns whether a property does not always hold. */
  static <S> boolean isBroken(Model<S> model) {
    return explore(model, null).counterExample().isPresent();
  }

  private static <S> Result<S> explore(Model<S> model, @Nullable Map<Long, Trail<S>> trails) {
    Fingerprints seen = new Fingerprints();
    Result<S> result = new Result<>(0, Optional.empty(), List.of());
    for (byte[] start : model.starts()) {
      if (result.counterExample().isEmpty() && seen.add(model.mark(start))) {
        result = explore(model, start, seen, trails);
      }
    }
    return result;
  }

  private static <S> Result<S> explore(
      Model<S> model, byte[] start, Fingerprints seen, @Nullable Map<Long, Trail<S>> trails) {
    Deque<byte[]> open = new ArrayDeque<>();
    open.add(start);
    while (!open.isEmpty()) {
      byte[] state = open.poll();
      for (S step : model.steps(state)) {
        byte[] next = state.clone();
        boolean sound = model.happen(next, step);
        if (!sound) {
          return new Result<>(
              seen.size(), Optional.of(way(model, trails, state, step)), Bytes.asList(start));
        }
        long mark = model.mark(next);
        if (seen.add(mark)) {
          open.add(next);
          if (trails != null) {
            trails.put(mark, new Trail<>(model.mark(state), step));
          }
        }
      }
    }
    return new Result<>(seen.size(), Optional.empty(), Bytes.asList(start));
  }

  private static <S> List<S> way(
      Model<S> model, @Nullable Map<Long, Trail<S>> trails, byte[] state, S last) {
    List<S> way = new ArrayList<>(List.of(last));
    if (trails != null) {
      for (Trail<S> trail = trails.get(model.mark(state));
          trail != null;
          trail = trails.get(trail.from())) {
        way.add(trail.step());
      }
    }
    Collections.reverse(way);
    return way;
  }
}
