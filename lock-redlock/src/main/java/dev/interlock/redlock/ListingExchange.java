package dev.interlock.redlock;

import static dev.interlock.redis.server.ScriptCall.number;
import static java.nio.charset.StandardCharsets.UTF_8;

import dev.interlock.LockConfigurationException;
import dev.interlock.LockUnavailableException;
import dev.interlock.redis.server.ScriptCall;
import dev.interlock.redlock.NodeStatus.Kind;
import dev.interlock.redlock.Round.Answer;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.TimeSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** Tells the nodes which servers this client lists, and reads which servers other clients list. */
final class ListingExchange {

  /** Stands for the time of an examination: the listings are read, and ours is not recorded. */
  static final long READ_ONLY = 0;

  private final Cluster cluster;
  private final RedlockSettings settings;
  private final TimeSource time;

  ListingExchange(Cluster cluster, RedlockSettings settings, TimeSource time) {
    this.cluster = cluster;
    this.settings = settings;
    this.time = time;
  }

  /**
   * Reads the listings of all clients, and records ours.
   *
   * @param entering the nodes to list in addition to the members
   * @param examinedAt the time at which the nodes were examined, by {@link System#nanoTime()}, or
   *     {@link #READ_ONLY}
   */
  Listings run(List<NodeStatus> statuses, Set<Integer> entering, long examinedAt, Deadline deadline)
      throws InterruptedException {
    Round round = new Round(cluster, time);
    Map<Integer, Listings.Reply> asked = new ConcurrentHashMap<>();
    for (int node = 0; node < cluster.size(); node++) {
      if (statuses.get(node).is(Kind.UNREACHABLE)) {
        continue;
      }
      cluster.send(
          node,
          round.new Question(node, deadline) {
            @Override
            public ScriptCall call(String run) {
              long up = cluster.upMillis(node);
              asked.put(node, new Listings.Reply(run, up, List.of()));
              return new ScriptCall(
                  NodeScripts.EXCHANGE_LISTINGS,
                  List.of(cluster.record()),
                  arguments(statuses, entering, examinedAt));
            }
          });
    }
    long reachable = NodeStatus.countReachable(statuses);
    round.await(deadline, () -> round.countAnswers() >= reachable);
    return read(round, asked);
  }

  private List<byte[]> arguments(
      List<NodeStatus> statuses, Set<Integer> entering, long examinedAt) {
    List<byte[]> arguments = new ArrayList<>(List.of(cluster.maxTtlArgument()));
    for (int node = 0; node < cluster.size() && examinedAt != READ_ONLY; node++) {
      if (statuses.get(node).is(Kind.MEMBER) || entering.contains(node)) {
        arguments.add(statuses.get(node).run().getBytes(UTF_8));
        arguments.add(number(TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - examinedAt) + 1));
        arguments.add(cluster.name(node).getBytes(UTF_8));
      }
    }
    return arguments;
  }

  private Listings read(Round round, Map<Integer, Listings.Reply> asked) {
    List<Listings.@Nullable Reply> replies = new ArrayList<>();
    for (int node = 0; node < cluster.size(); node++) {
      Answer answer = round.answer(node);
      Listings.Reply head = asked.get(node);
      replies.add(
          answer == null || answer.words() == null || head == null
              ? null
              : new Listings.Reply(head.run(), head.upMillis(), Listings.read(answer.reply())));
    }
    long slack = Math.min(5_000, Math.max(1_000, settings.maxTtl().toMillis() / 4));
    return new Listings(cluster.names(), replies, slack);
  }

  /** Returns how many nodes have recorded our listing. Only a node that has ever voted does. */
  static long countRecorded(List<NodeStatus> statuses, Listings listings) {
    return IntStream.range(0, statuses.size())
        .filter(listings::hasAnswerOf)
        .mapToObj(statuses::get)
        .filter(status -> status.is(Kind.MEMBER) || status.is(Kind.RESTARTED))
        .count();
  }

  /**
   * Throws if other clients certainly do not list one of the nodes.
   *
   * @throws LockConfigurationException if so
   */
  void refuseUnlisted(Listings listings) {
    listings
        .unlisted()
        .ifPresent(
            node -> {
              String problem = "is " + describeConflict(listings, node);
              throw cluster.failures(node).wrong(problem, null);
            });
  }

  /**
   * Throws if other clients may not list one of the nodes.
   *
   * @throws LockConfigurationException if this is certain
   * @throws LockUnavailableException if this is possible, but a node has not answered
   */
  void refusePerhapsUnlisted(Listings listings) {
    refuseUnlisted(listings);
    listings
        .perhapsUnlisted()
        .ifPresent(
            node -> {
              String problem = "may be " + describeConflict(listings, node);
              throw cluster.failures(node).passing(problem + "; not all of them answer", null);
            });
  }

  /** Describes a conflict, as a complement of "is". */
  String describeConflict(Listings listings, int node) {
    return listings
        .conflictFor(node)
        .map(
            other ->
                "not among the "
                    + cluster.size()
                    + " nodes that other clients list; they listed "
                    + other.address()
                    + " "
                    + other.ageMillis()
                    + " ms ago; all clients of a cluster must list the same nodes")
        .orElse("");
  }
}
