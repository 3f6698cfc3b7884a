package dev.interlock.redlock;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.interlock.LockConfigurationException;
import dev.interlock.LockException;
import dev.interlock.redis.server.Failures;
import dev.interlock.redis.server.LockKeys;
import dev.interlock.redis.server.Pipelines;
import dev.interlock.redis.server.Request;
import dev.interlock.redis.server.ScriptCall;
import dev.interlock.redis.server.Subscriber;
import dev.interlock.redlock.Round.Answer;
import dev.interlock.spi.TimeSource;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;

/** The nodes: sends requests to each of them, and interprets their answers. */
final class Cluster implements AutoCloseable {

  /**
   * The address of a node, and its connections.
   *
   * @param forMessages makes the connection that receives messages
   * @param forRequests makes the connection for requests
   */
  record Place(
      String name,
      boolean tls,
      Supplier<Connection> forMessages,
      Supplier<? extends Connection> forRequests) {}

  private record Node(
      String name, Failures failures, NodeConnections connections, Subscriber subscriber) {}

  private final String endpoint;
  private final Failures failures;
  private final byte[] record;
  private final byte[] maxTtlArgument;
  private final byte[] nodeCountArgument;
  private final List<Node> nodes = new ArrayList<>();
  private final Pipelines pipelines;
  private final Census census;

  Cluster(List<Place> places, RedlockSettings settings, TimeSource time) {
    this.endpoint = places.stream().map(Place::name).collect(Collectors.joining(","));
    this.failures = new Failures(RedlockBackend.NAME, endpoint, false);
    this.census = new Census(this, settings, time);
    this.record = (settings.namespace() + ":redlock").getBytes(UTF_8);
    this.maxTtlArgument = ScriptCall.number(settings.maxTtl().toMillis());
    this.nodeCountArgument = ScriptCall.number(places.size());
    Map<String, String> nodeOfRun = new ConcurrentHashMap<>();
    for (Place place : places) {
      Failures own = new Failures("redis", place.name(), place.tls());
      NodeConnections connections =
          new NodeConnections(
              place.name(),
              place.forRequests(),
              own,
              nodeOfRun,
              settings.nodeTimeout(),
              () -> census.examineWithin(Duration.ZERO));
      Subscriber subscriber =
          new Subscriber(place.forMessages(), settings.namespace(), own, Subscriber.PROBE_MILLIS);
      nodes.add(new Node(place.name(), own, connections, subscriber));
    }
    this.pipelines =
        new Pipelines(
            "interlock-redlock",
            nodes.stream().map(Node::connections).toList(),
            settings.nodeTimeout());
  }

  int size() {
    return nodes.size();
  }

  int majority() {
    return VoteCount.majorityOf(nodes.size());
  }

  String endpoint() {
    return endpoint;
  }

  /** Returns the key of the record that each node keeps of itself. */
  byte[] record() {
    return record;
  }

  /** Returns the longest TTL in ms, as an argument of scripts. */
  byte[] maxTtlArgument() {
    return maxTtlArgument;
  }

  /** Returns the number of nodes, as an argument of scripts. */
  byte[] nodeCountArgument() {
    return nodeCountArgument;
  }

  /** Returns the names of the nodes, as the program lists them. */
  List<String> names() {
    return nodes.stream().map(Node::name).toList();
  }

  String name(int node) {
    return nodes.get(node).name();
  }

  Failures failures(int node) {
    return nodes.get(node).failures();
  }

  /** Explains the failures of all nodes together. */
  Failures failures() {
    return failures;
  }

  long upMillis(int node) {
    return nodes.get(node).connections().upMillis();
  }

  Census census() {
    return census;
  }

  void send(int node, Request request) {
    pipelines.send(node, request);
  }

  Pipelines pipelines() {
    return pipelines;
  }

  Subscriber subscriber(int node) {
    return nodes.get(node).subscriber();
  }

