package dev.interlock.tck.fault;

import dev.interlock.tck.fault.Traffic.Flow;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;

/**
 * All active faults of one proxy, and its traffic counters. Only the proxy's thread changes them;
 * any thread may read the counters.
 */
final class Faults {
  /** Orders fates by their harm; of two cuts the earlier is worse. */
  private static final Comparator<Behaviour.Fate> WORSE =
      Comparator.comparing(Behaviour.Fate::kind)
          .thenComparing(Behaviour.Fate::bytes, Comparator.reverseOrder());

  private final List<NetworkFault> active = new ArrayList<>();
  private volatile Flow toServer = new Flow(0, 0, 0);
  private volatile Flow toClient = new Flow(0, 0, 0);

  void add(NetworkFault fault) {
    active.add(fault);
  }

  boolean remove(NetworkFault fault) {
    return active.remove(fault);
  }

  void clear() {
    active.clear();
  }

  boolean refuses() {
    return active.stream().anyMatch(fault -> fault.behaviour().refuses());
  }

  /** {@return the destination of a new connection; a redirection counts as a strike} */
  InetSocketAddress destination(InetSocketAddress server) {
    InetSocketAddress destination = server;
    for (NetworkFault fault : active) {
      InetSocketAddress elsewhere = fault.behaviour().destination();
      if (elsewhere != null) {
        fault.countStrike();
        destination = elsewhere;
      }
    }
    return destination;
  }

  /** {@return the worst fate that the active faults give to a chunk} */
  Behaviour.Fate fateOf(Link link, Direction direction, ByteBuffer chunk) {
    Behaviour.Fate worst = Behaviour.Fate.FORWARD;
    for (NetworkFault fault : affecting(link)) {
      Behaviour behaviour = fault.behaviour();
      Behaviour.Fate fate = behaviour.onChunk(link, direction, chunk);
      boolean late = behaviour.holds(direction) || behaviour.delayNanos(direction) > 0;
      if (fate.kind() != Behaviour.Fate.Kind.FORWARD || late) {
        fault.countStrike();
      }
      if (behaviour.spent()) {
        active.remove(fault);
      }
      worst = Collections.max(List.of(worst, fate), WORSE);
    }
    return worst;
  }

  /** {@return whether a close or reset of one side is hidden from the other} */
  boolean hidesEnd(Link link, Direction direction) {
    boolean hidden = false;
    for (NetworkFault fault : affecting(link)) {
      if (fault.behaviour().hidesEnd(link, direction)) {
        fault.countStrike();
        hidden = true;
      }
    }
    return hidden;
  }

  boolean holds(Link link, Direction direction) {
    return affecting(link).stream().anyMatch(fault -> fault.behaviour().holds(direction));
  }

  private List<NetworkFault> affecting(Link link) {
    return active.stream().filter(fault -> fault.affects(link)).toList();
  }

  long delayNanos(Direction direction) {
    return active.stream().mapToLong(fault -> fault.behaviour().delayNanos(direction)).sum();
  }

  void countReceived(Direction direction, int bytes) {
    count(direction, new Flow(1, bytes, 0));
  }

  void countForwarded(Direction direction, int bytes) {
    count(direction, new Flow(0, 0, bytes));
  }

  private void count(Direction direction, Flow more) {
    if (direction == Direction.CLIENT_TO_SERVER) {
      toServer = toServer.plus(more);
    } else {
      toClient = toClient.plus(more);
    }
  }

  Flow toServer() {
    return toServer;
  }

  Flow toClient() {
    return toClient;
  }
}
