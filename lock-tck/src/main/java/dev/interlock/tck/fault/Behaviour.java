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
 * What a fault does to the traffic. Only the proxy's thread calls it, so an implementation may keep
 * state without locks.
 */
interface Behaviour {
  /**
   * The fate of one chunk. The later kind wins over the earlier.
   *
   * @param bytes how many bytes of a chunk are forwarded before its connection is cut
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

  /** Decides on a chunk that {@code link} received. Must not change the buffer. */
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

  /** {@return where new connections lead instead of to the server; null for the server} */
  default @Nullable InetSocketAddress destination() {
    return null;
  }

  /** {@return whether the fault has struck for the last time} */
  default boolean spent() {
    return false;
  }

  /** Refuses connections. */
  record Refuse() implements Behaviour {
    @Override
    public boolean refuses() {
      return true;
    }
  }

  /** Redirects connections. */
  record Redirect(InetSocketAddress elsewhere) implements Behaviour {
    @Override
    public InetSocketAddress destination() {
      return elsewhere;
    }
  }

  /** Drops some directions. */
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

  /** Holds the bytes of one direction until the fault ends. */
  record Hold(Direction held) implements Behaviour {
    @Override
    public boolean holds(Direction direction) {
      return direction == held;
    }
  }

  /** Delays one direction. */
  record Delay(Direction delayed, long nanos) implements Behaviour {
    @Override
    public long delayNanos(Direction direction) {
      return direction == delayed ? nanos : 0;
    }
  }

  /** Lets a number of bytes pass, then cuts the connection that carries the next one. Once. */
  final class DropAfter implements Behaviour {
    private final Direction counted;
    private long left;
    private boolean done;

    DropAfter(Direction counted, long bytes) {
      this.counted = counted;
      this.left = bytes;
    }

    @Override
    public Fate onChunk(Link link, Direction direction, ByteBuffer chunk) {
      if (done || direction != counted) {
        return Fate.FORWARD;
      }
      if (chunk.remaining() <= left) {
        left -= chunk.remaining();
        return Fate.FORWARD;
      }
      done = true;
      return Fate.cutAfter((int) left);
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

  /** Cuts the connection that carries one answer, instead of that answer. Once. */
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

  /** Drops every reply on a connection once it has carried a request with a pattern. */
  final class LoseReplies implements Behaviour {
    private final String pattern;

    /** The end of each connection's requests, in which a pattern may begin. */
    private final Map<Link, String> tails = new WeakHashMap<>();

    private final Set<Link> found = Collections.newSetFromMap(new WeakHashMap<>());

    LoseReplies(byte[] pattern) {
      this.pattern = new String(pattern, ISO_8859_1); // a character for each byte
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
