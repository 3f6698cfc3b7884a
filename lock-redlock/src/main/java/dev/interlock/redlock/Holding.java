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

/** What the nodes that were inspected, and hold a lock for one and the same claim, say of it. */
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
   * Returns the fence that a majority has: the claim was granted with no other. A node that voted
   * when the token was already chosen may have a higher one, and a node that the token has not
   * reached a lower one.
   */
  @Nullable Long token(int majority) {
    return fences.entrySet().stream()
        .filter(fence -> fence.getValue() >= majority)
        .map(Map.Entry::getKey)
        .findFirst()
        .orElse(null);
  }

  /** Describes it, without a token if no majority has the same. */
  LockState state(String name, int majority) {
    return LockState.held(
        name,
        StoredValue.holder(value),
        token(majority),
        Duration.ofMillis(lefts.stream().mapToLong(Long::longValue).max().orElse(0)),
        List.of());
  }
}
