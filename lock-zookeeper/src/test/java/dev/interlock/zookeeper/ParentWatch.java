package dev.interlock.zookeeper;

import dev.interlock.spi.Attempt;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.WakeUp;
import dev.interlock.tck.specimen.ForwardingQueue;
import org.apache.curator.framework.CuratorFramework;

/** Queues correctly, but watches the whole queue instead of only the predecessor. */
class ParentWatch extends ForwardingQueue {

  private final ZooKeeperBackend right;
  private final CuratorFramework curator;

  ParentWatch(ZooKeeperBackend right, CuratorFramework curator) {
    super(right);
    this.right = right;
    this.curator = curator;
  }

  @Override
  public Place join(Claim claim, Deadline deadline) throws InterruptedException {
    Place place = super.join(claim, deadline);
    QueueNode node = (QueueNode) claim.attachment();
    WakeUp changed = new WakeUp(right.time());
    return new Place() {
      private volatile boolean closed;

      @Override
      public Attempt await(Deadline limit) throws InterruptedException {
        while (true) {
          LockQueue queue;
          try {
            queue =
                LockQueue.of(
                    new Session.Children(
                        curator
                            .getChildren()
                            .usingWatcher(
                                (org.apache.curator.framework.api.CuratorWatcher)
                                    event -> changed.signal())
                            .forPath(node.lockPath()),
                        0));
          } catch (InterruptedException e) {
            throw e;
          } catch (Exception e) {
            throw right.failures().temporary("the queue could not be listed", e);
          }
          int position = queue.positionOf(node.name());
          if (position < 0 || closed) {
            throw right.failures().nodeDeleted();
          }
          if (position < queue.holders()) {
            return place.await(limit);
          }
          if (!changed.await(limit.atMost(right.pollInterval())) && limit.hasPassed()) {
            return new Attempt.Busy(right.pollInterval());
          }
        }
      }

      @Override
      public void close() {
        closed = true;
        place.close();
        changed.signal();
      }
    };
  }
}
