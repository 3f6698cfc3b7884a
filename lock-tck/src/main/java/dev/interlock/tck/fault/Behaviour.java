package dev.interlock.tck.fault;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.Collections;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The effect of a fault on the traffic. Only the proxy's thread calls it, so implementations need
 * no locks.
 */
interface Behaviour {
  /**
   * The fate of one chunk. Of two fates, the one with the later kind wins.
   *
   * @param bytes the number of bytes that are forwarded before a cut
   */
  record Fate(Kind kind, int bytes) {
    enum Kind {
      FORWARD,
      SWALLOW,
      /** The connection is closed after the first bytes. */
      CUT
    }

    static final Fate FORWARD = new Fate(Kind.FORWARD, 0);
    static final Fate SWALLOW = new Fate(Kind.SWALLOW, 0);

    static Fate cutAfter(int bytes) {
      return new Fate(Kind.CUT, bytes);
    }
  }

  /** {@return the fate of a chunk that a link has received; must not change the buffer} */
  default Fate onChunk(Link link, Direction direction, ByteBuffer chunk) {
    return Fate.FORWARD;
  }

  /** {@return whether the end of a stream, or its reset, is hidden from the other side} */
  default boolean hidesEnd(Link link, Direction direction) {
    return false;
  }

  /** {@return the delay of a chunk in this direction} */
  default long delayNanos(Direction direction) {
    return 0;
  }

  /** {@return whether nothing leaves the proxy in this direction} */
  default boolean holds(Direction direction) {
    return false;
  }

  /** {@return whether the proxy refuses connections} */
  default boolean refuses() {
    return false;
  }

  /** {@return the address to which new connections are redirected; null for none} */
  default @Nullable InetSocketAddress destination() {
    return null;
  }

  /** {@return whether the fault has struck for the last time} */
  default boolean spent() {
    return false;
  }

  record Refuse() implements Behaviour {
    @Override
    public boolean refuses() {
      return true;
    }
  }

  record Redirect(InetSocketAddress elsewhere) implements Behaviour {
    @Override
    public InetSocketAddress destination() {
      return elsewhere;
    }
  }

  record BlackHole(Set<Direction> swallowed) implements Behaviour {
    @Override
    public Fate onChunk(Link link, Direction direction, ByteBuffer chunk) {
      return swallowed.contains(direction) ? Fate.SWALLOW : Fate.FORWARD;
    }

    @Override
    public boolean hidesEnd(Link link, Direction direction) {
      return swallowed.contains(direction);
    }
  }

  /** Holds back the bytes of one direction until the fault ends. */
  record Hold(Direction held) implements Behaviour {
    @Override
    public boolean holds(Direction direction) {
      return direction == held;
    }
  }

  record Delay(Direction delayed, long nanos) implements Behaviour {
    @Override
    public long delayNanos(Direction direction) {
      return direction == delayed ? nanos : 0;
    }
  }

  /** Lets a number of bytes pass, and cuts once: the connection that carries the next byte. */
  final class DropAfter implements Behaviour {
    private final Direction counted;
    private long remaining;
    private boolean done;

    DropAfter(Direction counted, long bytes) {
      this.counted = counted;
      this.remaining = bytes;
    }

    @Override
    public Fate onChunk(Link link, Direction direction, ByteBuffer chunk) {
      if (done || direction != counted) {
        return Fate.FORWARD;
      }
      if (chunk.remaining() <= remaining) {
        remaining -= chunk.remaining();
        return Fate.FORWARD;
      }
      done = true;
      return Fate.cutAfter((int) remaining);
    }

    @Override
    public boolean spent() {
      return done;
    }
  }

  /** Cuts every connection that carries a request, and does not forward the request. */
  record HangUp() implements Behaviour {
    @Override
    public Fate onChunk(Link link, Direction direction, ByteBuffer chunk) {
      return direction == Direction.CLIENT_TO_SERVER ? Fate.cutAfter(0) : Fate.FORWARD;
    }
  }

  /** Cuts once: the connection that carries a certain answer, before that answer. */
  final class LoseAnswer implements Behaviour {
    private final Set<Link> asked = Collections.newSetFromMap(new WeakHashMap<>());
    private int earlier;
    private boolean done;

    LoseAnswer(int earlier) {
      this.earlier = earlier;
    }

    @Override
    public Fate onChunk(Link link, Direction direction, ByteBuffer chunk) {
      if (direction == Direction.CLIENT_TO_SERVER) {
        asked.add(link);
        return Fate.FORWARD;
      }
      if (done || !asked.remove(link) || earlier-- > 0) {
        return Fate.FORWARD;
      }
      done = true;
      return Fate.cutAfter(0);
    }

    @Override
    public boolean spent() {
      return done;
    }
  }

  /** Drops the replies on each connection that has carried a request with a pattern. */
  final class LoseReplies implements Behaviour {
    private final String pattern;

    /** The last bytes of each connection's requests, in which a pattern may begin. */
    private final Map<Link, String> tails = new WeakHashMap<>();

    private final Set<Link> found = Collections.newSetFromMap(new WeakHashMap<>());

    LoseReplies(byte[] pattern) {
      this.pattern = new String(pattern, ISO_8859_1); // one character per byte
    }

    @Override
    public Fate onChunk(Link link, Direction direction, ByteBuffer chunk) {
      if (direction == Direction.SERVER_TO_CLIENT) {
        return found.contains(link) ? Fate.SWALLOW : Fate.FORWARD;
      }
      String text = tails.getOrDefault(link, "") + ISO_8859_1.decode(chunk.duplicate());
      if (text.contains(pattern)) {
        found.add(link);
      }
      tails.put(link, text.substring(Math.max(0, text.length() - pattern.length() + 1)));
      return Fate.FORWARD;
    }

    @Override
    public boolean hidesEnd(Link link, Direction direction) {
      return direction == Direction.SERVER_TO_CLIENT && found.contains(link);
    }
  }
}
