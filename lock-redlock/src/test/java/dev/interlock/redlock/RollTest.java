package dev.interlock.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.interlock.redlock.Roll.Line;
import dev.interlock.redlock.Roll.Reply;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What can be known of which nodes others list, and what cannot. */
class RollTest {

  private static final List<String> ADDRESSES = List.of("a", "b", "d");
  private static final Line A = new Line("run-a", 100, "a");
  private static final Line B = new Line("run-b", 100, "b");
  private static final Line C = new Line("run-c", 100, "c");

  private static Reply reply(String run, long up, Line... lines) {
    return new Reply(run, up, List.of(lines));
  }

  private static Roll roll(@Nullable Reply... replies) {
    List<@Nullable Reply> all = new ArrayList<>();
    for (Reply reply : replies) {
      all.add(reply);
    }
    return new Roll(ADDRESSES, all, 1_000);
  }

  private static final Reply FROM_A = reply("run-a", 9_000, A, B, C);
  private static final Reply FROM_B = reply("run-b", 9_000, A, B, C);

  @Test
  void aNodeThatOthersDoNotListWhileTheyListAnotherIsAStranger() {
    Roll roll = roll(FROM_A, FROM_B, reply("run-d", 9_000));
    assertEquals(OptionalInt.of(2), roll.stranger());
    assertEquals(Optional.of(C), roll.rivalOf(2));
    assertEquals(OptionalInt.empty(), roll(FROM_A, FROM_B, reply("run-d", 50)).stranger());
  }

  @Test
  void soIsOneOfAnotherCluster() {
    Line own = new Line("run-d", 50, "d");
    assertEquals(OptionalInt.of(2), roll(FROM_A, FROM_B, reply("run-d", 9_000, own)).stranger());
  }

  @Test
  void oneThatWasStartedSinceMayBeTheOther() {
    Roll roll = roll(FROM_A, FROM_B, reply("run-d", 1_100));
    assertEquals(OptionalInt.empty(), roll.stranger());
    assertEquals(Optional.empty(), roll.rivalOf(2));
  }

  @Test
  void oneThatDoesNotAnswerMayBeTheOther() {
    Roll roll = roll(FROM_A, null, reply("run-d", 9_000));
    assertEquals(OptionalInt.empty(), roll.stranger());
  }

  @Test
  void whatANodeOfOursWasBeforeItsLastStartCountsAgainstNobody() {
    Line before = new Line("run-b-before", 100, "b");
    Roll roll =
        roll(
            reply("run-a", 9_000, A, before), reply("run-b", 50), reply("run-d", 9_000, A, before));
    assertEquals(OptionalInt.empty(), roll.stranger());
    assertEquals(Optional.empty(), roll.rivalOf(2));
    // Nor if others list it by another address.
    Line alias = new Line("run-b-before", 100, "b.example");
    Roll other =
        roll(reply("run-a", 9_000, A, alias), reply("run-b", 50), reply("run-d", 9_000, A, alias));
    assertEquals(OptionalInt.empty(), other.stranger());
  }

  @Test
  void whereNobodyListsAnythingElseThereIsNoStranger() {
    Line d = new Line("run-d", 100, "d.example");
    assertEquals(
        OptionalInt.empty(),
        roll(
                reply("run-a", 9_000, A, B, d),
                reply("run-b", 9_000, A, B, d),
                reply("run-d", 9_000, A, B, d))
            .stranger());
    assertEquals(
        OptionalInt.empty(),
        roll(reply("run-a", 9_000), reply("run-b", 9_000), reply("run-d", 9_000)).stranger());
  }
}
