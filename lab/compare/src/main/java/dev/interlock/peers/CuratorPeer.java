package dev.interlock.peers;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.interlock.LockState;
import dev.interlock.ReleaseOutcome;
import dev.interlock.spi.LockStates;
import dev.interlock.tck.run.NotOfferedException;
import dev.interlock.tck.run.NotTestedException;
import dev.interlock.testbed.kit.ZooKeeperStore;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.framework.state.ConnectionStateListener;
import org.jspecify.annotations.Nullable;

/**
 * Adapts Curator's {@code InterProcessMutex}. A lock lasts as long as its session, so its TTL is
 * the session time-out. A listener for the connection state reports the loss when the state is
 * LOST.
 */
final class CuratorPeer implements Peer {
  private static final String ROOT = "/locks";

  /** The nodes of its locks on the store; the one with the lowest number belongs to the holder. */
  static final ZooKeeperStore.Nodes NODES =
      new ZooKeeperStore.Nodes(
          ROOT,
          CuratorPeer::node,
          node -> URLDecoder.decode(node, UTF_8),
          queue -> queue.stream().min(Comparator.comparing(CuratorPeer::number)).stream().toList());

  private final CuratorFramework curator;

  CuratorPeer(List<String> addresses, Terms terms) throws Exception {
    if (!terms.renewed()) {
      throw new NotOfferedException("a lock that expires while its session continues");
    }
    this.curator = Clients.curator(addresses, terms.ttl());
  }

  /** Encodes a name as a node name, since a name may contain any character. */
  private static String node(String name) {
    return URLEncoder.encode(name, UTF_8).replace(".", "%2E");
  }

  private static String path(String name) {
    return ROOT + "/" + node(name);
  }

  private static String number(String node) {
    return node.substring(Math.max(0, node.length() - 10));
  }

  @Override
  public @Nullable Hold acquire(String name, Terms terms, @Nullable Duration atMost)
      throws Exception {
    if (!terms.renewed()) {
      throw new NotOfferedException("a lock that expires while its session continues");
    }
    InterProcessMutex mutex = new InterProcessMutex(curator, path(name));
    CompletableFuture<String> lost = new CompletableFuture<>();
    ConnectionStateListener listener =
        (client, state) -> {
          if (state == ConnectionState.LOST) {
            lost.complete("the connection's state is LOST");
          }
        };
    curator.getConnectionStateListenable().addListener(listener);
    @Nullable Hold hold = null;
    try {
      hold =
          OwnerThread.acquire(
              () -> acquire(mutex, atMost) ? LeaseTime.startingNow(session()) : null,
              (owner, time) -> hold(mutex, owner, listener, lost, time));
      return hold;
    } finally {
      if (hold == null) {
        curator.getConnectionStateListenable().removeListener(listener);
      }
    }
  }

  private static boolean acquire(InterProcessMutex mutex, @Nullable Duration atMost)
      throws Exception {
    if (atMost == null) {
      mutex.acquire();
      return true;
    }
    return mutex.acquire(atMost.toMillis(), TimeUnit.MILLISECONDS);
  }

  private Duration session() throws Exception {
    return Duration.ofMillis(curator.getZookeeperClient().getZooKeeper().getSessionTimeout());
  }

  @Override
  public RuntimeException multiLockRefusal() {
    return new NotTestedException("InterProcessMultiLock, which is not adapted");
  }

  @Override
  public LockState inspect(String name) throws Exception {
    List<String> nodes =
        List.copyOf(new InterProcessMutex(curator, path(name)).getParticipantNodes());
    return nodes.isEmpty()
        ? LockStates.free(name)
        : LockStates.held(name, null, null, null, nodes.subList(1, nodes.size()));
  }

  @Override
  public void close() {
    curator.close();
  }

  private Hold hold(
      InterProcessMutex mutex,
      OwnerThread owner,
      ConnectionStateListener listener,
      CompletableFuture<String> lost,
      LeaseTime time) {
    return new Hold(time, /* renewed= */ true) {
      @Override
      boolean isHeld() {
        return mutex.isAcquiredInThisProcess()
            && !lost.isDone()
            && curator.getZookeeperClient().isConnected();
      }

      @Override
      ReleaseOutcome unlock() throws Exception {
        curator.getConnectionStateListenable().removeListener(listener);
        try {
          owner.run(mutex::release);
        } catch (IllegalMonitorStateException e) {
          return ReleaseOutcome.ALREADY_LOST;
        } finally {
          owner.close();
        }
        return ReleaseOutcome.UNKNOWN; // release does not tell whether the node still existed
      }

      @Override
      CompletableFuture<String> onLoss() {
        return lost;
      }
    };
  }
}
