package dev.interlock.zookeeper;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.spi.Share;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Clients of a lock on servers that lag behind each other, without a network and without polls.
 * Exclusion and wake-ups must not depend on the state of the queue that a client sees. The queue's
 * rules are the real ones; the servers and the waiters are a model.
 */
class SharedQueueModelTest {

  private static final int CLIENTS = 7;
  private static final int STEPS = 120;

  /** A committed transaction. */
  private record Change(Kind kind, NodeName node) {
    enum Kind {
      CREATED,
      DELETED,
      WRITTEN
    }
  }

  /** The history on which all servers agree. Each has applied a prefix of it. */
  private final List<Change> history = new ArrayList<>();

  private final List<Client> clients = new ArrayList<>();

  /** The queue after each prefix of the history, cached. */
  private final Map<Integer, LockQueue> queues = new HashMap<>();

  private int numbers;

  /** A client that waits or holds, with its own server. */
  private final class Client {
    final NodeName node;

    /** The length of the prefix that its server has applied. */
    int seen;

    @Nullable Blocker blocker;

    boolean joined;
    boolean granted;
    boolean refused;
    boolean left;

    /** The nodes in the way that were not seen to be deleted, and those that are watched. */
    final Set<NodeName> ahead = new LinkedHashSet<>();

    final Set<NodeName> watched = new HashSet<>();

    boolean queueWatched;
    boolean hasToList = true;

    Client(Share share) {
      String prefix = NodeName.prefix(Backends.claim("model", share));
      node = NodeName.parse("%s%010d".formatted(prefix, numbers++)).orElseThrow();
      commit(Change.Kind.CREATED, node);
      seen = history.size();
    }

    LockQueue view() {
      return queueAt(seen);
    }

    /** Lets its server apply one more transaction and send the event. */
    void catchUp() {
      Change change = history.get(seen++);
      if (queueWatched && change.kind() != Change.Kind.WRITTEN) {
        queueWatched = false;
        hasToList = true;
      }
      if (watched.remove(change.node())) {
        if (change.kind() == Change.Kind.DELETED) {
          gone(change.node());
        } else if (Objects.requireNonNull(blocker).watchesGrants()) {
          hasToList = true;
        }
      }
    }

    void proceed() {
      if (hasToList) {
        list();
      } else {
        watch();
      }
    }

    boolean canProceed() {
      if (hasToList || blocker == null) {
        return hasToList;
      }
      return blocker.isQueue() ? !queueWatched : !watched.containsAll(ahead);
    }

    private void list() {
      hasToList = false;
      LockQueue queue = view();
      int position = queue.positionOf(node);
      if (!joined && !node.share().agreesWith(queue.nodes().get(0).share())) {
        refused = true;
        return;
      }
      joined = true;
      blocker = queue.blockerOf(position);
      granted = blocker == null;
      if (granted && queue.isGrantAwaited(position)) {
        commit(Change.Kind.WRITTEN, node);
      }
      ahead.clear();
      if (blocker != null) {
        ahead.addAll(blocker.nodes());
      }
      watched.retainAll(ahead);
    }

    /** Sets watches, perhaps on a later state than that of the listing. */
    private void watch() {
      if (Objects.requireNonNull(blocker).isQueue()) {
        list(); // in one request
        queueWatched = blocker != null;
        return;
      }
      NodeName next =
          ahead.stream().filter(each -> !watched.contains(each)).findFirst().orElseThrow();
      if (view().positionOf(next) < 0) {
        gone(next);
      } else {
        watched.add(next);
        hasToList =
            blocker.watchesGrants()
                && history.subList(0, seen).contains(new Change(Change.Kind.WRITTEN, next));
      }
    }

    private void gone(NodeName one) {
      ahead.remove(one);
      if (!Objects.requireNonNull(blocker).isComplete()) {
        hasToList = true;
      } else if (ahead.isEmpty()) {
        granted = true;
        blocker = null;
      }
    }

    void leave() {
      left = true;
      commit(Change.Kind.DELETED, node);
    }

    boolean isLive() {
      return !left;
    }
  }

  private void commit(Change.Kind kind, NodeName node) {
    history.add(new Change(kind, node));
  }

