package dev.interlock.redlock;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.interlock.LockConfigurationException;
import dev.interlock.LockState;
import dev.interlock.LockState.Holder;
import dev.interlock.redis.server.LockKeys;
import dev.interlock.redis.server.Script;
import dev.interlock.redis.server.ScriptCall;
import dev.interlock.redlock.Round.Answer;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.LockPage;
import dev.interlock.spi.LockStates;
import dev.interlock.spi.Share;
import dev.interlock.spi.TimeSource;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The requests of operators: inspect, list, force a release, and revoke. */
final class Administration {

  private static final List<?> FREE = List.of("free".getBytes(UTF_8));

  private final Cluster cluster;
  private final String namespace;
  private final TimeSource time;

  Administration(Cluster cluster, String namespace, TimeSource time) {
    this.cluster = cluster;
    this.namespace = namespace;
    this.time = time;
  }

  /**
   * Returns the state of a lock. A holder's token is the fence that a majority of the nodes has;
   * the others may have different fences.
   */
  LockState inspect(String name, Deadline deadline) throws InterruptedException {
    return state(name, inspection(name, deadline, false), deadline);
  }

  private LockState state(String name, Round round, Deadline deadline) throws InterruptedException {
    // A holder may be known before its token, because a node that votes late has another fence.
    int majority = cluster.majority();
    round.await(
        deadline,
        () ->
            round.count("free") > cluster.size() - majority
                || (usableAnswers(round).size() >= majority
                    && haveTokens(Holding.read(usableAnswers(round)))));
    List<Answer> answers = usableAnswers(round);
    if (answers.size() < majority) {
      throw round.undecided();
    }
    int silent = cluster.size() - answers.size();
    List<Holding> holdings =
        Holding.read(answers).stream()
            .filter(holding -> holding.nodes() + silent >= majority)
            .toList();
    if (holdings.isEmpty()) {
      return LockStates.free(name);
    }
    Share use = holdings.get(0).use;
    List<Holder> holders =
        holdings.stream()
            .filter(holding -> holding.use.agreesWith(use))
            .map(holding -> holding.holder(majority))
            .sorted(Holding.ORDER)
            .limit(use.isExclusive() ? 1 : Long.MAX_VALUE)
            .toList();
    return LockStates.held(name, use.kind(), use.capacity(), holders, List.of());
  }

  private List<Answer> usableAnswers(Round round) {
    List<Answer> answers = new ArrayList<>();
    for (int node = 0; node < cluster.size(); node++) {
      Answer answer = round.answer(node);
      if (answer != null && (answer.is("held") || answer.is("shared") || answer.is("free"))) {
        answers.add(answer);
      }
    }
    return answers;
  }

  /**
   * Whether the tokens of all holders are known. Further answers cannot add a holder then: each
   * claim that has a majority is known, and an exclusive claim is the only one.
   */
  private boolean haveTokens(List<Holding> holdings) {
    List<Holding> clear =
        holdings.stream().filter(holding -> holding.token(cluster.majority()) != null).toList();
    return !clear.isEmpty() && (clear.size() == holdings.size() || clear.get(0).use.isExclusive());
  }

