package dev.interlock.redlock;

import dev.interlock.LockState.Holder;
import dev.interlock.redis.server.StoredHolds;
import dev.interlock.redis.server.StoredValue;
import dev.interlock.redlock.Round.Answer;
import dev.interlock.spi.LockStates;
import dev.interlock.spi.Share;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The nodes that hold a lock for the same claim, according to an inspection. */
final class Holding {

  /** Orders holders by their grants, as far as the tokens are known. */
  static final Comparator<Holder> ORDER =
      Comparator.comparingLong(holder -> holder.fencingToken().orElse(0));

  final Share use;
  private final String label;
  private final int weight;
  private final Map<Long, Integer> fences = new HashMap<>();
  private final List<Long> remainingTtls = new ArrayList<>();

  private Holding(Share use, String label, int weight) {
    this.use = use;
    this.label = label;
    this.weight = weight;
  }

  /** Reads the answers of the nodes. Returns one object for each claim. */
  static List<Holding> read(List<Answer> answers) {
    Map<Object, Holding> byClaim = new LinkedHashMap<>();
    for (Answer answer : answers) {
      List<?> words = answer.reply();
      if (answer.is("held")) {
        String value = Round.text(words.get(1));
        Long fence = words.size() > 3 ? Long.valueOf(Round.text(words.get(3))) : null;
        byClaim
            .computeIfAbsent(
                value, any -> new Holding(Share.EXCLUSIVE, StoredValue.holder(value), 1))
            .add(fence, (Long) words.get(2));
      } else if (answer.is("shared")) {
        StoredHolds stored = StoredHolds.read(words);
        Share use = stored.use();
        if (use == null) {
          continue;
        }
        for (StoredHolds.Hold one : stored.holds()) {
          byClaim
              .computeIfAbsent(
                  one.hold(), any -> new Holding(use, one.hold().holder(), one.hold().weight()))
              .add(one.token(), one.remainingMillis());
        }
      }
    }
    return List.copyOf(byClaim.values());
  }

  /** Whether a reply says that all holds of the name have ended, even if clients wait. */
  static boolean isOver(List<?> words) {
    return Round.text(words.get(0)).equals("shared") && StoredHolds.read(words).holds().isEmpty();
  }

  private void add(@Nullable Long fence, long remainingMillis) {
    remainingTtls.add(remainingMillis);
    if (fence != null) {
      fences.merge(fence, 1, Integer::sum);
    }
  }

  int nodes() {
    return remainingTtls.size();
  }

  /**
   * Returns the fence that a majority has; only this can be the claim's token. A node that voted
   * after the token was chosen may have a higher fence. A node that the token has not reached may
   * have a lower one.
   */
  @Nullable Long token(int majority) {
    return fences.entrySet().stream()
        .filter(fence -> fence.getValue() >= majority)
        .map(Map.Entry::getKey)
        .findFirst()
        .orElse(null);
  }

  /** Describes the holder; without a token if no majority has the same fence. */
  Holder holder(int majority) {
    return LockStates.holder(
        use.kind(),
        weight,
        label,
        token(majority),
        Duration.ofMillis(remainingTtls.stream().mapToLong(Long::longValue).max().orElse(0)),
        null);
  }
}
