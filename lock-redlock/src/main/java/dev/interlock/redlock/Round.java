package dev.interlock.redlock;

import dev.interlock.LockException;
import dev.interlock.redis.server.Request;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.TimeSource;
import dev.interlock.spi.WakeUp;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.BooleanSupplier;
import java.util.function.IntFunction;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.exceptions.JedisException;

/** One request to all nodes, and their answers so far. One thread waits for the answers. */
final class Round {

  /**
   * The answer of one node, or the reason why there is none.
   *
   * @param words the reply, which begins with a word; null if there is none
   * @param silence the reason why there is no reply; null if there is one
   */
  record Answer(@Nullable List<?> words, @Nullable Vote silence) {

    boolean is(String word) {
      return words != null && text(words.get(0)).equals(word);
    }

    List<?> reply() {
      if (words == null) {
        throw new IllegalStateException("no reply");
      }
      return words;
    }
  }

  private final Cluster cluster;
  private final AtomicReferenceArray<@Nullable Answer> answers;
  private final WakeUp wakeUp;

  Round(Cluster cluster, TimeSource time) {
    this.cluster = cluster;
    this.answers = new AtomicReferenceArray<>(cluster.size());
    this.wakeUp = new WakeUp(time);
  }

  static String text(Object word) {
    return new String((byte[]) word, StandardCharsets.UTF_8);
  }

  /** A request to one node, whose answer is counted here. */
  abstract class Question implements Request {
    final int node;
    private final Deadline sendBefore;

    Question(int node, Deadline sendBefore) {
      this.node = node;
      this.sendBefore = sendBefore;
    }

    @Override
    public Deadline sendBefore() {
      return sendBefore;
    }

    @Override
    public void complete(Object reply) {
      Round.this.put(node, cluster.answer(node, reply));
    }

    @Override
    public void fail(RuntimeException problem) {
      Round.this.put(node, cluster.silence(node, problem));
    }
  }

  /** Sends a request to each node. */
  void ask(IntFunction<Question> question) {
    for (int node = 0; node < cluster.size(); node++) {
      cluster.send(node, question.apply(node));
    }
  }

  /** Records an answer. Only the first answer of each node counts. */
  void put(int node, Answer answer) {
    if (answers.compareAndSet(node, null, answer)) {
      wakeUp.signal();
    }
  }

  /** Waits until the result is decided, all nodes have answered, or the deadline has passed. */
  void await(Deadline deadline, BooleanSupplier decided) throws InterruptedException {
    while (!decided.getAsBoolean() && countAnswers() < answers.length()) {
      if (!cluster.pipelines().await(wakeUp, deadline)) {
        return;
      }
    }
  }

  @Nullable Answer answer(int node) {
    return answers.get(node);
  }

  /** Returns the number of nodes that have answered, or that are known not to answer. */
  int countAnswers() {
    return count(answer -> true);
  }

  int count(Predicate<Answer> which) {
    int count = 0;
    for (int node = 0; node < answers.length(); node++) {
      Answer answer = answers.get(node);
      if (answer != null && which.test(answer)) {
        count++;
      }
    }
    return count;
  }

  int count(String word) {
    return count(answer -> answer.is(word));
  }

  /** Whether a majority answered {@code yes}, or so many answered {@code no} that none can. */
  boolean isDecided(String yes, String no) {
    return count(yes) >= cluster.majority() || count(no) > cluster.size() - cluster.majority();
  }

  /** Waits until a majority answers {@code yes}, or so many "not held" that none can. */
  boolean verdict(String yes, Deadline deadline) throws InterruptedException {
    await(deadline, () -> isDecided(yes, "not held"));
    if (isDecided(yes, "not held")) {
      return count(yes) >= cluster.majority();
    }
    throw undecided();
  }

  /** Returns the failure of a request that no majority has answered. */
  LockException undecided() {
    @Nullable Vote[] votes = new @Nullable Vote[answers.length()];
    for (int node = 0; node < votes.length; node++) {
      Answer answer = answers.get(node);
      if (answer != null) {
        votes[node] = answer.silence() != null ? answer.silence() : toVote(node, answer);
      }
    }
    return cluster.unavailable(votes);
  }

  private Vote toVote(int node, Answer answer) {
    Vote refusal = cluster.refusal(node, answer);
    return refusal != null ? refusal : new Vote.Refused(text(answer.reply().get(0)));
  }

  static boolean isError(Object reply) {
    return reply instanceof JedisException;
  }
}
