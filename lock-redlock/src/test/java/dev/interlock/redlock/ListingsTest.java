package dev.interlock.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.interlock.redlock.Listings.Listing;
import dev.interlock.redlock.Listings.Reply;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Certain and uncertain conclusions about the nodes that other clients list. */
class ListingsTest {

  private static final List<String> ADDRESSES = List.of("a", "b", "d");
  private static final Listing A = new Listing("run-a", 100, "a");
  private static final Listing B = new Listing("run-b", 100, "b");
  private static final Listing C = new Listing("run-c", 100, "c");

  private static Reply reply(String run, long up, Listing... lines) {
    return new Reply(run, up, List.of(lines));
  }

  private static Listings listings(@Nullable Reply... replies) {
    List<@Nullable Reply> all = new ArrayList<>();
    for (Reply reply : replies) {
      all.add(reply);
    }
    return new Listings(ADDRESSES, all, 1_000);
  }

  private static final Reply FROM_A = reply("run-a", 9_000, A, B, C);
  private static final Reply FROM_B = reply("run-b", 9_000, A, B, C);

  @Test
  void aNodeThatOthersDoNotListWhileTheyListAnotherIsAStranger() {
    Listings listings = listings(FROM_A, FROM_B, reply("run-d", 9_000));
    assertEquals(OptionalInt.of(2), listings.unlisted());
    assertEquals(Optional.of(C), listings.conflictFor(2));
    assertEquals(OptionalInt.empty(), listings(FROM_A, FROM_B, reply("run-d", 50)).unlisted());
  }

  @Test
  void soIsOneOfAnotherCluster() {
    Listing own = new Listing("run-d", 50, "d");
    assertEquals(
        OptionalInt.of(2), listings(FROM_A, FROM_B, reply("run-d", 9_000, own)).unlisted());
  }

  @Test
  void oneThatWasStartedSinceMayBeTheOther() {
    Listings listings = listings(FROM_A, FROM_B, reply("run-d", 1_100));
    assertEquals(OptionalInt.empty(), listings.unlisted());
    assertEquals(Optional.empty(), listings.conflictFor(2));
  }

  @Test
  void oneThatDoesNotAnswerMayBeTheOther() {
    Listings listings = listings(FROM_A, null, reply("run-d", 9_000));
    assertEquals(OptionalInt.empty(), listings.unlisted());
    assertEquals(OptionalInt.of(2), listings.perhapsUnlisted());
  }

  @Test
  void whatANodeOfOursWasBeforeItsLastStartCountsAgainstNobody() {
    Listing before = new Listing("run-b-before", 100, "b");
    Listings listings =
        listings(
            reply("run-a", 9_000, A, before), reply("run-b", 50), reply("run-d", 9_000, A, before));
    assertEquals(OptionalInt.empty(), listings.unlisted());
    assertEquals(Optional.empty(), listings.conflictFor(2));
    // Nor if others list it by another address.
    Listing alias = new Listing("run-b-before", 100, "b.example");
    Listings other =
        listings(
            reply("run-a", 9_000, A, alias), reply("run-b", 50), reply("run-d", 9_000, A, alias));
    assertEquals(OptionalInt.empty(), other.unlisted());
  }

  @Test
  void whereNobodyListsAnythingElseThereIsNoStranger() {
    Listing d = new Listing("run-d", 100, "d.example");
    assertEquals(
        OptionalInt.empty(),
        listings(
                reply("run-a", 9_000, A, B, d),
                reply("run-b", 9_000, A, B, d),
                reply("run-d", 9_000, A, B, d))
            .unlisted());
    assertEquals(
        OptionalInt.empty(),
        listings(reply("run-a", 9_000), reply("run-b", 9_000), reply("run-d", 9_000)).unlisted());
  }
}
