package dev.interlock.tck.fault;

/**
 * A snapshot of a {@link FaultProxy}'s traffic counters. All except {@code open} only grow, so the
 * difference of two snapshots is the traffic between them.
 *
 * @param accepted connections accepted from clients since the proxy was started
 * @param open connections that are open now
 * @param toServer the traffic from clients
 * @param toClient the traffic from the server
 */
public record Traffic(long accepted, int open, Flow toServer, Flow toClient) {
  /**
   * Adds the traffic of another proxy.
   *
   * @param other the other proxy's traffic
   * @return the sum
   */
  public Traffic plus(Traffic other) {
    return new Traffic(
        accepted + other.accepted,
        open + other.open,
        toServer.plus(other.toServer),
        toClient.plus(other.toClient));
  }

  /**
   * The bytes of one direction.
   *
   * @param chunks the proxy's reads: one per request for a client that waits for each reply, if the
   *     request fits into a TCP segment
   * @param received bytes that arrived at the proxy
   * @param forwarded bytes that left it; the rest was dropped, or is held back
   */
  public record Flow(long chunks, long received, long forwarded) {
    /**
     * Adds another flow.
     *
     * @param other the other flow
     * @return the sum
     */
    public Flow plus(Flow other) {
      return new Flow(
          chunks + other.chunks, received + other.received, forwarded + other.forwarded);
    }
  }
}
