package dev.interlock.redlock;

import static dev.interlock.redis.server.ScriptCall.number;
import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.Objects.requireNonNull;

import dev.interlock.LockConfigurationException;
import dev.interlock.LockException;
import dev.interlock.redis.server.Request;
import dev.interlock.redis.server.ScriptCall;
import dev.interlock.redlock.Round.Answer;
import dev.interlock.redlock.VoteCount.Outcome;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.TimeSource;
import dev.interlock.spi.WakeUp;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;

/**
 * One attempt in progress. Asks all nodes for their votes at the same time, sends the token to
 * nodes with a lower fence, and is decided by a majority. Counts later answers, too, until the
 * attempt is withdrawn.
 */
final class Acquisition {

  private final Cluster cluster;
  private final Entry entry;
  private final Requests requests;
  private final byte[] hint;
  private final long waitedMillis;
  private final Deadline sendBefore;
  private final WakeUp wakeUp;
  private final VoteCount count;

  /** The failure if the name is in use as another kind of lock, according to a node. */
  private volatile @Nullable LockConfigurationException disagreement;

  /** Releases nodes that grant after the attempt was withdrawn. */
  private @Nullable IntConsumer releaseLate;

  Acquisition(
      Requests requests, long hint, long waitedMillis, Deadline sendBefore, TimeSource time) {
    this.cluster = requests.cluster;
    this.entry = requests.entry;
    this.requests = requests;
    this.hint = number(hint);
    this.waitedMillis = waitedMillis;
    this.sendBefore = sendBefore;
    this.wakeUp = new WakeUp(time);
    this.count = new VoteCount(cluster.size());
  }

  /** Asks all nodes. Does not wait for the answers. */
  void start() {
    for (int node = 0; node < cluster.size(); node++) {
      cluster.send(
          node,
          new Question(node, this::onVote) {
            @Override
            ScriptCall ask(byte[] run) {
              return requests.acquire(run, hint, cluster.subscriber(node).id(), waitedMillis);
            }
          });
    }
  }

  private void onVote(int node, Answer answer) {
    Vote vote = vote(node, answer);
    entry.setLacking(node, vote instanceof Vote.Busy);
    if (vote instanceof Vote.Granted granted) {
      entry.recordGrant(node, granted);
    }
    List<Integer> toConfirm;
    long token;
    IntConsumer release;
    synchronized (count) {
      release = releaseLate;
      count.vote(node, vote);
      toConfirm = count.toConfirm();
      token = count.token();
    }
    for (int other : toConfirm) {
      confirm(other, token);
    }
    if (release != null && mayHoldUnder(vote)) {
      release.accept(node);
    }
    wakeUp.signal();
  }

  /** Whether a node may hold the lock. One that refuses may have granted an earlier copy. */
  private boolean mayHoldUnder(@Nullable Vote vote) {
    return vote instanceof Vote.Granted
        || vote instanceof Vote.TimedOut
        || vote instanceof Vote.Failed
        || (vote instanceof Vote.Refused && entry.isRepeated());
  }

  /**
   * Withdraws the attempt from all nodes that may hold the lock for it.
   *
   * @param release called for each of these nodes, now or when it answers
   */
  void withdraw(IntConsumer release) {
    List<Integer> nodes = new ArrayList<>();
    synchronized (count) {
      releaseLate = release;
      for (int node = 0; node < cluster.size(); node++) {
        if (mayHoldUnder(count.vote(node))) {
          nodes.add(node);
        }
      }
    }
    nodes.forEach(release::accept);
  }

  private Vote vote(int node, Answer answer) {
    Vote refusal = cluster.refusal(node, answer);
    if (refusal != null) {
      return refusal;
    }
    List<?> words = answer.reply();
    return answer.is("granted")
        ? new Vote.Granted((Long) words.get(1), (Long) words.get(2))
        : new Vote.Busy(Round.text(words.get(2)), (Long) words.get(1));
  }

