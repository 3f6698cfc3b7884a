package dev.interlock.tck.specimen;

import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.QueueingBackend;

/** Forwards every call to another backend, including its queue. */
public abstract class ForwardingQueue extends ForwardingBackend implements QueueingBackend {
  private final QueueingBackend right;

  /**
   * For subclasses.
   *
   * @param right the right backend
   */
  protected ForwardingQueue(QueueingBackend right) {
    super(right);
    this.right = right;
  }

  @Override
  public Place join(Claim claim, Deadline deadline) throws InterruptedException {
    return right.join(claim, deadline);
  }
}