  /** Whether a majority notifies this client of releases of the lock. */
  boolean isSubscribed(LockKeys keys) {
    return nodes.stream().filter(node -> node.subscriber().isSubscribed(keys)).count()
        >= majority();
  }

  // --- answers ------------------------------------------------------------------------

  /** Creates an answer from a reply. An error becomes a silence with its reason. */
  Answer answer(int node, Object reply) {
    Node from = nodes.get(node);
    if (Round.isError(reply)) {
      return new Answer(null, new Vote.Failed(from.failures().explain((RuntimeException) reply)));
    }
    // A reply may be a single word.
    List<?> words = reply instanceof List<?> list ? list : List.of(reply);
    if (Round.text(words.get(0)).equals("foreign")) {
      return new Answer(null, new Vote.Failed(from.failures().foreign(words)));
    }
    return new Answer(words, null);
  }

  /** Creates an answer for a failed request: a silence with its reason. */
  Answer silence(int node, RuntimeException problem) {
    return new Answer(
        null,
        Failures.isTimeout(problem)
            ? new Vote.TimedOut()
            : new Vote.Failed(failures(node).explain(problem)));
  }

  /** Returns the refusal of a node that does not vote; null if it votes. */
  @Nullable Vote refusal(int node, Answer answer) {
    if (answer.silence() != null) {
      return answer.silence();
    }
    if (!answer.is("refused")) {
      return null;
    }
    String why = Round.text(answer.reply().get(1));
    long number = (Long) answer.reply().get(2);
    if (why.equals("longest")) {
      return new Vote.Failed(otherMaxTtl(node, number));
    }
    if (why.equals("nodes")) {
      return new Vote.Failed(otherNodeCount(node, number));
    }
    census.examineAfterQuarantine(why.equals("quarantined") ? number : 0);
    return new Vote.Refused(
        switch (why) {
          case "quarantined" ->
              "it was restarted, may have forgotten locks, and does not vote for another "
                  + number
                  + " ms";
          case "restarted" -> "it was restarted, and has not been admitted again";
          default -> "it has no record of this cluster";
        });
  }

  LockConfigurationException otherMaxTtl(int node, long millis) {
    return failures(node)
        .wrong(
            "was set up with maxTtl=" + millis + "ms; all clients of a cluster must use the same",
            null);
  }

  LockConfigurationException otherNodeCount(int node, long nodeCount) {
    return failures(node)
        .wrong(
            "is one of "
                + nodeCount
                + " nodes, and this client lists "
                + size()
                + "; all clients of a cluster must list the same nodes",
            null);
  }

  /**
   * Returns the failure of a request that found no majority.
   *
   * @param votes the votes of all nodes; null for a node that has not answered
   */
  LockException unavailable(@Nullable Vote[] votes) {
    // Nodes with the same answer are listed together, to keep the message short.
    Map<String, String> nodesByAnswer = new LinkedHashMap<>();
    int usable = votes.length;
    Throwable first = null;
    for (int i = 0; i < votes.length; i++) {
      Vote vote = votes[i];
      String name = nodes.get(i).name();
      String answer = vote == null ? "no answer yet" : vote.inWords();
      nodesByAnswer.merge(
          answer.replace("redis at " + name + ": ", ""),
          name,
          (names, next) -> names + ", " + next);
      if (vote instanceof Vote.Failed failed) {
        first = first == null ? failed.problem() : first;
        usable -= failed.problem() instanceof LockConfigurationException ? 1 : 0;
      }
    }
    String answers =
        nodesByAnswer.entrySet().stream()
            .map(entry -> entry.getValue() + ": " + entry.getKey())
            .collect(Collectors.joining("; "));
    String problem = "no majority of " + majority() + " of " + size() + " nodes: " + answers;
    return usable < majority() ? failures.wrong(problem, first) : failures.passing(problem, first);
  }

  @Override
  public void close() {
    census.close();
    nodes.forEach(node -> node.subscriber().close());
    pipelines.close();
    try {
      pipelines.awaitEnd();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
