package dev.interlock.redlock;

import dev.interlock.LockState;
import dev.interlock.redis.server.StoredValue;
import dev.interlock.redlock.Round.Answer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The answers of the inspected nodes that hold a lock for the same claim. */
final class Holding {

  private final String value;
  private final Map<Long, Integer> fences = new HashMap<>();
  private final List<Long> lefts = new ArrayList<>();

  Holding(String value) {
    this.value = value;
  }

  void add(Answer held) {
    List<?> words = held.reply();
    lefts.add((Long) words.get(2));
    if (words.size() > 3) {
      fences.merge(Long.parseLong(Round.text(words.get(3))), 1, Integer::sum);
    }
  }

  int nodes() {
    return lefts.size();
  }

  /**
   * Returns the fence that a majority has: no other can be the claim's token. A node that voted
   * after the token was chosen may have a higher one, a node that the token has not reached a lower
   * one.
   */
  @Nullable Long token(int majority) {
    return fences.entrySet().stream()
        .filter(fence -> fence.getValue() >= majority)
        .map(Map.Entry::getKey)
        .findFirst()
        .orElse(null);
  }

  /** Describes the lock, without a token if no majority has the same. */
  LockState state(String name, int majority) {
    return LockState.held(
        name,
        StoredValue.holder(value),
        token(majority),
        Duration.ofMillis(lefts.stream().mapToLong(Long::longValue).max().orElse(0)),
        List.of());
  }
}