  private LockQueue queueAt(int seen) {
    return queues.computeIfAbsent(seen, this::listAt);
  }

  private LockQueue listAt(int seen) {
    Set<String> names = new HashSet<>();
    for (Change change : history.subList(0, seen)) {
      if (change.kind() == Change.Kind.CREATED) {
        names.add(change.node().full());
      } else if (change.kind() == Change.Kind.DELETED) {
        names.remove(change.node().full());
      }
    }
    return LockQueue.of(new Session.Children(List.copyOf(names), 0));
  }

  /** Asserts that the holders agree and their weights fit, whatever the clients see. */
  private void assertExclusion(String run) {
    List<Share> held =
        clients.stream()
            .filter(client -> client.granted && client.isLive())
            .map(client -> client.node.share())
            .toList();
    long weight = held.stream().mapToLong(Share::weight).sum();
    for (Share share : held) {
      assertTrue(share.agreesWith(held.get(0)), () -> run + held);
      assertTrue(weight <= share.capacity(), () -> run + held);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"whole", "rw", "permits", "mixed"})
  void lagNeverLosesAWakeUpOrGrantsTooEarly(String shares) {
    runAll(1_000, shares);
  }

  @ParameterizedTest
  @ValueSource(strings = {"whole", "rw", "permits", "mixed"})
  @Tag("extended")
  void lagNeverLosesAWakeUpOrGrantsTooEarlyInManyRuns(String shares) {
    runAll(10_000, shares);
  }

  private void runAll(int seeds, String shares) {
    for (int seed = 0; seed < seeds; seed++) {
      history.clear();
      clients.clear();
      queues.clear();
      numbers = 0;
      run(new Random(seed), shares, shares + " " + seed + ": ");
    }
  }

  private void run(Random random, String shares, String run) {
    for (int step = 0; step < STEPS; step++) {
      List<Client> live = clients.stream().filter(Client::isLive).toList();
      if (live.size() < CLIENTS && random.nextInt(6) == 0) {
        clients.add(new Client(share(random, shares)));
      } else if (!live.isEmpty()) {
        act(live.get(random.nextInt(live.size())), random);
      }
      assertExclusion(run);
    }
    settle(run);
  }

  private void act(Client client, Random random) {
    if (client.canProceed() && random.nextBoolean()) {
      client.proceed();
    } else if (client.seen < history.size() && random.nextInt(3) > 0) {
      client.catchUp();
    } else if ((client.granted || client.refused || random.nextInt(8) == 0)
        && random.nextInt(3) == 0) {
      client.leave();
    }
  }

  /** Lets all servers catch up, refused claims leave, and the others handle their events. */
  private void settle(String run) {
    boolean moved = true;
    while (moved) {
      moved = false;
      for (Client client : clients) {
        if (!client.isLive()) {
          continue;
        }
        while (client.seen < history.size()) {
          client.catchUp();
          moved = true;
        }
        if (client.refused) {
          client.leave();
          moved = true;
        } else if (client.canProceed()) {
          client.proceed();
          moved = true;
        }
      }
      assertExclusion(run);
    }
    LockQueue queue = queueAt(history.size());
    for (Client client : clients) {
      if (client.isLive()) {
        boolean holds = queue.positionOf(client.node) < queue.holders();
        assertEquals(holds, client.granted, () -> run + client.node + " in " + queue.nodes());
      }
    }
  }

  private static Share share(Random random, String shares) {
    if (shares.equals("whole")) {
      return Share.EXCLUSIVE;
    }
    int kinds = shares.equals("mixed") ? 6 : shares.equals("rw") ? 3 : 4;
    int kind = random.nextInt(kinds);
    if (shares.equals("rw")) {
      return kind == 0 ? Share.WRITE : Share.READ;
    }
    return switch (kind) {
      case 0, 1 -> Share.ofSemaphore(1, 4);
      case 2 -> Share.ofSemaphore(2 + random.nextInt(3), 4);
      case 3 -> shares.equals("mixed") ? Share.ofSemaphore(1, 3) : Share.ofSemaphore(1, 4);
      case 4 -> Share.READ;
      default -> Share.EXCLUSIVE;
    };
  }
}
