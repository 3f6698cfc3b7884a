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

/** One question to all nodes, and their answers so far. One thread waits for them. */
final class Round {

  /**
   * The answer of one node, or why there is none.
   *
   * @param words the reply; its first element is a word
   * @param silence why there is no reply
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

  /** A question to one node whose answer is counted here. */
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
    public void answered(Object reply) {
      Round.this.put(node, cluster.answer(node, reply));
    }

    @Override
    public void failed(RuntimeException problem) {
      Round.this.put(node, cluster.silence(node, problem));
    }
  }

  /** Asks each node. */
  void ask(IntFunction<Question> question) {
    for (int node = 0; node < cluster.size(); node++) {
      cluster.send(node, question.apply(node));
    }
  }

  /** Takes an answer; the first of each node counts. */
  void put(int node, Answer answer) {
    if (answers.compareAndSet(node, null, answer)) {
      wakeUp.signal();
    }
  }

  /** Waits until the result is clear, all have answered, or the deadline has passed. */
  void await(Deadline deadline, BooleanSupplier decided) throws InterruptedException {
    while (!decided.getAsBoolean() && count(answer -> true) < answers.length()) {
      if (!cluster.pipelines().await(wakeUp, deadline)) {
        return;
      }
    }
  }

  @Nullable Answer answer(int node) {
    return answers.get(node);
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

  /** Whether a majority says one thing, or so many say the other that none will. */
  boolean isDecided(String yes, String no) {
    return count(yes) >= cluster.majority() || count(no) > cluster.size() - cluster.majority();
  }

  /** Waits for the word of a majority, or for so many "not held" that there is none. */
  boolean verdict(String yes, Deadline deadline) throws InterruptedException {
    await(deadline, () -> isDecided(yes, "not held"));
    if (isDecided(yes, "not held")) {
      return count(yes) >= cluster.majority();
    }
    throw undecided();
  }

  /** Makes the failure of a question that no majority has answered. */
  LockException undecided() {
    @Nullable Vote[] votes = new @Nullable Vote[answers.length()];
    for (int node = 0; node < votes.length; node++) {
      Answer answer = answers.get(node);
      if (answer != null) {
        votes[node] = answer.silence() != null ? answer.silence() : said(node, answer);
      }
    }
    return cluster.unavailable(votes);
  }

  private Vote said(int node, Answer answer) {
    Vote refusal = cluster.refusal(node, answer);
    return refusal != null ? refusal : new Vote.Refused(text(answer.reply().get(0)));
  }

  /** Whether a reply is an error from the server. */
  static boolean isError(Object reply) {
    return reply instanceof JedisException;
  }
}