  /**
   * Lists locks from one node after the other. A lock is on a majority of the nodes, so the listing
   * may leave out a minority that does not answer. A node that was restarted since its last page
   * counts as missing, because its cursor means nothing to another process. The cursor consists of
   * the node, the cursor of the node, the number of missing nodes, and the process of the node.
   */
  LockPage list(String prefix, @Nullable String cursor, int limit, Deadline deadline)
      throws InterruptedException {
    String[] parts = (cursor == null ? "0/0/0/" : cursor).split("/", -1);
    int node = Integer.parseInt(parts[0]);
    int missing = Integer.parseInt(parts[2]);
    AtomicReference<String> asked = new AtomicReference<>("");
    Round round = new Round(cluster, time);
    String pattern = LockKeys.pattern(namespace, prefix);
    cluster.send(
        node,
        round.new Question(node, deadline) {
          @Override
          public ScriptCall call(String run) {
            asked.set(run);
            return new ScriptCall(
                NodeScripts.FIND_KEYS,
                List.of(cluster.record()),
                Stream.of(parts[1], pattern, String.valueOf(limit))
                    .map(argument -> argument.getBytes(UTF_8))
                    .toList());
          }

          @Override
          public void complete(Object reply) {
            if (parts[3].isEmpty() || parts[3].equals(asked.get())) {
              super.complete(reply);
            } else {
              round.put(
                  node, new Answer(null, new Vote.Refused("it was restarted during the listing")));
            }
          }
        });
    round.await(deadline, () -> round.answer(node) != null);
    Answer found = round.answer(node);
    String next = "0";
    List<LockState> locks = List.of();
    if (found != null && found.is("keys")) {
      next = Round.text(found.reply().get(1));
      locks = states(prefix, (List<?>) found.reply().get(2), deadline);
    } else if (++missing >= cluster.majority()) {
      throw found != null
              && found.silence() instanceof Vote.Failed failed
              && failed.problem() instanceof LockConfigurationException wrong
          ? wrong
          : round.undecided();
    }
    if (!next.equals("0")) {
      return new LockPage(locks, node + "/" + next + "/" + missing + "/" + asked.get());
    }
    int last = cluster.size() - 1;
    return new LockPage(locks, node == last ? null : (node + 1) + "/0/" + missing + "/");
  }

  private List<LockState> states(String prefix, List<?> keys, Deadline deadline)
      throws InterruptedException {
    Map<String, Round> rounds = new LinkedHashMap<>();
    for (Object key : keys) {
      String name = LockKeys.name(namespace, (byte[]) key);
      if (name != null && name.startsWith(prefix)) {
        rounds.put(name, inspection(name, deadline, true));
      }
    }
    List<LockState> states = new ArrayList<>();
    for (Map.Entry<String, Round> round : rounds.entrySet()) {
      LockState state = state(round.getKey(), round.getValue(), deadline);
      if (state.isHeld()) {
        states.add(state);
      }
    }
    return states;
  }

  boolean forceRelease(String name, Deadline deadline) throws InterruptedException {
    return askAll(Script.FORCE_RELEASE, name, deadline).verdict("released", deadline);
  }

  boolean revoke(String name, Deadline deadline) throws InterruptedException {
    return askAll(Script.REVOKE, name, deadline).verdict("revoked", deadline);
  }

  /**
   * Asks all nodes about a lock.
   *
   * @param listing whether a key with foreign content counts as a free lock
   */
  private Round inspection(String name, Deadline deadline, boolean listing) {
    LockKeys keys = LockKeys.of(namespace, name);
    Round round = new Round(cluster, time);
    round.ask(
        each ->
            round.new Question(each, deadline) {
              @Override
              public ScriptCall call(String run) {
                return new ScriptCall(
                    NodeScripts.INSPECT,
                    List.of(keys.lock(), keys.fence(), cluster.record()),
                    List.of(
                        run.getBytes(UTF_8),
                        cluster.maxTtlArgument(),
                        cluster.nodeCountArgument()));
              }

              @Override
              public void complete(Object reply) {
                boolean free =
                    reply instanceof List<?> words
                        && (Holding.isOver(words)
                            || (listing
                                && Round.text(words.get(0)).equals("foreign")
                                && Arrays.equals(keys.lock(), (byte[]) words.get(1))));
                super.complete(free ? FREE : reply);
              }
            });
    return round;
  }

  /**
   * Asks all nodes to act on the current holder. A request is not repeated, because the second one
   * might hit the next holder.
   */
  private Round askAll(Script script, String name, Deadline deadline) {
    LockKeys keys = LockKeys.of(namespace, name);
    Round round = new Round(cluster, time);
    round.ask(
        each ->
            round.new Question(each, deadline) {
              @Override
              public ScriptCall call(String run) {
                return new ScriptCall(script, List.of(keys.lock()), List.of());
              }

              @Override
              public boolean isRepeatable() {
                return false;
              }
            });
    return round;
  }
}
