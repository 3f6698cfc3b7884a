package dev.interlock.tck.specimen;

import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.QueueingBackend;

/** Forwards every call to another backend, including its queue. */
public abstract class ForwardingQueue extends ForwardingBackend implements QueueingBackend {
  private final QueueingBackend delegate;

  /**
   * For subclasses.
   *
   * @param delegate the correct backend
   */
  protected ForwardingQueue(QueueingBackend delegate) {
    super(delegate);
    this.delegate = delegate;
  }

  @Override
  public Place join(Claim claim, Deadline deadline) throws InterruptedException {
    return delegate.join(claim, deadline);
  }
}
