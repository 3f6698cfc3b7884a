package dev.interlock.tck.fault;

/**
 * What has passed a {@link FaultProxy} up to one moment. All figures but {@code open} only grow;
 * the difference of two snapshots says what happened between them.
 *
 * @param accepted connections taken from clients since the proxy was started
 * @param open connections that the proxy keeps at this moment
 * @param toServer what clients sent
 * @param toClient what the server sent
 */
public record Traffic(long accepted, int open, Flow toServer, Flow toClient) {
  /**
   * Returns the flow of one direction.
   *
   * @param direction which
   * @return what passed that way
   */
  public Flow flow(Direction direction) {
    return direction == Direction.CLIENT_TO_SERVER ? toServer : toClient;
  }

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
   * @param chunks reads that the proxy made; a client that writes one request at a time and waits
   *     for its reply makes one chunk per request, as long as the request fits into a segment
   * @param received bytes that arrived at the proxy
   * @param forwarded bytes that left it; the rest was swallowed, or is held back
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
