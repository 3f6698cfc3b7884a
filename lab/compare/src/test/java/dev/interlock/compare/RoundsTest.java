package dev.interlock.compare;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Tests the order of contenders, the warm-up, and failures. */
class RoundsTest {
  private static final Rounds.Plan UNTIL_STEADY = new Rounds.Plan(1, 2, 0, Duration.ofSeconds(20));

  private long now;
  private final List<String> order = new ArrayList<>();
  private final Series<String> series = new Series<>("test");
  private final Map<String, Rounds.Opener> contenders = new LinkedHashMap<>();

  private void addContender(String name, double cyclesPerSecond, int failsInRound) {
    contenders.put(
        name,
        () ->
            new Trial() {
              private int rounds;

              @Override
              public Map<Figure, Double> round() {
                order.add(name);
                if (++rounds == failsInRound) {
                  throw new IllegalStateException(name + " fails");
                }
                return Map.of(Figure.CYCLES, cyclesPerSecond);
              }

              @Override
              public void forgetWarmUp() {
                order.add(name + " is warm");
              }

              @Override
              public void close() {
                order.add(name + " closes");
              }
            });
  }

  /** Adds a contender whose rounds take a second each and reach these rates of cycles. */
  private void addWarmingContender(String name, double... cyclesPerSecond) {
    contenders.put(
        name,
        () ->
            new Trial() {
              private int round;

              @Override
              public Map<Figure, Double> round() {
                order.add(name);
                now += 1_000_000_000;
                return Map.of(
                    Figure.CYCLES, cyclesPerSecond[Math.min(round++, cyclesPerSecond.length - 1)]);
              }

              @Override
              public void close() {}
            });
  }

  private List<String> measure(Rounds.Plan plan) throws InterruptedException {
    List<String> failures = new ArrayList<>();
    new Rounds<>(plan, series, (name, failure) -> failures.add(failure.getMessage()), () -> now)
        .measure(contenders);
    return failures;
  }

  @Test
  void everyRoundBeginsWithAnotherContender() throws Exception {
    addContender("a", 1, 0);
    addContender("b", 2, 0);
    assertEquals(List.of(), measure(new Rounds.Plan(2, 1, 0, Duration.ZERO)));
    assertEquals(
        List.of("a", "b", "a is warm", "b is warm", "a", "b", "b", "a", "a closes", "b closes"),
        order);
    assertEquals(List.of(2.0, 2.0), series.values("b", Figure.CYCLES));
  }

  @Test
  void warmingUpEndsWhenTwoConsecutiveRoundsAgree() throws Exception {
    addWarmingContender("a", 100, 150, 180, 190, 200);
    addWarmingContender("b", 50, 50);
    assertEquals(List.of(), measure(UNTIL_STEADY));
    assertEquals(List.of("a", "b", "b", "a", "a", "a"), order.subList(0, 6));
    assertEquals(
        List.of(200.0), series.values("a", Figure.CYCLES)); // rounds of the warm-up do not count
    assertEquals(List.of(50.0), series.values("b", Figure.CYCLES));
  }

  @Test
  void warmingUpEndsAfterItsMaximumTimeEvenIfRoundsDiffer() throws Exception {
    addWarmingContender(
        "a", IntStream.range(0, 100).mapToDouble(round -> 1 << round % 2).toArray());
    assertEquals(List.of(), measure(UNTIL_STEADY));
    long limit = UNTIL_STEADY.maxWarmUp().toSeconds();
    assertEquals(limit + UNTIL_STEADY.rounds(), order.size());
  }

  @Test
  void aContenderThatFailsIsClosedAndTheOthersGoOn() throws Exception {
    addContender("a", 1, 2);
    addContender("b", 2, 0);
    contenders.put(
        "c",
        () -> {
          throw new IllegalStateException("c does not open");
        });
    assertEquals(
        List.of("c does not open", "a fails"), measure(new Rounds.Plan(2, 1, 0, Duration.ZERO)));
    assertEquals(List.of(), series.values("a", Figure.CYCLES));
    assertEquals(List.of(2.0, 2.0), series.values("b", Figure.CYCLES));
    assertEquals(1, order.stream().filter("a closes"::equals).count());
  }

  @Test
  void anInterruptKeepsTheResultsSoFar() {
    addContender("a", 1, 0);
    contenders.put(
        "b",
        () ->
            new Trial() {
              @Override
              public Map<Figure, Double> round() throws InterruptedException {
                throw new InterruptedException();
              }

              @Override
              public void close() {}
            });
    assertThrows(
        InterruptedException.class, () -> measure(new Rounds.Plan(1, 0, 0, Duration.ZERO)));
    assertEquals(List.of(1.0), series.values("a", Figure.CYCLES));
    assertEquals("a closes", order.get(order.size() - 1));
  }
}