  private void confirm(int node, long token) {
    cluster.send(
        node,
        new Question(node, this::onConfirmation) {
          @Override
          ScriptCall ask(byte[] run) {
            return requests.confirm(run, number(token));
          }
        });
  }

  private void onConfirmation(int node, Answer answer) {
    Vote refusal = cluster.refusal(node, answer);
    synchronized (count) {
      if (answer.is("confirmed")) {
        count.confirm(node);
      } else if (answer.is("passed")) {
        // The node holds the lock for this attempt, but the attempt needs a higher token.
        count.reject(node, requireNonNull(count.vote(node)));
      } else {
        count.reject(node, refusal == null ? new Vote.Lost() : refusal);
      }
    }
    wakeUp.signal();
  }

  /** Waits until the attempt is decided. */
  Outcome await(Deadline deadline) throws InterruptedException {
    while (true) {
      Outcome outcome;
      synchronized (count) {
        outcome = count.outcome();
      }
      if (outcome != Outcome.OPEN || !cluster.pipelines().await(wakeUp, deadline)) {
        return outcome;
      }
    }
  }

  /** Waits for the nodes that have not voted yet. */
  void awaitMissingVotes(Deadline deadline) throws InterruptedException {
    boolean goesOn = true;
    while (goesOn) {
      boolean missing = false;
      synchronized (count) {
        for (int node = 0; node < cluster.size(); node++) {
          missing |= count.vote(node) == null;
        }
      }
      goesOn = missing && cluster.pipelines().await(wakeUp, deadline);
    }
  }

  long token() {
    synchronized (count) {
      return count.token();
    }
  }

  VoteCount.@Nullable Holder holder() {
    synchronized (count) {
      return count.holder();
    }
  }

  long remainingMillis() {
    synchronized (count) {
      return count.remainingMillis();
    }
  }

  /** Returns the nodes that have granted. */
  List<Integer> holders() {
    synchronized (count) {
      return count.holders();
    }
  }

  /** Returns the failure of an attempt that cannot be elected, with all votes. */
  LockException failure() {
    @Nullable Vote[] votes = new @Nullable Vote[cluster.size()];
    synchronized (count) {
      for (int node = 0; node < votes.length; node++) {
        votes[node] = count.vote(node);
      }
    }
    LockException failure = cluster.unavailable(votes);
    LockConfigurationException other = disagreement;
    return failure instanceof LockConfigurationException && other != null ? other : failure;
  }

  /** A request of this attempt. It is not sent after the attempt was withdrawn. */
  private abstract class Question implements Request {
    final int node;
    private final BiConsumer<Integer, Answer> then;

    Question(int node, BiConsumer<Integer, Answer> then) {
      this.node = node;
      this.then = then;
    }

    abstract ScriptCall ask(byte[] run);

    @Override
    public @Nullable ScriptCall call(String run) {
      boolean sentBefore = entry.mayBeOn(node);
      if (entry.markSent(node, run)) {
        return ask(run.getBytes(UTF_8));
      }
      if (sentBefore) {
        // The connection broke, so the earlier copy will not be answered.
        then.accept(node, new Answer(null, new Vote.TimedOut()));
      }
      return null;
    }

    @Override
    public void complete(Object reply) {
      Answer answer = cluster.answer(node, reply);
      if (answer.silence() != null && reply instanceof List<?> foreign) {
        LockConfigurationException other = requests.stored.disagreement(Round.text(foreign.get(2)));
        if (other != null) {
          disagreement = other;
          answer = new Answer(null, new Vote.Failed(other));
        }
      }
      then.accept(node, answer);
    }

    @Override
    public void fail(RuntimeException problem) {
      then.accept(node, cluster.silence(node, problem));
    }

    @Override
    public boolean isWithdrawn() {
      return entry.isWithdrawn();
    }

    @Override
    public Deadline sendBefore() {
      return sendBefore;
    }
  }
}
