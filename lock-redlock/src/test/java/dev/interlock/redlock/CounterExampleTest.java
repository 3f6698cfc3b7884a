package dev.interlock.redlock;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.redis.server.Script;
import dev.interlock.redlock.ProtocolModel.Bounds;
import dev.interlock.redlock.ProtocolModel.Property;
import dev.interlock.redlock.ProtocolModel.Rule;
import dev.interlock.redlock.ProtocolModel.Step;
import dev.interlock.redlock.VoteCount.Outcome;
import dev.interlock.testbed.Testbed;
import dev.interlock.testbed.redis.RedisServer;
import dev.interlock.testbed.redis.RedlockNodes;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The schedules that violate a property without one of the rules do no harm with all rules. They
 * are the counter-examples of the model, and are replayed against real nodes with the scripts and
 * classes of the backend. A step that the nodes do not permit is left out.
 */
class CounterExampleTest {

  private static final String LOCK = "interlock:{job}";
  private static final String FENCE = "interlock:{job}:fence";
  private static final String RECORD = "interlock:redlock";

  @AutoClose
  private static final RedlockNodes redlock =
      Testbed.redlockNodes().nodes(ProtocolModel.NODES).start();

  private static final List<RedisServer> nodes = redlock.members();

  private final String[] runs = new String[ProtocolModel.NODES];
  private String longest = "60000";

  private static final class Try {
    final VoteCount count = new VoteCount(ProtocolModel.NODES);
    final Map<Integer, Vote> replies = new HashMap<>();
    final Set<Integer> toConfirm = new HashSet<>();
    final Map<Integer, Boolean> confirmations = new HashMap<>();
    final int hint;
    final long seen;
    boolean elected;
    boolean isOver;

    Try(int hint, long seen) {
      this.hint = hint;
      this.seen = seen;
    }
  }

  @ParameterizedTest
  @EnumSource(Rule.class)
  void tokensRiseWhereTheyDoNotWithoutTheRule(Rule rule) throws Exception {
    Bounds bounds =
        switch (rule) {
          case FLOOR_TAKEN_OVER, QUARANTINE -> ProtocolModelTest.TOKENS;
          default -> ProtocolModelTest.SLOW;
        };
    Exploration.Result<Step> broken =
        ProtocolModelTest.exploreWithout(rule, Property.TOKENS_RISE, bounds);
    // Where the model lets the quarantine end, it has to end here, too.
    longest = rule == Rule.QUARANTINE ? "60000" : "1";
    replay(broken);
  }

  private void replay(Exploration.Result<Step> broken) throws Exception {
    for (int n = 0; n < nodes.size(); n++) {
      nodes.get(n).call("FLUSHALL");
      runs[n] = "first";
      eval(n, NodeScripts.ADMIT, List.of(RECORD), runs[n], longest, "0", "NEW_CLUSTER", "3");
      int fence = ProtocolModel.firstFence(broken.start(), n);
      if (fence > 0) {
        nodes.get(n).call("SET", FENCE, "" + fence);
        nodes.get(n).call("HSET", RECORD, "floor", "" + fence);
      }
    }
    Map<Integer, Try> tries = new HashMap<>();
    Set<Long> tokens = new HashSet<>();
    long highest = 0;
    List<Step> steps = broken.counterExample().orElseThrow();
    for (Step step : steps) {
      Try attempt = tries.get(step.attempt());
      happen(step, attempt, tries, highest);
      for (Try each : tries.values()) {
        if (!each.elected && !each.isOver && each.count.outcome() == Outcome.ACQUIRED) {
          long token = each.count.token();
          each.elected = true;
          assertTrue(tokens.add(token), () -> token + " was granted twice by " + steps);
          assertTrue(token > each.seen, () -> token + " after " + each.seen + " by " + steps);
          highest = Math.max(highest, token);
        }
      }
    }
  }

  private void happen(Step step, Try attempt, Map<Integer, Try> tries, long highest)
      throws Exception {
    int n = step.node();
    switch (step.what()) {
      case BEGINS -> tries.put(step.attempt(), new Try(step.argument(), highest));
      case EXECUTES_ACQUIRE -> {
        List<?> reply =
            eval(
                n,
                NodeScripts.ACQUIRE,
                List.of(LOCK, FENCE, RECORD),
                value(step.attempt()),
                "60000",
                "60000",
                "" + attempt.hint,
                runs[n],
                longest,
                "3");
        attempt.replies.put(
            n,
            word(reply).equals("granted")
                ? new Vote.Granted((Long) reply.get(1), (Long) reply.get(2))
                : new Vote.Refused(word(reply)));
      }
      case HEARS_OF_GRANT -> {
        attempt.count.vote(n, attempt.replies.getOrDefault(n, new Vote.TimedOut()));
        attempt.toConfirm.addAll(attempt.count.toConfirm());
      }
      case EXECUTES_CONFIRM -> {
        if (attempt.toConfirm.contains(n)) {
          List<?> reply =
              eval(
                  n,
                  NodeScripts.CONFIRM,
                  List.of(LOCK, FENCE, RECORD),
                  value(step.attempt()),
                  "" + attempt.count.token(),
                  "60000",
                  runs[n],
                  longest,
                  "3");
          attempt.confirmations.put(n, word(reply).equals("confirmed"));
        }
      }
      case HEARS_OF_CONFIRM -> {
        if (attempt.confirmations.getOrDefault(n, false)) {
          attempt.count.confirm(n);
        }
      }
      case GIVES_UP -> attempt.isOver = true;
      case ENDS -> tries.remove(step.attempt());
      case EXECUTES_WITHDRAW -> {
        if (attempt.replies.get(n) instanceof Vote.Granted granted) {
          eval(
              n,
              NodeScripts.WITHDRAW,
              List.of(LOCK, FENCE),
              value(step.attempt()),
              "" + granted.fence(),
              "" + granted.before(),
              "60000");
        }
      }
      case KEY_VANISHES -> nodes.get(n).call("DEL", LOCK);
      case FENCE_VANISHES -> nodes.get(n).call("DEL", FENCE);
      case RESTARTS_EMPTY -> {
        nodes.get(n).call("FLUSHALL");
        runs[n] = "second";
      }
      case IS_ADMITTED -> admit();
    }
  }

  /** Takes the steps for a restarted node, as long as there are any. */
  private void admit() throws Exception {
    Set<String> served = new HashSet<>();
    for (int look = 0; look < 10; look++) {
      List<NodeStatus> statuses = new ArrayList<>();
      for (int n = 0; n < nodes.size(); n++) {
        List<?> reply = eval(n, NodeScripts.EXAMINE, List.of(RECORD), runs[n], longest);
        statuses.add(
            new NodeStatus(
                NodeStatus.Kind.valueOf(word(reply).toUpperCase(Locale.ROOT)),
                runs[n],
                Long.parseLong(reply.get(1).toString()),
                (Long) reply.get(2)));
      }
      for (Admission.Step step : new Admission(false).stepsFor(statuses, served, false)) {
        if (step instanceof Admission.Step.Admit admit) {
          eval(
              step.node(),
              NodeScripts.ADMIT,
              List.of(RECORD),
              step.run(),
              longest,
              "" + admit.floor(),
              admit.reason().name(),
              "3");
        } else {
          eval(step.node(), NodeScripts.QUARANTINE, List.of(RECORD), step.run(), longest);
        }
      }
      statuses.stream().filter(NodeStatus::hasServed).forEach(each -> served.add(each.run()));
    }
  }

  private static String value(int attempt) {
    return "attempt-" + attempt + "-".repeat(18) + "|test";
  }

  private static List<?> eval(int node, Script script, List<String> keys, String... arguments)
      throws IOException {
    List<String> command = new ArrayList<>();
    command.add("EVAL");
    command.add(new String(script.source(), UTF_8));
    command.add("" + keys.size());
    command.addAll(keys);
    command.addAll(Arrays.asList(arguments));
    Object reply = nodes.get(node).call(command.toArray(String[]::new));
    return reply instanceof List<?> words ? words : List.of(String.valueOf(reply));
  }

  private static String word(List<?> reply) {
    return reply.get(0).toString();
  }
}
